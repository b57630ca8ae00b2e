import type { JobInfo, LockInfo, ReleaseOutcome } from '../../../lib/index.js';
import type {
  AcquireRefusal,
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  ReleaseOptions,
  ReleaseResult,
} from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import { LockStateError } from '../../../lib/base/errors.js';
import type { ManualClock } from '../../../lib/testing/index.js';

export interface LockEntry {
  token: string;
  /** Its fencing token. */
  fence: number;
  freeAt: number;
  /** Its lease has ended: it only stays taken. */
  kept?: boolean;
}

export interface StateEntry {
  token: string;
  fence: number;
  holder: string;
  ended: boolean;
  /** The newest tick that was started, for stores that refuse one a second time. */
  tick: number | undefined;
  /** When it was granted, epoch milliseconds. */
  since?: number;
  job?: string | undefined;
}

/** Why a job may not start. */
export type StartRefusal = Omit<AcquireRefusal, 'acquired'>;

/** The last start of a job: of a tick, or of an interval that is due again. */
export interface StartEntry {
  readonly token: string;
  readonly job?: string | undefined;
  readonly tick?: number | undefined;
  /** When an interval began that has not been run yet: the next one is due that much and its length later. */
  readonly from?: number | undefined;
  readonly interval?: number | undefined;
  readonly attempt: number;
  readonly schedule: string;
  readonly outcome: string | undefined;
  /** From when on it may be tried again. */
  readonly retryAt?: number | undefined;
  readonly before: StartEntry | undefined;
}

/**
 * The rules of `LockStore` written down once more, as plainly as possible and in small steps, so that each step
 * can be broken. Like Redis it keeps a lock and its side data apart, and either can be lost.
 */
export abstract class ReferenceLeases {
  readonly locks = new Map<string, LockEntry | 'broken'>();
  readonly states = new Map<string, StateEntry>();
  readonly starts = new Map<string, StartEntry>();

  constructor(readonly clock: ManualClock) {}

