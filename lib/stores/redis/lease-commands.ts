import { atEndOfTurn } from '../../base/clock.js';
import { LockStateError, type SchedulerLockError } from '../../base/errors.js';
import type { Caller } from '../../contract/fast-port.js';
import { hashTag, lockKey, type LockKeys, lockKeys } from './keys.js';
import { NO_WAITING, tooLate } from './readiness.js';
import { describeError } from './redact.js';
import { failure, RedisReplyError, runScript, sendScript } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { argumentsForMany, type LeaseScript } from './script.js';
import type { Shortcut } from './shortcuts.js';

/** What a script has to do for one lease, and the callbacks for its outcome. */
export interface LeaseCall<Result = unknown> {
  /** Name of the lock. */
  readonly name: string;
  /** The script's arguments. Those at the end may be left out. */
  readonly args: readonly string[];
  readonly read: (reply: unknown) => Result;
  readonly told: Caller<Result>;
  /** May answer the call without its own script. */
  readonly shortcut?: Shortcut | undefined;
}

/** Gives the script's answer to a call. An answer that cannot be read is a failure. */
export function tell<T>({ read, told }: LeaseCall<T>, reply: unknown): void {
  let result: T;
  try {
    result = read(reply);
  } catch (error) {
    return told.failed(error as Error);
  }
  told.answered(result);
}

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
    private readonly commands: LeaseCommands,
    private readonly script: LeaseScript,
    private readonly read: (reply: unknown) => Result,
    private readonly hurried = true,
  ) {}

  /**
   * @param args the script's arguments for this lease; those at the end may be left out
   * @param shortcut may answer the call if it goes together with others
   */
  call(name: string, args: readonly string[], told: Caller<Result>, shortcut?: Shortcut): void {
    const call = { name, args, read: this.read, told, shortcut };
    if (this.commands.isConnected) this.#add(call);
    else this.#enter(call);
  }

  /** Makes a call, and promises its answer. @param limit how long the caller waits, ms */
  ask(name: string, args: readonly string[], limit?: number): Promise<Result> {
    return new Promise((answered, failed) => this.call(name, args, { answered, failed, limit }));
  }

  /** Lets a call wait for the connection. */
  #enter(call: LeaseCall<Result>): void {
    this.commands.whenConnected(call, () => this.#add(call));
  }

  #add(call: LeaseCall<Result>): void {
    if (this.hurried && this.#underWay === 0) {
      this.#underWay += 1;
      return this.commands.one(this.script, call, this.#ended);
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
    if (!this.commands.isConnected) return calls.forEach((call) => this.#enter(call));
    for (const command of this.commands.many(this.script, calls)) {
      this.#underWay += 1;
      void command.then(this.#ended, this.#ended);
    }
  };
}

/** The most keys for one run of a shortcut, which blocks Redis for less than a millisecond: a short renewal takes it 1.5 µs. */
const MAX_SHORT = 500;

/**
 * How many locks have their keys cached. A caller can make up a name per call: when the cache is full, it starts
 * again.
 */
const MAX_KNOWN_KEYS = 10_000;

/** Runs the scripts for leases, with as many leases in one command as possible. Each lease is judged alone. */
export class LeaseCommands {
  readonly #known = new Map<string, LockKeys>();

  /**
   * @param key Redis key of a lock
   * @param own keys that no lock can have
   * @param unnamed beside this key is what belongs to no lock
   */
  constructor(
    private readonly connection: RedisConnection,
    readonly key: (name: string) => string,
    readonly own: readonly string[] = [],
    readonly unnamed?: string,
  ) {}

  get isConnected(): boolean {
    return this.connection.isConnected;
  }

  /** Calls back when there is a connection, within the limit of the call. If there will be none, the call gets an error. */
  whenConnected<T>({ name, told }: LeaseCall<T>, then: () => void): void {
    const failed = (error: Error): void => told.failed(error);
    try {
      // A bad name is reported as such during an outage, too.
      this.keys(name);
    } catch (error) {
      return failed(error as Error);
    }
    this.connection.use(told, then, failed);
  }

  /**
   * Runs a script for one lease.
   *
   * @param ended called right before the call gets its outcome
   */
  one<T>({ one, keys }: LeaseScript, call: LeaseCall<T>, ended: () => void): void {
    const failed = (error: Error): void => {
      ended();
      call.told.failed(error);
    };
    try {
      const own = [...keys.of(this.keys(call.name)), ...call.args];
      const answered = (reply: unknown): void => {
        ended();
        tell(call, reply);
      };
      const refused = (error: Error): void => failed(this.#refusal(call.name, error));
      sendScript(this.connection, one, keys.count, own, { answered, failed: refused, patience: call.told });
    } catch (error) {
      failed(error as Error);
    }
  }

  /**
   * Runs a script for many leases. Every call gets its outcome; this method never throws.
   *
   * @returns a promise for each command that is sent: it resolves when the calls of the command have their outcome
   */
  many<T>(script: LeaseScript, calls: readonly LeaseCall<T>[]): Promise<void>[] {
    return this.#batches(calls, script.most).map((batch) => {
      const [{ shortcut } = {}] = batch;
      if (shortcut === undefined || batch.length < shortcut.least) return this.#send(script, batch);
      return this.#sendShort(script, batch, shortcut);
    });
  }

  /** @throws SchedulerLockConfigError if `key` gives no key for the name, or one that cannot hold a lock */
  keys(name: string): LockKeys {
    let keys = this.#known.get(name);
    if (keys === undefined) {
      keys =
        name === '' && this.unnamed !== undefined
          ? this.keysAt(this.unnamed)
          : this.keysAt(lockKey(name, this.key, this.own));
      if (this.#known.size >= MAX_KNOWN_KEYS) this.#known.clear();
      this.#known.set(name, keys);
    }
    return keys;
  }

  /** The keys of a lock whose own key this is. */
  keysAt(lock: string): LockKeys {
    return lockKeys(lock, this.connection.keyPrefix);
  }

  async #send<T>({ many, keys: { of } }: LeaseScript, calls: readonly LeaseCall<T>[]): Promise<void> {
    const keys: string[] = [];
    const sent = this.#withKeys(calls, (all) => keys.push(...of(all)));
    if (sent.length === 0) return;
    const args = argumentsForMany(sent.map((call) => call.args));
    const answered = (replies: unknown): void => {
      for (const [i, call] of sent.entries()) this.#answer(call, (replies as unknown[])[i]);
    };
    // The script has judged each lease alone: a failure of the whole command has nothing to do with a single lock.
    const failed = (error: Error): void => sent.forEach((call) => call.told.failed(failure(error)));
    await runScript(this.connection, many, keys.length, [...keys, ...args], NO_WAITING)
      .then(answered)
      .catch(failed);
  }

  async #sendShort<T>(
    script: LeaseScript,
    calls: readonly LeaseCall<T>[],
    shortcut: Shortcut,
  ): Promise<void> {
    const keys: string[] = [];
    const asked = this.#withKeys(calls, ([lock]) => keys.push(lock));
    if (asked.length === 0) return;
    let answers: readonly unknown[];
    try {
      const args = asked.map((call) => call.args);
      answers = Array.from(await shortcut.ask(this.connection, keys, args));
    } catch (error) {
      return asked.forEach(({ told }) => told.failed(failure(error)));
    }
    const left = asked.filter((call, i) => {
      const reply = shortcut.reply(answers[i], call.args);
      if (reply !== undefined) tell(call, reply);
      // Nobody would use the lease.
      else if (call.told.givenUp === true) call.told.failed(tooLate());
      else return true;
      return false;
    });
    const whole = left.map((call) => ({ ...call, shortcut: undefined }));
    await Promise.all(this.#batches(whole, script.most).map((batch) => this.#send(script, batch)));
  }

  /** The calls for names that have keys, which `use` gets in turn. The other calls get an error. */
  #withKeys<T>(calls: readonly LeaseCall<T>[], use: (keys: LockKeys) => void): LeaseCall<T>[] {
    return calls.filter(({ name, told }) => {
      try {
        use(this.keys(name));
        return true;
      } catch (error) {
        told.failed(error as SchedulerLockError);
        return false;
      }
    });
  }

  #answer<T>(call: LeaseCall<T>, reply: unknown): void {
    if (Array.isArray(reply) && reply[0] === 'error') {
      call.told.failed(this.#refusal(call.name, new RedisReplyError(describeError(reply[1]))));
    } else tell(call, reply);
  }

  /**
   * A Cluster runs a script on the node of its keys: leases go together only if they share a hash tag. Calls with a shortcut go together
   * only if they share the shortcut and the ttl, too.
   */
  #batches<T>(calls: readonly LeaseCall<T>[], most: number): LeaseCall<T>[][] {
    const groups = new Map<string, LeaseCall<T>[]>();
    const full: LeaseCall<T>[][] = [];
    const cluster = this.connection.isCluster;
    for (const call of calls) {
      let slot = `${call.shortcut === undefined ? '' : call.args[1]} `;
      try {
        if (cluster) slot += this.#slot(call.name);
      } catch (error) {
        call.told.failed(error as SchedulerLockError);
        continue;
      }
      let group = groups.get(slot);
      if (group === undefined) groups.set(slot, (group = []));
      if (group.push(call) === (call.shortcut === undefined ? most : MAX_SHORT)) {
        full.push(group);
        groups.delete(slot);
      }
    }
    return [...full, ...groups.values()];
  }

  #slot(name: string): string {
    const key = this.connection.keyPrefix + this.keys(name)[0];
    return hashTag(key) ?? key;
  }

  /**
   * The error of a call: `LockStateError` if Redis refused it because of the entry of this lock, otherwise that of a
   * call that failed as a whole.
   */
  #refusal(name: string, cause: Error): SchedulerLockError {
    if (!(cause instanceof RedisReplyError)) return failure(cause);
    if (!/WRONGTYPE|fencing token of/.test(cause.message)) return failure(cause);
    const [lock, state] = this.keys(name).map((key) => `"${this.connection.keyPrefix}${key}"`);
    return new LockStateError(
      name,
      `Redis refused the call: ${cause.message}. Look at the keys ${lock} (a string) and ${state} (a hash): ` +
        'something else wrote there. Delete what does not belong, or change `keyPrefix` or `key`.',
    );
  }
}
