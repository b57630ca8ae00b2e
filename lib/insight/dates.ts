import type { KnownJob } from '../contract/history-store.js';
import { together } from '../schedule/tick-finder.js';
import { pauseAt } from './controls.js';
import {
  endOf,
  isOn,
  type JobFacts,
  lastStartOf,
  makesUpFor,
  type TickDates,
  type TickFinder,
  upAndOn,
  wentOn,
} from './facts.js';
import type { RunInfo } from './types.js';

/** The dates of a cron job by these schedules. None if a schedule cannot be read, or `cron` is not at hand: nobody guesses. */
export function datesOf({ known, ticks }: JobFacts, jobs: readonly KnownJob[] = [known]): TickDates {
  const found = new Set(jobs.map(({ schedule, timeZone }) => schedule && ticks?.(schedule, timeZone)));
  const all = [...found].filter((dates) => typeof dates === 'object');
  return together(all.length === found.size ? all : []);
}

/**
 * When an interval is due: one interval after its last start. One that never ran is due one interval after the first instance that
 * knows it has started.
 */
export function dueOf(facts: JobFacts): number | undefined {
  const { known, knownBy, runs } = facts;
  const { interval } = known;
  if (interval === undefined) return undefined;
  const due = Math.max(lastStartOf(facts)?.due ?? -Infinity, facts.seen?.due ?? -Infinity);
  if (due !== -Infinity) return due;
  const enabled = knownBy.filter(({ job }) => isOn(job) && job.interval === interval);
  const start = runs[0]?.startedAt ?? Math.min(...enabled.map(({ startedAt }) => startedAt), Infinity);
  return start === Infinity ? undefined : start + interval;
}

/**
 * When somebody should have started an interval, or should start it: when it is due, or, if nobody had to start it then, one interval after
 * whatever was in the way. Infinity while that goes on.
 */
function expectedOf(facts: JobFacts): number | undefined {
  let due = dueOf(facts);
  while (due !== undefined && due <= facts.time) {
    const next = (excusedUntil(facts, due) ?? NaN) + (facts.known.interval ?? Infinity);
    // There is no such time, or the record of the job says nonsense: the look must have an end.
    if (!(next > due)) break;
    due = next;
  }
  return due;
}

/**
 * Until when nobody had to start a tick: it found a run of the job, or its lock kept by `atLeast`, or the job paused, or off everywhere; or
 * somebody has run the job since by hand. `undefined`: none of these.
 */
export function excusedUntil(
  { known: { atLeast = 0 }, runs, pauses = [], offUntil = -Infinity }: JobFacts,
  tick: number,
): number | undefined {
  const kept = runs.filter(({ startedAt }) => startedAt <= tick && startedAt + atLeast > tick);
  const ends = kept.map(({ startedAt }) => startedAt + atLeast);
  ends.push(...runs.filter((run) => wentOn(run, tick)).map(endOf));
  ends.push(...runs.filter((run) => makesUpFor(run, tick)).map(({ startedAt }) => startedAt));
  const pause = pauseAt(pauses, tick);
  if (pause !== undefined) ends.push(pause.until);
  if (offUntil >= tick) ends.push(offUntil);
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** Ticks that come more often than this, ms, are judged only this often, and all instances judge the same ones. */
const MINUTE = 60_000;

/** The newest tick whose grace is over. `undefined`: there is none, or the job is never overdue, or its runs are not known. */
export function ripeTick(facts: JobFacts): number | undefined {
  const { known, time } = facts;
  const { overdue: grace, kind } = known;
  if (grace === false || known.lock === undefined || kind === 'hand') return undefined;
  if (kind === 'interval') {
    const due = expectedOf(facts);
    return due !== undefined && due <= time - grace ? due : undefined;
  }
  const dates = datesOf(facts);
  const now = time - lateness(facts);
  const tick = dates.newest(now - grace);
  const unit = unitOf(grace);
  if (tick === undefined || dates.next(tick) - tick >= unit) return tick;
  return dates.newest(Math.floor(now / unit) * unit - grace);
}

/** When {@link ripeTick} has another answer, at the earliest. */
export function nextRipe(facts: JobFacts): number {
  const { known, time } = facts;
  const { overdue: grace, kind } = known;
  if (grace === false || kind === 'hand') return Infinity;
  if (kind === 'interval') {
    // A run that goes past the first of these needs attention, and says nothing of the second.
    const dues = [dueOf(facts) ?? Infinity, expectedOf(facts) ?? Infinity];
    return Math.min(...dues.map((due) => due + grace).filter((over) => over > time), Infinity);
  }
  const late = lateness(facts);
  const [now, dates, unit] = [time - late, datesOf(facts), unitOf(grace)];
  const tick = dates.next(now - grace);
  const isFrequent = dates.next(tick) - tick < unit;
  return late + (isFrequent ? (Math.floor(now / unit) + 1) * unit : tick + grace);
}

const unitOf = (grace: number): number => Math.max(1_000, Math.min(MINUTE, grace));

/**
 * How much later than by the store's clock the ticks of a cron job come, ms: each instance on which it may run fires it by its own clock.
 * The earliest one counts.
 */
export function lateness(facts: JobFacts): number {
  if (facts.known.kind !== 'cron') return 0;
  const offsets = upAndOn(facts).map(({ clockOffset = 0 }) => clockOffset);
  return offsets.length === 0 ? 0 : Math.max(0, Math.min(...offsets));
}

/** The first tick after a run began; Infinity if there is none. A run that catches up with an old tick begins long after it. */
export function tickAfter(facts: JobFacts, { tick = -Infinity, startedAt }: RunInfo): number {
  const { kind, interval } = facts.known;
  if (kind === 'interval') return startedAt + (interval ?? Infinity);
  return kind === 'cron' ? datesOf(facts).next(Math.max(tick, startedAt)) : Infinity;
}

/** More schedules than a fleet has, unless it makes up new ones all the time. */
const MAX_SCHEDULES = 2_000;

/** Asks for each schedule once: to read an expression takes longer than to find a date. */
export function asksOnce(ticks: TickFinder): TickFinder {
  const found = new Map<string, TickDates>();
  return (schedule, timeZone) => {
    const key = timeZone === undefined ? schedule : `${schedule}\n${timeZone}`;
    const dates = found.get(key) ?? ticks(schedule, timeZone);
    if (found.size >= MAX_SCHEDULES) found.clear();
    if (dates !== undefined) found.set(key, dates);
    return dates;
  };
}
