import type { Clock } from '../base/clock.js';
import { StoreUnavailableError } from '../base/errors.js';
import type { QueuedCallStore } from '../contract/queued-call-store.js';
import type { HistoryStore } from '../contract/history-store.js';
import {
  type AcquireRequest,
  type AcquireResult,
  EVERYTHING,
  type ExtendResult,
  type HintChannel,
  type LeaseRef,
  type LockStore,
  type ReleaseOptions,
  type ReleaseResult,
} from '../contract/lock-store.js';
import type { LockInfo } from '../contract/lock-info.js';
import type { NewPause, Pause } from '../contract/pause.js';
import { MemoryLockStore } from '../stores/memory/memory-lock.store.js';

/** How long another instance holds a lock unless it is freed: 30 days, ms. */
const FOR_LONG = 30 * 86_400_000;

/**
 * A store to test what an application does when a lock is taken, when the store is away, and when a lease is lost. By default, it
 * keeps leases as `MemoryLockStore` does.
 *
 * ```ts
 * const store = new FakeLockStore();
 * const module = await Test.createTestingModule({
 *   imports: [SchedulerLockModule.forRoot({ store })],
 *   providers: [ReportJobs],
 * }).compile();
 * await module.init();
 * await store.hold('report');
 * await module.get(ReportJobs).report(); // skipped: another instance holds the lock
 * ```
 */
export class FakeLockStore implements LockStore {
  readonly label = 'a fake store';
  readonly keeps = EVERYTHING;
  readonly #store: MemoryLockStore;
  /** The leases of the other instance, by lock. */
  readonly #theirs = new Map<string, LeaseRef>();
  readonly #onAvailable = new Set<() => void>();
  readonly #onLost = new Set<(name: string, holder: string) => void>();
  #away: Error | undefined;
  #tokens = 0;

  /** @param options `clock`: the `ManualClock` of the module, if it has one */
  constructor(options: { clock?: Clock } = {}) {
    this.#store = new MemoryLockStore(options);
  }

  /**
   * Lets another instance hold a lock, until {@link free}.
   *
   * @throws Error if the lock is taken, by a run of the application, say; {@link lose} takes it away from a run
   */
  async hold(name: string, holder = 'another instance'): Promise<void> {
    const request = { name, token: `${holder} ${++this.#tokens}`, ttl: FOR_LONG, holder };
    const result = await this.#store.acquire(request);
    if (!result.acquired) throw new Error(`Lock "${name}" is taken already (${result.reason}).`);
    this.#theirs.set(name, { ...request, fencingToken: result.fencingToken });
  }

  /** Lets the other instance release a lock. Does nothing if that instance does not hold the lock. */
  async free(name: string): Promise<void> {
    const lease = this.#theirs.get(name);
    this.#theirs.delete(name);
    if (lease !== undefined) await this.#store.release(lease);
  }

  /**
   * Takes a lock away from its holder, and gives it to another instance. A run of the application that held it loses its lease at
   * once: its signal aborts with `LockLostError`.
   */
  async lose(name: string, holder = 'another instance'): Promise<void> {
    this.#store.evict(name);
    await this.hold(name, holder);
    for (const listener of this.#onLost) listener(name, holder);
  }

  /** Makes every call fail from now on, as if the server was away, until {@link comeBack}. */
  goAway(): void {
    this.#away = new StoreUnavailableError('The fake store is away.', { outcome: 'not-applied' });
  }

  /** Makes calls succeed again, and notifies the `onAvailable` listeners. */
  comeBack(): void {
    this.#away = undefined;
    for (const listener of this.#onAvailable) listener();
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return this.#answer(() => this.#store.acquire(request));
  }

  extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return this.#answer(() => this.#store.extend(leases));
  }

  release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    return this.#answer(() => this.#store.release(lease, options));
  }

  pause(name: string, pause: NewPause): Promise<Pause> {
    return this.#answer(() => this.#store.pause(name, pause));
  }

  resume(name: string, pause: Pick<Pause, 'id'>): Promise<boolean> {
    return this.#answer(() => this.#store.resume(name, pause));
  }

  inspect(names?: readonly string[]): Promise<LockInfo[]> {
    return this.#answer(() => this.#store.inspect(names));
  }

  hints(process: string, called: (token: string) => void): HintChannel {
    return this.#store.hints(process, called);
  }

  /** Calls that are kept (`onHeld`): as in the memory store. */
  readonly queuedCalls: QueuedCallStore = {
    enqueue: (queuedCall) => this.#answer(() => this.#store.queuedCalls.enqueue(queuedCall)),
    next: (lease, options) => this.#answer(() => this.#store.queuedCalls.next(lease, options)),
    left: (jobs) => this.#answer(() => this.#store.queuedCalls.left(jobs)),
    redeliver: (name, id) => this.#answer(() => this.#store.queuedCalls.redeliver(name, id)),
    announce: () => this.#answer(() => this.#store.queuedCalls.announce()).catch(() => undefined),
  };

  /** Who ran what: as in the memory store. */
  readonly history: HistoryStore = {
    interrupted: (run) => this.#answer(() => this.#store.history.interrupted(run)),
    entries: (query) => this.#answer(() => this.#store.history.entries(query)),
    told: (alarm) => this.#answer(() => this.#store.history.told(alarm)),
    miss: (miss) => this.#answer(() => this.#store.history.miss(miss)),
    beat: (beat) => this.#answer(() => this.#store.history.beat(beat)),
    // Whatever is in memory can be read, and has its dates.
    instances: () => this.#answer(() => this.#store.history.instances()),
  };

  onAvailable(listener: () => void): () => void {
    this.#onAvailable.add(listener);
    return () => this.#onAvailable.delete(listener);
  }

  /** @internal */
  onLost(listener: (name: string, holder: string) => void): () => void {
    this.#onLost.add(listener);
    return () => this.#onLost.delete(listener);
  }

  #answer<T>(call: () => Promise<T>): Promise<T> {
    return this.#away === undefined ? call() : Promise.reject(this.#away);
  }
}
