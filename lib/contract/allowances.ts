import type { AcquireRefusal, ReleaseOutcome } from './lock-store.js';

/*
 * The rules of ticks and intervals that every store follows: Redis in Lua, the others by `rules/lock`. The contract suite tests them.
 *
 * A tick is refused if it lies further in the future of the store than `maxClockSkew`. It is refused as well if it or a newer one was
 * started, but for two cases: its run was interrupted and may be repeated, or its run failed and the time has come to try it again. `only`
 * refuses more.
 *
 * An interval is due one interval after the due time of its last start, or after that start if it was late; it is the present interval that
 * counts. A due time further ahead than a start can put it is ignored: the store's clock was set back.
 *
 * A start that is abandoned is taken back: the one that it replaced counts again.
 */

/** An interval may start this part of it early: timers are late by different amounts. */
export const INTERVAL_ALLOWANCE = 0.1;
/** How far a due time, kept in whole milliseconds, can lie behind the exact one, ms. */
export const INTERVAL_ROUNDING = 1;

/** The outcome of a run that was interrupted. A run that is over without an outcome was interrupted, too: its holder died. */
export const INTERRUPTED: ReleaseOutcome = 'aborted';
/** The outcome of a lease under which nothing ran. */
export const NOTHING_RAN: ReleaseOutcome = 'abandoned';

/**
 * The last start of a job, for a refusal.
 *
 * @param outcome of its run; `null` or `undefined`: none yet
 * @param retryAt from when on it is tried again; `undefined`: it is not
 */
export const lastStart = (
  tick: number,
  outcome: unknown,
  retryAt?: number,
): Pick<AcquireRefusal, 'tick' | 'finished'> => ({
  tick,
  finished: retryAt === undefined && !isInterrupted(outcome),
});

/** Whether a run that is not going on any more counts as interrupted. */
export const isInterrupted = (outcome: unknown): boolean => (outcome ?? INTERRUPTED) === INTERRUPTED;

/** How long a lock is reserved for the call in line that is called, ms. */
export const CALLED = 2_000;
/** By how much one step of priority comes before others, in microseconds, the unit of a place: longer than any line lasts. */
export const STEP_OF_PRIORITY = 1e13;

/** The priority of a queued call that a person has run through a pause: that of no other call. */
export const THROUGH_PAUSE = 101;

/** Whether a queued call goes through a pause, by its place. @param now by the store's clock, ms */
export const isThrough = (place: number, now: number): boolean =>
  Math.round((now * 1_000 - place) / STEP_OF_PRIORITY) >= THROUGH_PAUSE;

/** Refusals that a call in line waits out. */
export const AWAITED: ReadonlySet<string> = new Set(['held', 'cooling-down']);

/** Whether somebody at the place of a queued call, or before it, runs queued calls. @param first the place of the first who does */
export const isAttended = ({ place }: { readonly place: number }, first: number | undefined): boolean =>
  first !== undefined && first <= place;

const DAY = 86_400_000;
/** How long a lock is remembered after its last lease, ms: fencing tokens and holders stay known overnight. Not in tables. */
export const RETENTION = DAY;
/** How long a lock is remembered once a job with ticks or an interval was started under it, ms: a yearly job still knows its last run. */
export const TICK_RETENTION = 400 * DAY;

/** The defaults of the parts of options that are objects; durations in milliseconds. */
export const PARTS = {
  insight: { keep: 100, beat: 30_000, error: 'message' },
  queue: { max: 1_000, redeliver: 3 },
} as const;
