import { INSTANCES_KEPT } from '../contract/history-store.js';
import { displayName } from '../base/lock-name.js';
import { nearest } from '../base/wording.js';
import { pauseAt } from './controls.js';
import { datesOf, dueOf, lateness } from './dates.js';
import { given } from '../base/shared.js';
import {
  agree,
  graceOf,
  isOn,
  type JobFacts,
  type KnownBy,
  lastStartOf,
  upAndOn,
  upAt,
  wasInterrupted,
  wasUp,
  wentOn,
} from './facts.js';
import { causesOfMiss } from './missed.js';
import { inBrackets } from './phrases.js';
import { sentenceOf, unknownJobSentence } from './sentence.js';
import { type Judgement, judge } from './judgement.js';
import { timesIn } from './times.js';
import type { RunInfo, ScheduleView, Why, WhyCause } from './types.js';

const MINUTE = 60_000;

/**
 * Why a job ran, or did not run: the first cause that applies.
 *
 * @param at epoch milliseconds. A whole minute asks for the tick of exactly then; any other time for the newest tick not after it.
 * Without `at`: what the status of the job is about, or else its newest run
 */
export function why(facts: JobFacts, at?: number): Why {
  return at === undefined ? whyOf(facts, judge(facts)) : whyAt(facts, at);
}

/** Why a job was judged so. */
export function whyOf(facts: JobFacts, { status, run, tick, reason, pause }: Judgement): Why {
  if (status === 'off')
    return answer(facts, offAt(facts, facts.time) ?? { cause: 'off', instances: idsOf(facts.knownBy) });
  if (pause !== undefined) return answer(facts, { cause: 'paused', pause });
  if (status === 'disagree') return answer(facts, disagreement(facts));
  if (reason !== undefined) return answer(facts, { cause: 'unknown', reason }, tick);
  if (tick !== undefined) return whyTick(facts, tick);
  return run === undefined ? whyNewest(facts) : whyRun(facts, run);
}

function disagreement(facts: JobFacts): WhyCause {
  const up = upAndOn(facts);
  const schedules = schedulesOf(up);
  if (schedules.length > 1) return { cause: 'schedules-differ', schedules };
  return { cause: 'clocks-behind', behind: lateness(facts), instances: idsOf(up) };
}

/** @param jobs the names of all jobs that some instance knows @param under those whose lock has this name, as somebody may name a lock */
export function whyUnknown(job: string, jobs: readonly string[], under: readonly string[] = []): Why {
  const wanted = job.toLowerCase();
  const containing = jobs.filter((name) => name.toLowerCase().includes(wanted));
  const near = new Set([...under, nearest(job, jobs), ...containing].filter((name) => name !== undefined));
  const cause = { cause: 'unknown-job', jobs: near.size > 0 ? [...near] : jobs.slice(0, 10) } as const;
  return { job, sentence: unknownJobSentence(job, cause.jobs, near.size > 0), ...cause };
}

/** A job that a deploy has removed, or a person had forgotten. */
export function whyRemoved({ known: { job }, knownBy: [last], forgotten, show = timesIn() }: JobFacts): Why {
  const { instance = '', seenAt = 0 } = last ?? {};
  const sentence =
    forgotten?.by === undefined
      ? `A deploy has removed it: ${displayName(instance)} was the last instance that had it, and was last seen at ${show(seenAt)}.`
      : `It is forgotten, by ${forgotten.by.actor} at ${show(forgotten.startedAt)}${inBrackets(forgotten.by.reason)}, and no instance has guarded it since.`;
  return { job, sentence, cause: 'unknown-job', jobs: [] };
}

/** The newest run or tick of which anything is known. Of a new job: the tick that may still be started, or else the next one. */
function whyNewest(facts: JobFacts): Why {
  const { runs, misses, known, time } = facts;
  const [run] = runs;
  const last = Math.max(lastStartOf(facts)?.tick ?? 0, misses[0]?.tick ?? 0);
  if (run !== undefined && last <= (run.tick ?? run.startedAt)) return whyRun(facts, run);
  const first = dueOf(facts) ?? finite(datesOf(facts).next(time - graceOf(known)));
  const tick = last > 0 ? last : first;
  return tick === undefined ? answer(facts, { cause: 'unknown' }) : whyTick(facts, tick);
}

function whyAt(facts: JobFacts, at: number): Why {
  const { known, runs, misses } = facts;
  if (known.kind !== 'cron') return whyWithoutTicks(facts, at);
  // As the instances know the job that were up at that time, or else those that are up now, or else all.
  const knownBy = [upAt(facts, at), upAt(facts, facts.time)].find((up) => up.length > 0) ?? facts.knownBy;
  const jobs = knownBy.map(({ job }) => job);
  const dates = datesOf(facts, jobs);
  const newest = dates.newest(at);
  const isCounted = newest === at || judge(facts).tick === at;
  if (isCounted || [...runs, ...misses].some(({ tick }) => tick === at)) return whyTick(facts, at);
  const byHand = runs.find(({ tick, startedAt }) => tick === undefined && isIn(startedAt, at));
  if (byHand !== undefined) return whyRun(facts, byHand);
  if (at % MINUTE !== 0 && newest !== undefined) return whyTick(facts, newest);
  const after = finite(dates.next(at));
  if (newest === undefined && after === undefined) return whyTick(facts, at);
  const schedules = schedulesOf(knownBy);
  return answer(facts, { cause: 'not-a-tick', ...given({ before: newest, after }), schedules }, at);
}

