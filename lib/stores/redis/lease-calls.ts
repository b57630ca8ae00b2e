import { inModuleContext } from '../../clock.js';
import { type Reply, replyOf } from '../replying-store.js';
import type { LeaseCall, LeaseScripts } from './lease-scripts.js';
import type { LeaseScript } from './script.js';

const SETTLED = Promise.resolve();

/**
 * Batches the calls of one script. A call goes to Redis at once, unless another one is under way. Then it waits for the
 * end of this turn of the event loop, and goes together with the other calls of the turn. A volley of a thousand calls
 * costs a few commands, and a single call does not wait. A batch does not run in the async context of any of its
 * callers.
 */
export class LeaseCalls<Result> {
  #underWay = 0;
  #waiting: LeaseCall<Result>[] = [];

  /** @param read interprets the script's answer for one lease */
  constructor(
    private readonly scripts: LeaseScripts,
    private readonly script: LeaseScript,
    private readonly read: (reply: unknown) => Result,
  ) {}

  /**
   * @param args the script's arguments for this lease; those at the end may be left out
   * @param one the script to run for this lease if it goes alone
   */
  call(name: string, args: readonly string[], one = this.script.one): Reply<Result> {
    if (this.#underWay === 0) {
      this.#underWay += 1;
      return this.scripts.one(one, name, args, this.#answered, this.#ended);
    }
    const { read } = this;
    const result = new Promise<Result>((resolve, reject) => {
      const calls = this.#waiting.push({ name, args, read, resolve, reject });
      // Runs after the promises that are settled by now: their continuations make the other calls of the volley. Not by
      // process.nextTick(), which costs several times as much if the process uses AsyncLocalStorage.
      if (calls === 1) void SETTLED.then(() => inModuleContext(this.#send));
    });
    return replyOf(result);
  }

  readonly #answered = (reply: unknown): Result => {
    this.#underWay -= 1;
    return this.read(reply);
  };

  readonly #ended = (): void => {
    this.#underWay -= 1;
  };

  readonly #send = (): void => {
    const calls = this.#waiting;
    this.#waiting = [];
    this.#underWay += this.scripts.many(this.script, calls, this.#ended);
  };
}
