import { systemClock, type Clock } from '../../clock.js';
import type { EventStore } from '../event-store.js';
import type { HistoryStore } from '../history-store.js';
import type {
  AcquireRefusal,
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  HintChannel,
  LeaseRef,
  LockInfo,
  LockStore,
  ReleaseOptions,
  ReleaseOutcome,
  ReleaseResult,
} from '../lock-store.js';
import { isWaiting, Line, placeAt, placed, type WaitingRequest } from '../line.js';
import { NOTHING_RAN, RETENTION, TICK_RETENTION } from '../rules.js';
import { MemoryEvents } from './events.js';
import { interruptionOf, MemoryHistory } from './history.js';
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
  readonly events: EventStore;
  readonly history: HistoryStore;
  readonly #events: MemoryEvents;
  readonly #history: MemoryHistory;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();
  readonly #lines = new Map<string, Line>();
  /** Who hears hints, by process. */
  readonly #listeners = new Map<string, (token: string) => void>();
  /** The newest place, without its priority. */
  #newest = 0;
  /** At how many locks the next clean-up takes place. */
  #full = MANY;

  constructor(options: { clock?: Clock } = {}) {
    this.#clock = options.clock ?? systemClock;
    this.history = this.#history = new MemoryHistory(
      {
        lastStart: (name, job) =>
          this.#entries
            .get(name)
            ?.starts.all()
            .find((each) => each.job === job),
        isRunning: (name, job) => {
          const lease = this.#entries.get(name)?.lease;
          return lease?.job === job && this.#held(lease) !== undefined;
        },
      },
      this.#clock,
    );
    this.events = this.#events = new MemoryEvents(
      {
        isFree: (name) => (this.#entries.get(name)?.freeAt ?? 0) <= this.#clock.monotonic(),
        newPlace: () => this.#newPlace(),
        firstPlace: (name) => this.#lines.get(name)?.standing[0]?.place,
        isHeld: (lease) => this.#held(lease) !== undefined,
        newer: (lease) => this.#newer(lease),
        renew: (lease, taker) => this.#renew(lease, taker),
        ended: (...run) => this.#history.ended(...run),
      },
      this.#clock,
    );
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return settle(() => {
      const entry = this.#entries.get(request.name);
      const now = this.#clock.monotonic();
      const starts = entry?.starts ?? new Starts();
      if (entry !== undefined && entry.freeAt > now) {
        const answer = taken(entry, request, now);
        if (!isWaiting(request)) return answer;
        if (answer.acquired) {
          entry.freeAt = Math.max(entry.freeAt, now + request.ttl);
          return answer;
        }
        return starts.refusal(request, this.#clock.now()) ?? this.#inLine(request, answer);
      }
      return (
        starts.refusal(request, this.#clock.now()) ??
        this.#passedOver(request, entry === undefined) ??
        this.#grant(request, entry, starts)
      );
    });
  }

  hints(process: string, called: (token: string) => void): HintChannel {
    this.#listeners.set(process, called);
    return { open: true, close: () => void this.#listeners.delete(process) };
  }

  extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return settle(() => leases.map((lease) => this.#extend(lease)));
  }

  release(
    lease: LeaseRef,
    { outcome = 'completed', keepFor = 0, record }: ReleaseOptions = {},
  ): Promise<ReleaseResult> {
    return settle(() => {
      const now = this.#clock.monotonic();
      const entry = this.#entries.get(lease.name);
      this.#events.end(lease, outcome);
      this.#history.ended(lease, outcome, record);
      const wasCalled = lease.wait !== undefined && outcome === NOTHING_RAN && this.#leave(lease);
      if (entry === undefined || !isOf(entry, lease)) {
        const result = this.#missedRelease(lease, outcome, entry);
        if (wasCalled) this.#call(lease.name);
        return result;
      }
      if (entry.ended) return { released: false, reason: 'ended' };
      const live = entry.freeAt > now;
      entry.ended = true;
      if (live) entry.freeAt = now + keepFor;
      this.#call(lease.name);
      entry.starts.end(lease, outcome);
      if (outcome === NOTHING_RAN) {
        const { tick: _tick, attempt: _attempt, ...rest } = entry.lease;
        entry.lease = rest;
      }
      return live ? { released: true } : { released: false, reason: 'expired' };
    });
  }

  inspect(names?: readonly string[]): Promise<LockInfo[]> {
    return settle(() => {
      const [now, time] = [this.#clock.monotonic(), Math.trunc(this.#clock.now())];
      const found = [...this.#entries].filter(([name]) => names?.includes(name) ?? true);
      return found.map(([name, { lease, freeAt, ended, since, starts }]) => {
        const free = freeAt <= now;
        return {
          name,
          time,
          state: free ? 'free' : ended ? 'cooling-down' : 'held',
          holder: lease.holder,
          since,
          ...(free ? undefined : { expiresIn: Math.ceil(freeAt - now) }),
          fencingToken: lease.fencingToken,
          ...(lease.job === undefined ? undefined : { job: lease.job }),
          ...(free && !ended ? { interrupted: true } : undefined),
          jobs: starts.all(),
          ...this.#events.of(name),
        };
      });
    });
  }

  #held(lease: LeaseRef): Entry | undefined {
    const entry = this.#entries.get(lease.name);
    if (entry === undefined || entry.ended || entry.freeAt <= this.#clock.monotonic()) return undefined;
    return isOf(entry, lease) ? entry : undefined;
  }

  /** The fencing token of a live lease that has the same token, and was granted after this one. */
  #newer({ name, token, fencingToken }: LeaseRef): number | undefined {
    const newest = this.#entries.get(name)?.lease;
    if (newest?.token !== token || newest.fencingToken <= fencingToken) return undefined;
    return this.#held(newest) && newest.fencingToken;
  }

  /** Gives a held lease another fencing token, for a run of this job. */
  #renew(lease: LeaseRef, { job, ttl }: { readonly job: string; readonly ttl: number }): number {
    const entry = this.#held(lease) as Entry;
    const fencingToken = Math.max(entry.lease.fencingToken + 1, Math.trunc(this.#clock.now() * 1_000));
    entry.lease = { ...entry.lease, job, fencingToken };
    entry.freeAt = this.#clock.monotonic() + ttl;
    return fencingToken;
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
      if (freeAt + retention <= now && !this.#history.has(name)) this.#entries.delete(name);
    }
    this.#full = Math.max(MANY, this.#entries.size * 2);
  }

  /** The refusal of a call that stands in line from now on. */
  #inLine(request: WaitingRequest, refusal: AcquireRefusal): AcquireRefusal {
    const line = this.#lines.get(request.name) ?? new Line();
    this.#lines.set(request.name, line);
    this.#enter(request, line);
    return placed(refusal, line.find(request.token));
  }

  #enter({ token, wait }: WaitingRequest, line: Line): void {
    const place = line.find(token)?.place ?? wait.place ?? placeAt(this.#newPlace(), wait.priority);
    line.enter({ token, process: wait.process, place, until: this.#clock.monotonic() + wait.limit });
  }

  /** Two calls in one microsecond, or after the clock was set back, keep their order. */
  #newPlace(): number {
    this.#newest = Math.max(this.#newest + 1, Math.trunc(this.#clock.now() * 1_000));
    return this.#newest;
  }

  /** Takes a call out of line. Returns whether it was called. */
  #leave({ name, token }: LeaseRef): boolean {
    const line = this.#lines.get(name);
    const wasCalled = line?.called?.token === token;
    line?.leave(token);
    return wasCalled;
  }

  /** Why a free lock is not for this call: another one is before it in line. Then that one is called. */
  #passedOver(request: AcquireRequest, isForgotten: boolean): AcquireRefusal | undefined {
    const { name, token, wait } = request;
    const line = this.#lines.get(name);
    const notBefore = isForgotten ? (wait?.notBefore ?? 0) : 0;
    if (notBefore > 0 && isWaiting(request)) return this.#inLine(request, held(notBefore));
    if (line === undefined) return undefined;
    if (isWaiting(request)) this.#enter(request, line);
    const left = this.#call(name, token);
    if (left !== undefined) return placed(held(Math.ceil(left)), line.find(token));
    line.leave(token);
    if (line.standing.length === 0) this.#lines.delete(name);
    return undefined;
  }

  /**
   * Calls the first in line if the lock is free.
   *
   * @param asks the token of the call that asks now
   * @returns for how long the lock is kept for another one, ms; `undefined` if it is not
   */
  #call(name: string, asks?: string): number | undefined {
    const now = this.#clock.monotonic();
    const line = this.#lines.get(name);
    if (line === undefined || (this.#entries.get(name)?.freeAt ?? 0) > now) return undefined;
    const before = line.called?.token;
    const called = line.call(now, asks === undefined ? {} : { asks });
    if (line.standing.length === 0) this.#lines.delete(name);
    if (called === undefined || called.token === asks) return undefined;
    if (called.token !== before) this.#hint(called.process, called.token);
    return called.until - now;
  }

  /** In a later turn: the caller is not done yet. */
  #hint(process: string, token: string): void {
    void Promise.resolve().then(() => this.#listeners.get(process)?.(token));
  }

  #grant(request: AcquireRequest, entry: Entry | undefined, starts: Starts): AcquireResult {
    const [now, since] = [this.#clock.monotonic(), this.#clock.now()];
    // Microseconds of the wall clock, so that tokens also grow over a new store object.
    const fencingToken = Math.max((entry?.lease.fencingToken ?? 0) + 1, Math.trunc(since * 1_000));
    const { attempt, ...more } = starts.start(request, since);
    const grant = { fencingToken, ...(attempt === undefined ? undefined : { attempt }) };
    if (entry === undefined) this.#forget(now);
    const { wait: _wait, history, ...own } = request;
    const lease: LeaseRef = { ...own, ...grant };
    this.#entries.set(request.name, { lease, freeAt: now + request.ttl, ended: false, since, starts });
    const tells = history === true && entry?.ended === false;
    return { acquired: true, ...grant, ...more, ...(tells && { interrupted: interruptionOf(entry.lease) }) };
  }

  #missedRelease(lease: LeaseRef, outcome: ReleaseOutcome, entry: Entry | undefined): ReleaseResult {
    const now = this.#clock.monotonic();
    // Nothing ran under the abandoned lease, even if another holder had the lock since.
    if (outcome === NOTHING_RAN) entry?.starts.end(lease, outcome);
    const behind = isBehind(entry, lease);
    if (!behind && entry !== undefined && entry.freeAt > now) return { released: false, reason: 'taken' };
    // The lease is unknown here, say because the process was restarted: records its end, or `extend` would restore it. Not
    // for an acquire whose grant was never answered (0): it can never be restored.
    if (behind && lease.fencingToken > 0) {
      const starts = entry?.starts ?? new Starts();
      this.#entries.set(lease.name, { lease, freeAt: now, ended: true, since: this.#clock.now(), starts });
    }
    return { released: false, reason: 'expired' };
  }

  #extend(lease: LeaseRef): ExtendResult {
    const now = this.#clock.monotonic();
    const entry = this.#entries.get(lease.name);
    const live = entry !== undefined && entry.freeAt > now;
    if (entry !== undefined && isOf(entry, lease)) {
      if (entry.ended) return { held: false, reason: 'expired' };
      entry.freeAt = now + lease.ttl;
      return live ? { held: true } : { held: true, restored: true };
    }
    if (!isBehind(entry, lease))
      return live
        ? { held: false, reason: 'taken', holder: entry.lease.holder }
        : { held: false, reason: 'expired' };
    const starts = entry?.starts ?? new Starts();
    starts.restore(lease);
    const [freeAt, since] = [now + lease.ttl, this.#clock.now()];
    this.#entries.set(lease.name, { lease, freeAt, ended: false, since, starts });
    return { held: true, restored: true };
  }
}

const held = (expiresIn: number): AcquireRefusal => ({ acquired: false, reason: 'held', expiresIn });

/** The answer to an attempt while the lock is taken. */
function taken(
  { lease, freeAt, ended, starts }: Entry,
  { token, job }: AcquireRequest,
  now: number,
): AcquireResult {
  const { holder, fencingToken, attempt } = lease;
  // The attempt was sent twice.
  if (lease.token === token && !ended)
    return { acquired: true, fencingToken, ...(attempt === undefined ? undefined : { attempt }) };
  const reason = ended ? 'cooling-down' : 'held';
  return { acquired: false, reason, holder, expiresIn: Math.ceil(freeAt - now), ...starts.last(job) };
}

/** Whether the entry is of this lease. The fencing token 0, of a grant that was never answered, stands for any lease of its token. */
function isOf({ lease: own }: Entry, { token, fencingToken }: LeaseRef): boolean {
  return own.token === token && (fencingToken === 0 || own.fencingToken === fencingToken);
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