const finite = (time: number): number | undefined => (time === Infinity ? undefined : time);

/** A job with an interval, or without a schedule: its runs belong to the time at which they began. */
function whyWithoutTicks(facts: JobFacts, at: number): Why {
  const { known, runs, misses } = facts;
  const run = runs.find(({ startedAt }) => startedAt <= at || isIn(startedAt, at));
  if (known.interval === undefined) {
    const isThen = run !== undefined && (isIn(run.startedAt, at) || wentOn(run, at));
    return isThen ? whyRun(facts, run) : answer(facts, tooOld(facts, at) ?? { cause: 'unknown' }, at);
  }
  const missed = misses.find(({ tick }) => tick <= at)?.tick ?? at;
  const due = run === undefined ? missed : run.startedAt + known.interval;
  return run !== undefined && at < due + graceOf(known) ? whyRun(facts, run) : whyTick(facts, due);
}

/** Whether a time lies in the minute that a question names, or is its very millisecond. */
const isIn = (time: number, at: number): boolean =>
  time >= at && time < at + (at % MINUTE === 0 ? MINUTE : 1);

/** Why a tick was started, or was not. The first function that answers decides. */
const CAUSES: readonly ((facts: JobFacts, tick: number) => WhyCause | undefined)[] = [
  (facts, tick) => {
    const run = facts.runs.find((candidate) => candidate.tick === tick);
    return run && causeOfRun(facts, run);
  },
  (facts, tick) => (lastStartOf(facts)?.tick === tick ? { cause: 'unknown' } : undefined),
  ({ pauses = [] }, tick) => {
    const pause = pauseAt(pauses, tick);
    return pause && { cause: 'paused', pause };
  },
  causesOfMiss,
  ({ refusal }) => (refusal === undefined ? undefined : { cause: 'unknown', reason: 'refused' }),
  noInstance,
  offAt,
  (facts, tick) => {
    const schedules = schedulesOf(upAt(facts, tick).filter(({ job }) => isOn(job)));
    return schedules.length > 1 ? { cause: 'schedules-differ', schedules } : undefined;
  },
  ({ known, time }, tick) =>
    tick > time - graceOf(known) ? { cause: 'pending', due: tick + graceOf(known) } : undefined,
  tooOld,
];

function whyTick(facts: JobFacts, tick: number): Why {
  for (const causeOf of CAUSES) {
    const cause = causeOf(facts, tick);
    if (cause !== undefined) return answer(facts, cause, tick);
  }
  return answer(facts, { cause: 'unknown' }, tick);
}

const whyRun = (facts: JobFacts, run: RunInfo): Why => answer(facts, causeOfRun(facts, run), run.tick);

function answer(facts: JobFacts, cause: WhyCause, tick?: number): Why {
  const sentence = sentenceOf(facts, cause, tick);
  return { job: facts.known.job, ...given({ tick }), sentence, ...cause };
}

function causeOfRun({ runs }: JobFacts, run: RunInfo): WhyCause {
  if (run.hung)
    return { cause: 'hung', run, instances: [...new Set(idsOf(runs.filter(({ hung }) => hung)))] };
  if (run.outcome === 'running') return { cause: 'running', run };
  return { cause: wasInterrupted(run) ? 'interrupted' : 'ran', run };
}

function noInstance(facts: JobFacts, tick: number): WhyCause | undefined {
  // Only instances on which the job may run.
  const knownBy = facts.knownBy.filter(({ job }) => isOn(job));
  // An older tick: instances that were up then may have left no record.
  const isRemembered =
    tick > facts.time - INSTANCES_KEPT || knownBy.some(({ startedAt }) => startedAt <= tick);
  if (!isRemembered || knownBy.length === 0 || knownBy.some((by) => wasUp(by, tick))) return undefined;
  const last = knownBy.find(({ seenAt }) => seenAt < tick);
  const to = finite(Math.min(...knownBy.map(({ startedAt }) => startedAt).filter((start) => start > tick)));
  // The job was disabled on all instances that were up, and none has died: somebody wanted that.
  if (upAt(facts, tick).length > 0 && last?.state !== 'gone' && to === undefined) return undefined;
  return { cause: 'no-instance', ...given({ from: last?.seenAt, last: last?.instance, to }) };
}

function offAt(facts: JobFacts, tick: number): WhyCause | undefined {
  const up = upAt(facts, tick);
  if (up.length === 0 || up.some(({ job }) => isOn(job))) return undefined;
  return { cause: 'off', instances: idsOf(up) };
}

const idsOf = (all: readonly { readonly instance: string }[]): string[] =>
  all.map(({ instance }) => instance);

/** Each schedule of the job, with the instances that have it. */
function schedulesOf(knownBy: readonly KnownBy[]): ScheduleView[] {
  const first = knownBy.filter(({ job }, n) => knownBy.findIndex((by) => agree(by.job, job)) === n);
  return first.map(({ job }) => ({
    ...given({ schedule: job.schedule, timeZone: job.timeZone, interval: job.interval }),
    instances: idsOf(knownBy.filter((by) => agree(by.job, job))),
  }));
}

/** The tick is older than the runs that are kept, or else than the instances that are remembered. */
function tooOld({ since, time }: JobFacts, tick: number): WhyCause | undefined {
  const oldest = since ?? time - INSTANCES_KEPT;
  return tick < oldest ? { cause: 'too-old', since: oldest } : undefined;
}
