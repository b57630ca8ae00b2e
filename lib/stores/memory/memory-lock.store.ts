import { systemClock, type Clock } from '../../clock.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  LeaseRef,
  LockInfo,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from '../lock-store.js';
import { NOTHING_RAN, RETENTION, TICK_RETENTION } from '../rules.js';
import { Starts } from './starts.js';

/** How many locks there have to be before any is forgotten. */
const MANY = 1_000;

/** The entry of a lock: its newest lease, and how far that got. */
interface Entry {
  lease: LeaseRef;
  /** When the lock is free again, on the clock's monotonic time. */
  freeAt: number;
  ended: boolean;
  /** When the lease began, epoch milliseconds. */
  since: number;
  starts: Starts;
}

/**
 * Leases in the memory of this process, for development and tests: instances in other processes are not excluded. Applications
 * that have to exclude each other must share one store object.
 */
export class MemoryLockStore implements LockStore {
  readonly label = 'the memory of this process';
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  /** At how many locks the next clean-up takes place. */
  #full = MANY;

  constructor(options: { clock?: Clock } = {}) {
    this.#clock = options.clock ?? systemClock;
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return settle(() => {
      const now = this.#clock.monotonic();
      const entry = this.#entries.get(request.name);
      if (entry !== undefined && entry.freeAt > now) {
        const { lease, ended } = entry;
        if (lease.token === request.token && !ended) return granted(lease);
        const expiresIn = Math.ceil(entry.freeAt - now);
        const reason = ended ? 'cooling-down' : 'held';
        return {
          acquired: false,
          reason,
          holder: lease.holder,
          expiresIn,
          ...entry.starts.last(request.job),
        };
      }
      const starts = entry?.starts ?? new Starts();
      const refusal = starts.refusal(request, this.#clock.now());
      if (refusal !== undefined) return refusal;
      // Microseconds of the wall clock, so that tokens also grow over a new store object.
      const fencingToken = Math.max(
        (entry?.lease.fencingToken ?? 0) + 1,
        Math.trunc(this.#clock.now() * 1_000),
      );
      const { attempt, ...more } = starts.start(request, this.#clock.now());
      const lease: LeaseRef = {
        ...request,
        fencingToken,
        ...(attempt === undefined ? undefined : { attempt }),
      };
      if (entry === undefined) this.#forget(now);
      this.#entries.set(request.name, {
        lease,
        freeAt: now + request.ttl,
        ended: false,
        since: this.#clock.now(),
        starts,
      });
      return { acquired: true, fencingToken, ...(attempt === undefined ? undefined : { attempt }), ...more };
    });
  }

  extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return settle(() => leases.map((lease) => this.#extend(lease)));
  }

  release(
    lease: LeaseRef,
    { outcome = 'completed', keepFor = 0 }: ReleaseOptions = {},
  ): Promise<ReleaseResult> {
    return settle(() => {
      const now = this.#clock.monotonic();
      const entry = this.#entries.get(lease.name);
      if (entry?.lease.token !== lease.token) {
        // Nothing ran under the abandoned lease, even if another holder had the lock since.
        if (outcome === NOTHING_RAN) entry?.starts.end(lease, outcome);
        const behind = isBehind(entry, lease);
        if (!behind && entry !== undefined && entry.freeAt > now) return { released: false, reason: 'taken' };
        // The lease is unknown here, say because the process was restarted: records its end, or `extend` would restore it. Not
        // for an acquire whose grant was never answered (0): it can never be restored.
        if (behind && lease.fencingToken > 0) {
          this.#entries.set(lease.name, {
            lease,
            freeAt: now,
            ended: true,
            since: this.#clock.now(),
            starts: entry?.starts ?? new Starts(),
          });
        }
        return { released: false, reason: 'expired' };
      }
      if (entry.ended) return { released: false, reason: 'ended' };
      const live = entry.freeAt > now;
      entry.ended = true;
      if (live) entry.freeAt = now + keepFor;
      entry.starts.end(lease, outcome);
      if (outcome === NOTHING_RAN) {
        const { tick: _tick, attempt: _attempt, ...rest } = entry.lease;
        entry.lease = rest;
      }
      return live ? { released: true } : { released: false, reason: 'expired' };
    });
  }

  inspect(): Promise<LockInfo[]> {
    return settle(() => {
      const now = this.#clock.monotonic();
      return [...this.#entries].map(([name, { lease, freeAt, ended, since, starts }]) => {
        const free = freeAt <= now;
        return {
          name,
          state: free ? 'free' : ended ? 'cooling-down' : 'held',
          holder: lease.holder,
          since,
          ...(free ? undefined : { expiresIn: Math.ceil(freeAt - now) }),
          fencingToken: lease.fencingToken,
          jobs: starts.all(),
        };
      });
    });
  }

  /** Takes a lock away from its holder. @internal for tests */
  evict(name: string): void {
    const entry = this.#entries.get(name);
    if (entry !== undefined) entry.freeAt = -Infinity;
  }

  /** Forgets old locks whenever there are twice as many as after the last time: a caller can make up a name per call. */
  #forget(now: number): void {
    if (this.#entries.size < this.#full) return;
    for (const [name, { freeAt, starts }] of this.#entries) {
      const retention = starts.all().length === 0 ? RETENTION : TICK_RETENTION;
      if (freeAt + retention <= now) this.#entries.delete(name);
    }
    this.#full = Math.max(MANY, this.#entries.size * 2);
  }

  #extend(lease: LeaseRef): ExtendResult {
    const now = this.#clock.monotonic();
    const entry = this.#entries.get(lease.name);
    const live = entry !== undefined && entry.freeAt > now;
    const known = entry?.lease.token === lease.token;
    if (known ? entry.ended : !isBehind(entry, lease)) {
      if (live && !known) return { held: false, reason: 'taken', holder: entry.lease.holder };
      return { held: false, reason: 'expired' };
    }
    const starts = entry?.starts ?? new Starts();
    if (!known) starts.restore(lease);
    this.#entries.set(lease.name, {
      lease: known
        ? { ...entry.lease, fencingToken: Math.max(entry.lease.fencingToken, lease.fencingToken) }
        : lease,
      freeAt: now + lease.ttl,
      ended: false,
      since: known ? entry.since : this.#clock.now(),
      starts,
    });
    return live && known ? { held: true } : { held: true, restored: true };
  }
}

function granted({ fencingToken, attempt }: LeaseRef): AcquireResult {
  return { acquired: true, fencingToken, ...(attempt === undefined ? undefined : { attempt }) };
}

/** Whether the entry, which is not of this lease, is missing or older than the lease. An older lease was over before this one. */
function isBehind(entry: Entry | undefined, lease: LeaseRef): boolean {
  return entry === undefined || entry.lease.fencingToken < lease.fencingToken;
}

/** Runs `operation` at once, so that calls take effect in the order in which they were made. */
function settle<T>(operation: () => T): Promise<T> {
  try {
    return Promise.resolve(operation());
  } catch (error) {
    return Promise.reject(error);
  }
}
