import { type Reply, replyOf } from '../replying-store.js';
import type { LeaseCall, LeaseScripts } from './lease-scripts.js';
import type { LeaseScript } from './script.js';

const SETTLED = Promise.resolve();

/**
 * Calls of one script. A call goes to Redis at once, unless another one is under way: then it waits for the end of this
 * turn of the event loop, and all that were made in it go together. A volley of a thousand costs a few commands, and
 * a call on its own waits for nothing.
 */
export class LeaseCalls<Result> {
  #underWay = 0;
  #waiting: LeaseCall<Result>[] = [];

  /** @param read what the script's answer for one lease means */
  constructor(
    private readonly scripts: LeaseScripts,
    private readonly script: LeaseScript,
    private readonly read: (reply: unknown) => Result,
  ) {}

  /**
   * @param args of the script for this lease; those at the end may be left out
   * @param one the script to be run for this lease if it goes alone
   */
  call(name: string, args: readonly string[], one = this.script.one): Reply<Result> {
    if (this.#underWay === 0) {
      this.#underWay += 1;
      return this.scripts.one(one, name, args, this.#answered, this.#ended);
    }
    const { read } = this;
    const result = new Promise<Result>((resolve, reject) => {
      const calls = this.#waiting.push({ name, args, read, resolve, reject });
      // After the promises that are settled by now: their continuations make the other calls of the volley. Not by
      // process.nextTick(), which costs several times as much where anybody uses AsyncLocalStorage.
      if (calls === 1) void SETTLED.then(this.#send);
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
