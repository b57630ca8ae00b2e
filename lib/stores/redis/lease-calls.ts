import { atEndOfTurn } from '../../clock.js';
import type { Told } from '../fast-port.js';
import type { LeaseCall, Shortcut } from './lease-call.js';
import type { LeaseScripts } from './lease-scripts.js';
import type { LeaseScript } from './script.js';

/**
 * Batches the calls of one script. A call goes to Redis at once, unless another one is under way. Then it waits for the
 * end of this turn of the event loop, and goes together with the other calls of the turn. A volley of a thousand calls
 * costs a few commands, and a single call does not wait. A batch does not run in the async context of any of its
 * callers.
 */
export class LeaseCalls<Result> {
  #underWay = 0;
  #waiting: LeaseCall<Result>[] = [];

  /**
   * @param read interprets the script's answer for one lease
   * @param hurried whether a single call goes at once
   */
  constructor(
    private readonly scripts: LeaseScripts,
    private readonly script: LeaseScript,
    private readonly read: (reply: unknown) => Result,
    private readonly hurried = true,
  ) {}

  /**
   * @param args the script's arguments for this lease; those at the end may be left out
   * @param shortcut may answer the call if it goes together with others
   */
  call(name: string, args: readonly string[], told: Told<Result>, shortcut?: Shortcut): void {
    const call = { name, args, read: this.read, told, shortcut };
    if (this.scripts.isConnected) this.#add(call);
    else this.#enter(call);
  }

  /** Lets a call wait for the connection. */
  #enter(call: LeaseCall<Result>): void {
    this.scripts.whenConnected(call, () => this.#add(call));
  }

  #add(call: LeaseCall<Result>): void {
    if (this.hurried && this.#underWay === 0) {
      this.#underWay += 1;
      return this.scripts.one(this.script, call, this.#ended);
    }
    // Jobs of the same second have a timer each, and all of these fire in one turn of the event loop.
    if (this.#waiting.push(call) === 1) atEndOfTurn(this.#send);
  }

  readonly #ended = (): void => {
    this.#underWay -= 1;
  };

  readonly #send = (): void => {
    const calls = this.#waiting;
    this.#waiting = [];
    // It may have been lost within this turn.
    if (!this.scripts.isConnected) return calls.forEach((call) => this.#enter(call));
    for (const command of this.scripts.many(this.script, calls)) {
      this.#underWay += 1;
      void command.then(this.#ended, this.#ended);
    }
  };
}
