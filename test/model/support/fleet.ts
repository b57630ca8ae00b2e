import { randomUUID as uuid } from 'node:crypto';
import type { Lock, LockStore } from '../../../lib/index.js';
import type { LockCall } from '../../../lib/lock/lock-call.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { type Fault, FaultyStore } from './faulty-store.js';

export const TTL = 120_000;
const STORE_TIMEOUT = 2_000;
/** The longest that a request or a reply is late: beyond what anybody waits for. */
export const LATEST = 4_000;
export const INSTANCES = 2;
export const NAMES = ['refresh', 'invoices'];

interface Run {
  readonly name: string;
  readonly instance: number;
  readonly lock: Lock;
  readonly end: (error?: Error) => void;
  /** Nothing has gone wrong since it began, so it must be live. */
  undisturbed: boolean;
}

interface Instance {
  readonly store: FaultyStore;
  readonly runner: LockRunner;
}

/** Some instances on one clock and one store, and what must hold of them at any time. */
export class Fleet {
  readonly clock = new ManualClock();
  readonly #instances: Instance[];
  readonly #runs = new Set<Run>();
  readonly #calls: Promise<unknown>[] = [];
  #store: LockStore = new MemoryLockStore({ clock: this.clock });
  /** Whether the store has lost data: then it cannot keep two instances apart. */
  #lossy = false;
  #ending = false;
  /** How many runs there were: a property over none proves nothing. */
  started = 0;

