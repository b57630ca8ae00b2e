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
import { Starts } from './starts.js';

const DAY = 86_400_000;
/** How long a lock is remembered after its lease, ms: as long as Redis keeps its state. */
const RETENTION = DAY;
/** The same once a job was started under it. */
const JOB_RETENTION = 400 * DAY;
/** How many locks there are at least before any is forgotten. */
const MANY = 1_000;

/** What is kept per lock: the newest lease and how far it got. */
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
 * Leases in the memory of this process, for development and tests: instances in other processes are not excluded.
 * Apps that are to exclude each other share one store object.
 */
export class MemoryLockStore implements LockStore {
  readonly label = 'the memory of this process';
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  /** How many locks there are when they are next looked through. */
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
      if (entry === undefined) {
        // An acquire that nobody saw granted can never be restored.
        if (lease.fencingToken === 0) return { released: false, reason: 'expired' };
        // Unknown here, say because the process was started again: its end is noted, or extend would restore it.
        this.#entries.set(lease.name, {
          lease,
          freeAt: now,
          ended: true,
          since: this.#clock.now(),
          starts: new Starts(),
        });
        return { released: false, reason: 'expired' };
      }
      if (entry.lease.token !== lease.token) {
        return { released: false, reason: entry.freeAt > now ? 'taken' : 'expired' };
      }
      if (entry.ended) return { released: false, reason: 'ended' };
      const live = entry.freeAt > now;
      entry.ended = true;
      if (live) entry.freeAt = now + keepFor;
      entry.starts.end(outcome);
      if (outcome === 'abandoned') {
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

  /** Forgets what is long over, whenever there are twice as many locks as the last time: names can be made up per call. */
  #forget(now: number): void {
    if (this.#entries.size < this.#full) return;
    for (const [name, { freeAt, starts }] of this.#entries) {
      const retention = starts.all().length === 0 ? RETENTION : JOB_RETENTION;
      if (freeAt + retention <= now) this.#entries.delete(name);
    }
    this.#full = Math.max(MANY, this.#entries.size * 2);
  }

  #extend(lease: LeaseRef): ExtendResult {
    const now = this.#clock.monotonic();
    const entry = this.#entries.get(lease.name);
    const live = entry !== undefined && entry.freeAt > now;
    if (entry !== undefined && entry.lease.token !== lease.token) {
      return live
        ? { held: false, reason: 'taken', holder: entry.lease.holder }
        : { held: false, reason: 'expired' };
    }
    if (entry?.ended) return { held: false, reason: 'expired' };
    const fencingToken = Math.max(entry?.lease.fencingToken ?? 0, lease.fencingToken);
    this.#entries.set(lease.name, {
      lease: { ...(entry?.lease ?? lease), fencingToken },
      freeAt: now + lease.ttl,
      ended: false,
      since: entry?.since ?? this.#clock.now(),
      starts: entry?.starts ?? restoredStarts(lease, this.#clock.now()),
    });
    return live ? { held: true } : { held: true, restored: true };
  }
}

function granted({ fencingToken, attempt }: LeaseRef): AcquireResult {
  return { acquired: true, fencingToken, ...(attempt === undefined ? undefined : { attempt }) };
}

/** A store that was made anew learns the tick of a lease that it restores. */
function restoredStarts(lease: LeaseRef, now: number): Starts {
  const starts = new Starts();
  starts.start(lease, now, lease.attempt);
  return starts;
}

/** Runs `operation` at once, so that calls take effect in the order in which they were made. */
function settle<T>(operation: () => T): Promise<T> {
  try {
    return Promise.resolve(operation());
  } catch (error) {
    return Promise.reject(error as Error);
  }
}
