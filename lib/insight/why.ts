import { INSTANCES_KEPT, type KnownJob } from '../contract/history-store.js';
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
  type TickDates,
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
  if (status === 'hung' && run !== undefined) return answer(facts, hung(facts, run), run.tick);
  if (status === 'off') return answer(facts, switchedOff(facts));
  if (pause !== undefined) return answer(facts, { cause: 'paused', pause });
  if (status === 'disagree') return answer(facts, disagreement(facts));
  if (reason !== undefined) return answer(facts, { cause: 'unknown', reason }, tick);
  if (tick !== undefined) return whyTick(facts, tick);
  return run === undefined ? whyNewest(facts) : whyRun(facts, run);
}

const hung = ({ runs }: JobFacts, run: RunInfo): WhyCause => ({
  cause: 'hung',
  run,
  instances: [...new Set(runs.filter((each) => each.hung).map(({ instance }) => instance))],
});

function switchedOff({ knownBy }: JobFacts): WhyCause {
  const up = knownBy.filter(({ state }) => state === 'up');
  return { cause: 'off', instances: (up.length > 0 ? up : knownBy).map(({ instance }) => instance) };
}

function disagreement(facts: JobFacts): WhyCause {
  const up = upAndOn(facts);
  const schedules = schedulesOf(up);
  if (schedules.length > 1) return { cause: 'schedules-differ', schedules };
  const instances = up.map(({ instance }) => instance);
  return { cause: 'clocks-behind', behind: lateness(facts), instances };
}