  constructor() {
    this.#instances = Array.from({ length: INSTANCES }, (_, i) => {
      const store = new FaultyStore(this.clock, () => this.#store);
      const runner = new LockRunner(store, `instance-${i}`, this.clock, () => undefined, STORE_TIMEOUT);
      return { store, runner };
    });
  }

  /** A tick of a job on one instance; the job lasts until {@link end}. */
  start(instance: number, name: string, heartbeat: number | false): void {
    const call = this.#instance(instance).runner.run(settings(name, heartbeat), async (lock) => {
      this.started += 1;
      let end!: Run['end'];
      const ended = new Promise<void>((resolve, reject) => {
        end = (error) => (error === undefined ? resolve() : reject(error));
      });
      if (!isLive(lock)) throw new Error(`"${name}" was begun on instance ${instance} without a live lease`);
      const undisturbed = heartbeat !== false && this.#instance(instance).store.faults.length === 0;
      const run: Run = { name, instance, lock, end, undisturbed };
      this.#runs.add(run);
      this.check();
      // An acquire that is still under way when all jobs are to end may yet be granted.
      if (this.#ending) end();
      try {
        await ended;
      } finally {
        this.#runs.delete(run);
      }
    });
    // A job that fails rejects its call; a broken promise of the library shall fail the property.
    this.#calls.push(
      call.catch((error: Error) => (error.message === 'job failed' ? undefined : Promise.reject(error))),
    );
    this.#calls.at(-1)?.catch(() => undefined);
  }

  end(pick: number, failed: boolean): void {
    const runs = [...this.#runs];
    runs[pick % Math.max(1, runs.length)]?.end(failed ? new Error('job failed') : undefined);
  }

  fault(instance: number, fault: Fault): void {
    this.#instance(instance).store.faults.push(fault);
    this.#disturb();
  }

  announce(instance: number): void {
    this.#instance(instance).store.announce();
  }

  /** Small steps, so that what holds is checked at many moments. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1_000) {
      await this.clock.advance(Math.min(left, 1_000));
      this.check();
    }
  }

  /** The event loops of all instances stand still. */
  async block(ms: number): Promise<void> {
    // It is a callback that blocks; it does not come in between two steps of one promise chain.
    await this.clock.advance(0);
    this.clock.block(ms);
    this.#disturb();
    this.check();
    await this.clock.advance(0);
  }

  /** The store is restarted empty; somebody may be faster than the holders. */
  async forget(thief: string | undefined): Promise<void> {
    this.#lossy = true;
    await this.clock.advance(1);
    this.#disturb();
    this.#store = new MemoryLockStore({ clock: this.clock });
    if (thief !== undefined)
      await this.#store.acquire({ name: thief, token: uuid(), ttl: TTL, holder: 'somebody else' });
  }

  check(): void {
    const now = this.clock.monotonic();
    const runs = [...this.#runs];
    const live = runs.filter(({ lock }) => isLive(lock));
    for (const { name, instance, lock } of live) {
      const deadline = this.#instance(instance).store.deadlines.get(lock.fencingToken ?? 0) ?? -Infinity;
      if (now >= deadline)
        throw new Error(
          `"${name}" is live on instance ${instance} at ${now}, though it was promised until ${deadline}`,
        );
    }
    for (const { name, instance, lock, undisturbed } of runs)
      if (undisturbed && !this.#lossy && !isLive(lock))
        throw new Error(`"${name}" was lost on instance ${instance} for no reason`);
    for (const name of NAMES) {
      for (let i = 0; i < INSTANCES; i++) {
        const local = runs.filter((run) => run.name === name && run.instance === i).length;
        if (local > 1) throw new Error(`${local} runs of "${name}" on instance ${i}`);
      }
      const holders = live.filter((run) => run.name === name);
      if (!this.#lossy && holders.length > 1)
        throw new Error(`"${name}" is live on ${holders.length} instances`);
    }
  }

  /** Ends all jobs, lets the store answer again, and checks that nothing is left of it all. */
  async settle(): Promise<void> {
    for (const { store } of this.#instances) store.faults.length = 0;
    this.#ending = true;
    for (const run of this.#runs) run.end();
    // Calls under way arrive. Unconfirmed releases are tried again with the next beat, and those that the store never settles
    // at the probe after the longest pause: before the ttl.
    await this.advance(LATEST + 2 * STORE_TIMEOUT + 0.3 * TTL + 30_000 + 10_000);
    await this.#settled(Promise.all(this.#calls), 'calls');
    if (this.#runs.size > 0) throw new Error(`${this.#runs.size} jobs have not ended`);
    if (!this.#lossy) {
      for (const name of NAMES) {
        const result = await this.#store.acquire({ name, token: uuid(), ttl: TTL, holder: 'somebody else' });
        if (!result.acquired) throw new Error(`"${name}" is still locked: ${JSON.stringify(result)}`);
      }
    }
    const closing = Promise.all(this.#instances.map(({ runner }) => runner.shutdown(1_000)));
    await this.advance(STORE_TIMEOUT);
    await this.#settled(closing, 'shutdown');
    // Timers that stand for the network have fired by now; whatever waits is the library's.
    if (this.clock.pending > 0) throw new Error(`${this.clock.pending} timers are left`);
    for (const { store } of this.#instances)
      if (store.listening > 0) throw new Error('a listener is left on the store');
  }

  #disturb(): void {
    for (const run of this.#runs) run.undisturbed = false;
  }

  /** The result of what must have settled by now. */
  async #settled<T>(promise: Promise<T>, what: string): Promise<T> {
    const nothing = Symbol('nothing');
    const late = this.clock.advance(0).then(() => nothing);
    const result = await Promise.race([promise, late]);
    if (result === nothing) throw new Error(`${what} should have settled, but something is waited for`);
    return promise;
  }

  #instance(index: number): Instance {
    const instance = this.#instances[index];
    if (instance === undefined) throw new Error(`There is no instance ${index}`);
    return instance;
  }
}

function isLive(lock: Lock): boolean {
  try {
    lock.assertLocked();
    return true;
  } catch {
    return false;
  }
}

function settings(name: string, heartbeat: number | false): LockCall {
  return {
    name,
    job: undefined,
    kind: 'fired',
    settings: {
      ttl: TTL,
      heartbeat,
      timeout: undefined,
      atLeast: 0,
      storeTimeout: STORE_TIMEOUT,
      enabled: true,
      onStoreError: 'skip',
    },
  };
}
