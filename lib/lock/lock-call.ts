import type { SkipReason } from '../base/errors.js';
import type { JobStart } from '../base/job-start.js';
import type { Annotation } from '../contract/history-store.js';
import type {
  AcquireRefusal,
  AcquireRequest,
  LeaseRef,
  RefusalFacts,
  Writable,
} from '../contract/lock-store.js';
import { newId } from '../base/shared.js';
import type { Shortfall } from './report.js';
import { pauseText } from '../contract/pause.js';

/** How one lock is taken and kept: checked, whole milliseconds. */
export interface LockSettings {
  readonly ttl: number;
  readonly heartbeat: number | false;
  readonly timeout: number | undefined;
  readonly atLeast: number;
  readonly storeTimeout: number;
  /** How long a call stands in line if the lock is taken; 0 or absent: not at all. */
  readonly wait?: number;
  /** Among calls in line, greater goes first. */
  readonly priority?: number;
  readonly enabled: boolean;
  /** Whether the store remembers its runs. */
  readonly history?: boolean;
  /** Says what is missing in the report of a run that completes. Absent: nothing is expected. */
  readonly shortfall?: Shortfall | undefined;
  readonly onStoreError: 'skip' | 'run';
}

/** A queued call, as its job sees it. */
export interface QueuedCallFacts {
  /** Its key; `undefined` if it has none. */
  readonly key: string | undefined;
  /** Which delivery this is, from 1: greater if earlier runs of it were interrupted. */
  readonly delivery: number;
  /** When the call was made, by the store's clock, epoch milliseconds. */
  readonly queuedAt: number;
  /** For how many later calls with the same key it stands. */
  readonly merged: number;
}

export interface Cause {
  /** Why its job runs, if no caller waits for it: its schedule, or a queued call. */
  readonly origin?: 'schedule' | QueuedCallFacts | undefined;
  /** What started it, and which person did, if the lease itself does not say. */
  readonly started?: Annotation | undefined;
}

/**
 * What a call is.
 *
 * - `by-hand`: somebody made it. Made by a job that holds its lock, it runs inside that job, unless it belongs to a start.
 * - `queueable`: the same, but it is queued if it finds its lock taken. Then `Queues` reports it: a skip with the reason `queued`.
 * - `fired`: the scheduler fired it. It is never nested, whatever async context it inherits.
 * - `election`: an attempt to lead. Nothing reports that it was refused, or waits: no job was skipped.
 * - `drain`: it runs queued calls. It is never nested, and nothing reports it.
 */
type CallKind = 'by-hand' | 'queueable' | 'fired' | 'election' | 'drain';

export interface LockCall {
  readonly kind: CallKind;
  readonly name: string;
  readonly job: string | undefined;
  readonly settings: LockSettings;
  /** The start of its job that the call belongs to: the store grants each start once. Such a call is never nested. */
  readonly start?: JobStart | undefined;
  /** Whether only those who listen to its event need more of a refusal than the reason. */
  readonly brief?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly place?: number | undefined;
  /** Whether a person has it run through a pause. */
  readonly through?: boolean | undefined;
  /** What started the call, and which person did, if its lease does not say: see `Annotation`. */
  readonly started?: Annotation | undefined;
}

export const mayBeNested = ({ kind, start }: LockCall): boolean =>
  kind !== 'fired' && kind !== 'drain' && start === undefined;

export const mayWait = ({ wait = 0 }: Pick<LockSettings, 'wait'>): boolean => wait > 0;

/** Whether the library itself made the call: then nothing reports what becomes of it. */
export const isBehindTheScenes = ({ kind }: LockCall): boolean => kind === 'election' || kind === 'drain';

/** Where a call comes from, for messages. */
export const whereOf = ({ name, job }: Pick<LockCall, 'name' | 'job'>): string =>
  job ?? `lock ${JSON.stringify(name)}`;

/** A call that did not run its job. */
export interface Skipped extends RefusalFacts {
  readonly ran: false;
  readonly reason: SkipReason;
  /** What went wrong, for `store-unavailable` and `invalid-name`. */
  readonly error?: Error;
  /** How long the call stood in line, milliseconds. Absent if it did not. */
  readonly waited?: number;
}

/** The outcome of a call: the job's value, or why it did not run. */
export type RunResult<T> = { readonly ran: true; readonly value: T } | Skipped;

/** How far a tick may lie in the future of the store's clock, ms: one machine with a bad clock must not lock the others out. */
const MAX_CLOCK_SKEW = 60_000;

// Set field by field, not by spreads, which are several times as slow: every call takes these paths.

export function requestOf(
  { name, job, settings, start, through }: LockCall,
  holder: string,
  { brief, history }: { brief: boolean; history: boolean },
): AcquireRequest {
  const request: Writable<AcquireRequest> = { name, token: newId(), ttl: settings.ttl, holder };
  if (brief) request.brief = true;
  if (history) request.history = true;
  if (through) request.through = true;
  if (job !== undefined) request.job = job;
  if (start?.tick === undefined) {
    if (start?.interval !== undefined) request.interval = start.interval;
    return request;
  }
  request.tick = start.tick;
  request.maxClockSkew = MAX_CLOCK_SKEW;
  if (start.schedule !== undefined) request.schedule = start.schedule;
  if (start.rerun !== undefined) request.rerun = start.rerun;
  if (start.only !== undefined) request.only = start.only;
  return request;
}

/** The lease that the store has granted. @param fencingToken 0 for a run without the store */
export function leaseRefOf(request: AcquireRequest, fencingToken: number, attempt?: number): LeaseRef {
  const { name, token, ttl, holder, job, tick } = request;
  const ref: Writable<LeaseRef> = { name, token, fencingToken, ttl, holder };
  if (job !== undefined) ref.job = job;
  if (tick !== undefined) ref.tick = tick;
  if (attempt !== undefined || tick !== undefined) ref.attempt = attempt ?? 1;
  return ref;
}

export function refusalOf({ tick }: AcquireRequest, refusal: AcquireRefusal): Skipped {
  const skipped: Writable<Skipped> = { ran: false, reason: refusal.reason };
  carry(skipped, refusal);
  if (refusal.paused !== undefined) skipped.holder = pauseText(refusal.paused);
  // To tell whose clock is wrong, a person needs the refused tick beside the store's time.
  if (refusal.reason === 'clock-skew' && tick !== undefined) skipped.tick = tick;
  return skipped;
}

/** Adds what is known about a refusal. */
export function carry<T extends RefusalFacts>(to: T, facts: RefusalFacts): T {
  const { holder, expiresIn, tick, finished, storeTime, paused } = facts;
  const target: Writable<RefusalFacts> = to;
  if (holder !== undefined) target.holder = holder;
  if (expiresIn !== undefined) target.expiresIn = expiresIn;
  if (tick !== undefined) target.tick = tick;
  if (finished !== undefined) target.finished = finished;
  if (storeTime !== undefined) target.storeTime = storeTime;
  if (paused !== undefined) target.paused = paused;
  return to;
}