/** @param jobs the names of all jobs that some instance knows */
export function whyUnknown(job: string, jobs: readonly string[]): Why {
  const wanted = job.toLowerCase();
  const containing = jobs.filter((name) => name.toLowerCase().includes(wanted));
  const near = new Set([nearest(job, jobs), ...containing].filter((name) => name !== undefined));
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

/** The newest run or tick of which anything is known. */
function whyNewest(facts: JobFacts): Why {
  const { runs, misses } = facts;
  const [run] = runs;
  const tick = Math.max(lastStartOf(facts)?.tick ?? 0, misses[0]?.tick ?? 0);
  if (run !== undefined && tick <= (run.tick ?? run.startedAt)) return whyRun(facts, run);
  return whyTick(facts, tick > 0 ? tick : firstTick(facts));
}

/** Of a job of which nothing is known yet: its newest tick, or the one to come if no instance was there then. */
function firstTick(facts: JobFacts): number | undefined {
  const { known, time, knownBy } = facts;
  if (known.kind !== 'cron') return dueOf(facts);
  const dates = datesOf(facts);
  const [newest, next] = [dates.newest(time), dates.next(time)];
  const wasThere = newest !== undefined && knownBy.some(({ startedAt }) => startedAt <= newest);
  return wasThere || next === Infinity ? newest : next;
}

function whyAt(facts: JobFacts, at: number): Why {
  const { known, runs, misses } = facts;
  if (known.kind !== 'cron') return whyWithoutTicks(facts, at);
  const then = upAt(facts, at).map(({ job }) => job);
  // As the instances knew the job that were up at that time, or else as it is known now.
  const dates = datesOf(facts, then.length > 0 ? then : [known]);
  const newest = dates.newest(at);
  const isKnownTick =
    newest === at ||
    runs.some(({ tick }) => tick === at) ||
    misses.some(({ tick }) => tick === at) ||
    judge(facts).tick === at;
  if (isKnownTick) return whyTick(facts, at);
  const byHand = runs.find(({ tick, startedAt }) => tick === undefined && isIn(startedAt, at));
  if (byHand !== undefined) return whyRun(facts, byHand);
  if (at % MINUTE !== 0 && newest !== undefined) return whyTick(facts, newest);
  const isKnown = newest !== undefined || dates.next(at) !== Infinity;
  return isKnown ? answer(facts, notATick(facts, at, dates), at) : whyTick(facts, at);
}

/** A job with an interval, or without a schedule: its runs belong to the time at which they began. */
function whyWithoutTicks(facts: JobFacts, at: number): Why {
  const { known, runs, misses } = facts;
  const run = runs.find(({ startedAt }) => startedAt <= at || isIn(startedAt, at));
  if (known.interval === undefined) {
    const isThen = run !== undefined && (isIn(run.startedAt, at) || wentOn(run, at));
    return isThen ? whyRun(facts, run) : answer(facts, tooOld(facts, at) ?? { cause: 'unknown' }, at);
  }
  const start = run?.startedAt ?? -Infinity;
  const missed = misses.find(({ tick }) => tick <= at && tick > start);
  if (missed !== undefined) return whyTick(facts, missed.tick);
  if (run !== undefined && at < start + known.interval + graceOf(known)) return whyRun(facts, run);
  return whyTick(facts, run === undefined ? at : start + known.interval);
}

/** Whether a time lies in the minute that a question names, or is its very millisecond. */
const isIn = (time: number, at: number): boolean =>
  time >= at && time < at + (at % MINUTE === 0 ? MINUTE : 1);

/** Why a tick was started, or was not. The first function that answers decides. */
const CAUSES: readonly ((facts: JobFacts, tick: number) => WhyCause | undefined)[] = [
  ({ runs }, tick) => {
    const run = runs.find((candidate) => candidate.tick === tick);
    return run && causeOfRun(run);
  },
  (facts, tick) => (lastStartOf(facts)?.tick === tick ? { cause: 'unknown' } : undefined),
  pausedThen,
  causesOfMiss,
  ({ refusal }) => (refusal === undefined ? undefined : { cause: 'unknown', reason: 'refused' }),
  noInstance,
  isOffThen,
  schedulesDiffer,
  ({ known, time }, tick) =>
    tick > time - graceOf(known) ? { cause: 'pending', due: tick + graceOf(known) } : undefined,
  tooOld,
];

function whyTick(facts: JobFacts, tick: number | undefined): Why {
  if (tick === undefined) return answer(facts, isOffThen(facts, facts.time) ?? { cause: 'unknown' });
  for (const causeOf of CAUSES) {
    const cause = causeOf(facts, tick);
    if (cause !== undefined) return answer(facts, cause, tick);
  }
  return answer(facts, { cause: 'unknown' }, tick);
}

const whyRun = (facts: JobFacts, run: RunInfo): Why => answer(facts, causeOfRun(run), run.tick);

function answer(facts: JobFacts, cause: WhyCause, tick?: number): Why {
  const sentence = sentenceOf(facts, cause, tick);
  return { job: facts.known.job, ...given({ tick }), sentence, ...cause };
}

function causeOfRun(run: RunInfo): WhyCause {
  if (run.hung) return { cause: 'hung', run, instances: [run.instance] };
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
  const [last] = knownBy
    .filter(({ seenAt }) => seenAt < tick)
    .sort((one, other) => other.seenAt - one.seenAt);
  const to = Math.min(...knownBy.map(({ startedAt }) => startedAt).filter((start) => start > tick));
  // The job was disabled on all instances that were up, and none has died: somebody wanted that.
  if (upAt(facts, tick).length > 0 && last?.state !== 'gone' && to === Infinity) return undefined;
  return {
    cause: 'no-instance',
    ...given({ from: last?.seenAt, last: last?.instance, to: to === Infinity ? undefined : to }),
  };
}

function pausedThen({ pauses = [] }: JobFacts, tick: number): WhyCause | undefined {
  const pause = pauseAt(pauses, tick);
  return pause && { cause: 'paused', pause };
}

function isOffThen(facts: JobFacts, tick: number): WhyCause | undefined {
  const up = upAt(facts, tick);
  if (up.length === 0 || up.some(({ job }) => isOn(job))) return undefined;
  return { cause: 'off', instances: up.map(({ instance }) => instance) };
}

function schedulesDiffer(facts: JobFacts, tick: number): WhyCause | undefined {
  const enabled = facts.knownBy.filter(({ job }) => isOn(job));
  const then = enabled.filter((by) => wasUp(by, tick));
  const hadTick = ({ job }: KnownBy): boolean => agree(job, facts.known);
  // None of these instances has the tick, and the judgement counts it: an instance that had it is gone.
  const isTheirs = then.length === 0 || then.some(hadTick) || judge(facts).tick !== tick;
  const schedules = schedulesOf(isTheirs ? then : [...then, ...enabled.filter(hadTick)]);
  return schedules.length > 1 ? { cause: 'schedules-differ', schedules } : undefined;
}

/** Each schedule of the job, with the instances that have it. */
function schedulesOf(knownBy: readonly KnownBy[]): ScheduleView[] {
  const views: { readonly job: KnownJob; readonly instances: string[] }[] = [];
  for (const { job, instance } of knownBy) {
    const view = views.find((one) => agree(one.job, job));
    if (view === undefined) views.push({ job, instances: [instance] });
    else view.instances.push(instance);
  }
  return views.map(({ job: { schedule, timeZone, interval }, instances }) => ({
    ...given({ schedule, timeZone, interval }),
    instances,
  }));
}

function notATick(facts: JobFacts, at: number, dates: TickDates): WhyCause {
  const [before, after] = [dates.newest(at), dates.next(at)];
  const then = upAt(facts, at);
  const up = then.length > 0 ? then : facts.knownBy.filter(({ state }) => state === 'up');
  return {
    cause: 'not-a-tick',
    ...given({ before, after: after === Infinity ? undefined : after }),
    schedules: schedulesOf(up.length > 0 ? up : facts.knownBy),
  };
}

/** The tick is older than the runs that are kept, or else than the instances that are remembered. */
function tooOld({ since, time }: JobFacts, tick: number): WhyCause | undefined {
  const oldest = since ?? time - INSTANCES_KEPT;
  return tick < oldest ? { cause: 'too-old', since: oldest } : undefined;
}