  async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const lock = this.lock(request.name);
    const state = this.states.get(this.key(request.name));
    if (lock !== undefined && !this.isRepeated(request, lock, state))
      return this.refuse(lock, state, request);
    if (lock !== undefined && state?.token === request.token) return this.repeatGrant(request, state);
    const refusal = this.refuseStart(request, this.starts.get(this.startKey(request)));
    if (refusal !== undefined) return { acquired: false, ...refusal };
    const before = this.starts.get(this.startKey(request));
    const start = this.noteStart(request, before);
    const fencingToken = this.grant(request, state);
    if (start === undefined) return { acquired: true, fencingToken };
    const differs = before !== undefined && before.schedule !== start.schedule;
    const { attempt } = start;
    return {
      acquired: true,
      fencingToken,
      attempt,
      ...(differs ? { previousSchedule: before.schedule } : {}),
    };
  }

  async extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return leases.map((lease) => this.extendOne(lease));
  }

  async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const lock = this.lock(lease.name);
    const state = this.states.get(this.key(lease.name));
    const newest = this.isNewest(lease, state);
    if (newest && this.states.get(this.key(lease.name))?.ended) return { released: false, reason: 'ended' };
    if (this.isOutlived(lease, lock, state)) {
      this.locks.delete(this.key(lease.name));
      return this.release(lease, options);
    }
    const owner = lock !== undefined && lock.kept !== true && this.owns(lease, lock);
    if (owner) this.free(lease, options);
    if (this.endsStart(lease, state, options.outcome))
      this.noteEnd(lease, options.outcome ?? 'completed', options.retryIn);
    const unknown = lock === undefined && lease.fencingToken !== 0;
    if (newest || (this.isBehind(lease, state) && (unknown || owner))) this.recordEnd(lease, state, options);
    if (owner) return { released: true };
    return { released: false, reason: lock === undefined ? 'expired' : 'taken' };
  }

  async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    const found = [...this.states].filter(([name]) => this.isAskedFor(name, names));
    return found.map(([name, state]) => this.infoOf(name, state));
  }

  protected isAskedFor(name: string, names: readonly string[] | undefined): boolean {
    return names?.includes(name) ?? true;
  }

  protected infoOf(name: string, { holder, fence, ended, since = 0, job }: StateEntry): LockInfo {
    const lock = this.lock(name);
    const jobs = [...this.starts].flatMap(([key, start]) =>
      (JSON.parse(key) as string[])[0] === name ? [this.jobOf(start)] : [],
    );
    const whose = job === undefined ? undefined : { job };
    const known = { name, time: this.clock.now(), holder, since, fencingToken: fence, ...whose, jobs };
    if (lock === undefined)
      return { ...known, state: 'free', ...(ended ? undefined : { interrupted: true }) };
    return { ...known, state: ended ? 'cooling-down' : 'held', expiresIn: lock.freeAt - this.now() };
  }

  protected jobOf({ job = '', tick, from = 0, interval = 0, attempt, outcome }: StartEntry): JobInfo {
    if (tick === undefined) return { job, due: from + interval };
    return { job, tick, attempt, ...(outcome === undefined ? {} : { outcome: outcome as ReleaseOutcome }) };
  }

  protected extendOne(lease: LeaseRef): ExtendResult {
    let lock: LockEntry | undefined;
    try {
      lock = this.lock(lease.name);
    } catch (error) {
      return { held: null, error: error as LockStateError };
    }
    const state = this.states.get(this.key(lease.name));
    if (this.isOutlived(lease, lock, state)) lock = undefined;
    if (lock !== undefined && !this.owns(lease, lock)) return this.takenBy(state);
    if (lock === undefined && !this.mayRestore(lease, state)) return { held: false, reason: 'expired' };
    if (this.hasEnded(lease, state, lock)) return { held: false, reason: 'expired' };
    const fence = Math.max(lock?.fence ?? state?.fence ?? 0, lease.fencingToken);
    this.setLock(lease, lease.ttl, fence);
    if (lock === undefined || state === undefined)
      this.restoreState({ ...lease, fencingToken: fence }, state);
    return lock === undefined ? { held: true, restored: true } : { held: true };
  }

  // The steps

  startKey({ name, job = '' }: AcquireRequest): string {
    return JSON.stringify([name, job]);
  }

  protected refuseStart(request: AcquireRequest, last: StartEntry | undefined): StartRefusal | undefined {
    const { tick, interval, maxClockSkew = Infinity, only } = request;
    const now = this.clock.now();
    if (interval !== undefined) {
      const wait = this.due(interval, last) - interval * 0.1 - now;
      return wait > 0 ? { reason: 'already-ran', expiresIn: wait } : undefined;
    }
    if (tick === undefined) return undefined;
    if (tick > now + maxClockSkew) return { reason: 'clock-skew', storeTime: now };
    if (this.isRerun(request, last)) return undefined;
    if (last?.tick !== undefined && last.tick >= tick)
      return { reason: 'already-ran', ...this.tickOf(last), ...this.retryOf(last, tick) };
    if (only === 'interrupted' || (only === 'known' && last?.tick === undefined))
      return { reason: 'already-ran' };
    return undefined;
  }

  protected due(interval: number, last: StartEntry | undefined): number {
    const due = last?.from === undefined ? 0 : last.from + interval;
    return this.isCredible(due, interval) ? due : 0;
  }

  /** Whether an interval can have put its next due time there, unless the clock was set back. */
  protected isCredible(due: number, interval: number): boolean {
    return due - this.clock.now() <= interval * 1.1;
  }

  protected repeatGrant(request: AcquireRequest, { fence }: StateEntry): AcquireResult {
    const start = this.starts.get(this.startKey(request));
    const attempt = start?.token === request.token ? start.attempt : undefined;
    return { acquired: true, fencingToken: fence, ...(attempt === undefined ? {} : { attempt }) };
  }

  protected isRerun({ tick, rerun = 0 }: AcquireRequest, last: StartEntry | undefined): boolean {
    if (last === undefined || last.tick !== tick) return false;
    if (last.retryAt !== undefined) return this.isTimeFor(last.retryAt);
    return last.attempt <= rerun && !this.isFinished(last);
  }

  protected isTimeFor(retryAt: number): boolean {
    return retryAt <= this.clock.now();
  }

  protected retryOf({ tick: last, retryAt }: StartEntry, tick: number): { expiresIn?: number } {
    return last === tick && retryAt !== undefined ? { expiresIn: retryAt - this.clock.now() } : {};
  }

  protected isFinished({ outcome, retryAt }: StartEntry): boolean {
    return outcome !== undefined && outcome !== 'aborted' && retryAt === undefined;
  }

  protected tickOf(last: StartEntry): { tick?: number; finished: boolean } {
    return { ...(last.tick === undefined ? {} : { tick: last.tick }), finished: this.isFinished(last) };
  }

  protected noteStart(request: AcquireRequest, before: StartEntry | undefined): StartEntry | undefined {
    const { tick, interval, token, schedule = '' } = request;
    if (tick === undefined && interval === undefined) return undefined;
    const from = interval === undefined ? undefined : Math.max(this.due(interval, before), this.clock.now());
    const attempt = this.isRerun(request, before) ? (before?.attempt ?? 0) + 1 : 1;
    const start = {
      token,
      job: request.job,
      tick,
      from,
      interval,
      attempt,
      schedule,
      outcome: undefined,
      before,
    };
    this.starts.set(this.startKey(request), start);
    return start;
  }

  /** Only the newest lease says how a run has ended; that nothing ran is true whoever had the lock since. */
  protected endsStart({ token }: LeaseRef, state: StateEntry | undefined, outcome?: ReleaseOutcome): boolean {
    return state?.token === token || outcome === 'abandoned';
  }

  protected noteEnd(lease: LeaseRef, outcome: string, retryIn?: number): void {
    const start = this.starts.get(this.startKey(lease));
    if (start?.token !== lease.token || start.outcome !== undefined) return;
    const retryAt = retryIn === undefined ? undefined : this.clock.now() + retryIn;
    if (outcome !== 'abandoned') this.starts.set(this.startKey(lease), { ...start, outcome, retryAt });
    else if (start.before === undefined) this.starts.delete(this.startKey(lease));
    // Whoever had started that cannot take it back any more.
    else this.starts.set(this.startKey(lease), { ...start.before, token: '' });
  }

  now(): number {
    return this.clock.monotonic();
  }

  key(name: string): string {
    return name;
  }

  /** The lock, unless it is free. */
  lock(name: string): LockEntry | undefined {
    const lock = this.locks.get(this.key(name));
    if (lock === 'broken') throw new LockStateError(name, 'broken on purpose');
    return lock !== undefined && lock.freeAt > this.now() ? lock : undefined;
  }

  protected isRepeated(request: AcquireRequest, lock: LockEntry, state: StateEntry | undefined): boolean {
    if (lock.kept === true) return false;
    return lock.token === request.token && !(state?.token === request.token && state.ended);
  }

  protected refuse(
    lock: LockEntry,
    state: StateEntry | undefined,
    request: AcquireRequest,
  ): AcquireResult & { acquired: false } {
    const last = this.starts.get(this.startKey(request));
    return {
      ...(last?.tick === undefined ? undefined : this.tickOf(last)),
      acquired: false,
      reason: state?.ended ? 'cooling-down' : 'held',
      ...(state === undefined ? undefined : { holder: state.holder }),
      expiresIn: lock.freeAt - this.now(),
    };
  }

  protected grant(request: AcquireRequest, state: StateEntry | undefined): number {
    const fence = this.nextFence(state);
    const { token, holder, tick, job } = request;
    this.setLock(request, request.ttl, fence);
    this.states.set(this.key(request.name), {
      token,
      fence,
      holder,
      ended: false,
      tick: tick ?? state?.tick,
      since: this.clock.now(),
      job,
    });
    return fence;
  }

  protected nextFence(state: StateEntry | undefined): number {
    return Math.max((state?.fence ?? 0) + 1, this.clock.now() * 1_000);
  }

  protected setLock({ name, token }: AcquireRequest, ttl: number, fence: number): void {
    this.locks.set(this.key(name), { token, fence, freeAt: this.now() + ttl });
  }

  protected owns(lease: LeaseRef, lock: LockEntry): boolean {
    return lease.token === lock.token && !this.isPast(lease, this.states.get(this.key(lease.name)));
  }

  protected isNewest(lease: LeaseRef, state: StateEntry | undefined): boolean {
    return state?.token === lease.token && !this.isPast(lease, state) && !this.isBehind(lease, state);
  }

  /** Whether its token has a newer lease. A grant that was never answered (0) may be that one. */
  protected isPast({ token, fencingToken }: LeaseRef, state: StateEntry | undefined): boolean {
    return state?.token === token && fencingToken !== 0 && state.fence > fencingToken;
  }

  protected takenBy(state: StateEntry | undefined): ExtendResult {
    return { held: false, reason: 'taken', ...(state === undefined ? undefined : { holder: state.holder }) };
  }

  protected mayRestore(lease: LeaseRef, state: StateEntry | undefined): boolean {
    return this.isNewest(lease, state) || this.isBehind(lease, state);
  }

  /** Whether what is known is older than the lease: the store has lost the last writes, or all of them. */
  protected isBehind({ fencingToken }: LeaseRef, state: StateEntry | undefined): boolean {
    return state === undefined || state.fence < fencingToken;
  }

  /** Whether the lock is that of an older lease: it was over when this one was granted. */
  protected isOutlived(lease: LeaseRef, lock: LockEntry | undefined, state: StateEntry | undefined): boolean {
    return lock !== undefined && lock.token === state?.token && this.isBehind(lease, state);
  }

  protected hasEnded(lease: LeaseRef, state: StateEntry | undefined, lock?: LockEntry): boolean {
    if (lock?.kept === true) return true;
    return state?.token === lease.token && state.ended && !this.isBehind(lease, state);
  }

  protected restoreState(lease: LeaseRef, state: StateEntry | undefined): void {
    const { name, token, holder, fencingToken: fence, tick, job } = lease;
    this.states.set(this.key(name), { token, fence, holder, ended: false, tick, job });
    if (tick !== undefined && state?.token !== token) this.restoreStart(lease, tick);
  }

  protected restoreStart(lease: LeaseRef, tick: number): void {
    const { token, job, attempt = 1 } = lease;
    const before = this.starts.get(this.startKey(lease));
    const { tick: last = 0, attempt: tries } = before ?? { attempt: 0 };
    if (last > tick || (last === tick && tries > attempt)) return;
    const start = { token, job, tick, attempt, schedule: '', outcome: undefined, before };
    this.starts.set(this.startKey(lease), start);
  }

  /** What was known of the jobs under a lock is gone with what is kept beside it. */
  forgetStarts(name: string): void {
    for (const key of this.starts.keys())
      if ((JSON.parse(key) as string[])[0] === name) this.starts.delete(key);
  }

  protected free({ name, token, fencingToken }: LeaseRef, { keepFor = 0 }: ReleaseOptions): void {
    this.locks.set(this.key(name), { token, fence: fencingToken, freeAt: this.now() + keepFor, kept: true });
  }

  protected recordEnd(lease: LeaseRef, state: StateEntry | undefined, { outcome }: ReleaseOptions): void {
    const { name, token, holder, fencingToken, job } = lease;
    const fence = Math.max(state?.fence ?? 0, fencingToken);
    const tick = outcome === 'abandoned' ? undefined : state?.tick;
    this.states.set(this.key(name), { token, fence, holder, ended: true, tick, job });
  }
}
