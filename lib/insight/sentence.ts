import { formatDuration } from '../base/duration.js';
import { displayName } from '../base/lock-name.js';
import { withoutSql } from '../base/wording.js';
import { datesOf } from './dates.js';
import { isOn, type JobFacts, lastStartOf, makesUpFor, upAt, wasStarted } from './facts.js';
import {
  begunOf,
  capital,
  cutShort,
  endOf,
  inBrackets,
  names,
  otherAttempts,
  some,
  whereOf,
  Words,
} from './phrases.js';
import { scheduleOf } from './shown.js';
import type { RunInfo, ScheduleView, UnknownReason, WhyCause } from './types.js';

/* Sentences for a person who is on call, at night, and has not seen this job before. */

type Of<C extends WhyCause['cause']> = Extract<WhyCause, { readonly cause: C }>;

const SENTENCES: { readonly [C in WhyCause['cause']]: (cause: Of<C>, words: Words) => string } = {
  ran: ({ run }, words) => `${begunOf(run, words)}, ${endOf(run)}${otherAttempts(run, words)}.`,
  running: ({ run }, words) =>
    `It is running on ${displayName(run.instance)} since ${words.time(run.startedAt)}, for ${ageOf(run, words)} now.`,
  hung: ({ run, instances }, words) =>
    `It hangs on ${names(instances)}: a run that began at ${words.fullTime(run.startedAt)}, ${ageOf(run, words)} ago, goes on past its \`timeout\` or without its lock. An instance on which it hangs starts no other run of it until it is restarted.`,
  interrupted: ({ run }, words) => begunOf(run, words) + cutShort(run, words),
  overrun: ({ run }, words) =>
    `${nobody(words)}: ${run.outcome === 'interrupted' ? 'its lock was still taken for an earlier run of the job, which was interrupted' : 'an earlier run of the job was still going on'}, ${whereOf(run, words)}.`,
  'lock-taken': (cause, words) => `${nobody(words)}: ${takenBy(cause, words)}.`,
  'store-away': ({ from, to, instances }, words) =>
    `${nobody(words)}: the store was away from ${words.time(from)}${to === undefined ? '' : ` to ${words.time(to)}`} on ${names(instances)}.`,
  unlocked: ({ instances }, words) =>
    `${capital(words.theTick)} ran without its lock on ${names(instances)}, as the store did not answer (\`onStoreError: 'run'\`). Nothing more is known of that run.`,
  missed: ({ reasons }, words) => `${nobody(words)}. ${some(reasonsOf(reasons), 5, ' ')}`,
  'no-instance': noInstance,
  paused,
  off,
  'clocks-behind': ({ behind, instances }) =>
    `Its ticks come ${formatDuration(behind)} late: the clock of ${names(instances)} is behind that of the store by so much. Either clock may be the wrong one.`,
  'schedules-differ': ({ schedules }, words) =>
    `${words.tick === undefined ? 'The' : `${nobody(words)}, and the`} instances do not agree when it runs: ${some(schedules.map(onOf), 5, '; ')}.`,
  'not-a-tick': ({ before, after, schedules }, { tick = NaN, fullTime }) =>
    `It has no tick at ${fullTime(tick)}: its schedule is ${some(schedules.map(onOf), 5, '; ')}. Before: ${before === undefined ? 'none' : fullTime(before)}; after: ${after === undefined ? 'none' : fullTime(after)}.`,
  pending: ({ due }, words) => pending(due, words),
  'unknown-job': ({ jobs }, { facts }) => unknownJobSentence(facts.known.job, jobs, true),
  'too-old': ({ since }, words) =>
    `Nobody knows any more what became of ${words.theTick}: ${since === undefined ? 'what is so old' : `what came before ${words.fullTime(since)}`} may have been dropped.`,
  unknown: ({ reason }, words) => (reason === undefined ? unknown(words) : UNKNOWN[reason](words)),
};

/** Why the state of a job is unknown. */
const UNKNOWN: { readonly [R in UnknownReason]: (words: Words) => string } = {
  'not-asked': () => 'Nothing is known of it yet: the store has not answered this instance.',
  'old-facts': (words) =>
    `It is not known whether anybody has started ${words.theTick}: the store has not answered since.`,
  refused: ({ facts: { refusal } }) => `Its lock or its runs cannot be read: ${withoutSql(refusal)}`,
  'no-lock': () => 'The name of its lock is made from the arguments of each call, so its runs are not kept.',
  'no-dates': () =>
    'It is not known when it should run: that takes `@nestjs/schedule` beside this program, or in the folder in which it was started, and a schedule that its `cron` can read.',
  'nobody-up': () => 'No instance that may run it is up, and nobody would notice: it is never overdue.',
};

/** A cause as a person reads it. @param tick the time in question */
export function sentenceOf(facts: JobFacts, cause: WhyCause, tick?: number): string {
  const say = SENTENCES[cause.cause] as (cause: WhyCause, words: Words) => string;
  const words = new Words(facts, tick);
  return say(cause, words) + madeUpFor(words);
}

/** The run by hand that has settled a tick since. */
function madeUpFor(words: Words): string {
  const { facts, tick } = words;
  if (tick === undefined || facts.known.kind !== 'cron' || wasStarted(facts, tick)) return '';
  const next = datesOf(facts).next(tick);
  const run = facts.runs.findLast((each) => makesUpFor(each, tick) && each.startedAt < next);
  return run === undefined ? '' : ` ${begunOf(run, words)}, ${endOf(run)}.`;
}

/** @param areNear whether their names are like the one that was asked for */
export function unknownJobSentence(job: string, jobs: readonly string[], areNear: boolean): string {
  const shown = jobs.map(displayName);
  const others = areNear
    ? `Did you mean ${some(shown, 3, ' or ')}?`
    : `Known jobs: ${some(shown, 10) || 'none yet'}.`;
  return `No instance knows a job ${displayName(job)}. ${others}`;
}

const ageOf = ({ startedAt }: RunInfo, { facts: { time } }: Words): string =>
  formatDuration(Math.max(0, time - startedAt));

const nobody = (words: Words): string => `Nobody started ${words.theTick}`;

function takenBy({ run, holder }: Of<'lock-taken'>, words: Words): string {
  const { lock, job } = words.facts.known;
  const taken = `its lock ${displayName(lock ?? job)} was`;
  if (run === undefined)
    return `${taken} taken by ${holder === undefined ? 'somebody who is not known: perhaps another client of the store' : displayName(holder)}`;
  const what = run.job === undefined ? 'a call' : `the job ${displayName(run.job)}`;
  return run.endedAt !== undefined && run.endedAt <= (words.tick ?? -Infinity)
    ? `${taken} still kept by \`atLeast\` of ${what}, which ran ${whereOf(run, words)}`
    : `${taken} taken by ${what}, ${whereOf(run, words)}`;
}

/** What kept an instance from a tick, by its reason. */
const REASONS: Readonly<Record<string, string>> = {
  'not-fired': 'the scheduler did not call the job: it was stopped, or too busy',
  'store-unavailable': 'the store failed, or did not answer',
  'shutting-down': 'the instance was shutting down',
  'not-leader': 'the instance was not the leader',
  'already-ran': 'the store said that this tick, or a newer one, was started already',
  'clock-skew':
    'the clock was ahead of that of the store, which refuses ticks that are yet to come; either clock may be the wrong one',
};

/** A sentence for each reason. */
function reasonsOf(reasons: Of<'missed'>['reasons']): string[] {
  const instances = new Map<string, string[]>();
  for (const { reason, count, instance } of reasons) {
    const what = REASONS[reason] ?? displayName(reason);
    const text = count > 1 ? `${what} (${count} times in a row)` : what;
    instances.set(text, [...(instances.get(text) ?? []), instance]);
  }
  return [...instances].map(([text, on]) => `On ${names(on)}, ${text}.`);
}

function off({ instances }: Of<'off'>, { facts: { knownBy } }: Words): string {
  const isDisabled = knownBy.some(({ job }) => !job.enabled) && '`enabled: false`';
  const isStopped = knownBy.some(({ job }) => job.enabled && !isOn(job)) && 'its cron job was stopped';
  return `It is switched off (${[isDisabled, isStopped].filter(Boolean).join(', or ')}) on ${names(instances)}.`;
}

function noInstance({ from, to, last = '' }: Of<'no-instance'>, words: Words): string {
  const { tick = Infinity, facts } = words;
  const then = tick > facts.time ? 'is up' : `was up at ${words.fullTime(tick)}`;
  const seen =
    from === undefined
      ? ''
      : `${displayName(last)} was the last one, and was last seen at ${words.time(from)}; `;
  const next = to === undefined ? 'none has come since' : `the next one started at ${words.time(to)}`;
  return `No instance that may run it ${then}: ${seen}${next}.`;
}

function paused({ pause }: Of<'paused'>, words: Words): string {
  const { actor, reason, since, until, resumedBy, lock } = pause;
  const about = words.tick === undefined ? 'Its' : `${nobody(words)}: its`;
  const is = until > words.facts.time ? 'is' : 'was';
  const resumed = resumedBy === undefined ? '' : `, when ${resumedBy} resumed it`;
  return `${about} lock ${displayName(lock)} ${is} paused by ${actor} from ${words.fullTime(since)} to ${words.fullTime(until)}${resumed}${inBrackets(reason)}.`;
}

/** `0 3 * * * UTC on api-1, api-2`. */
const onOf = (view: ScheduleView): string => `${scheduleOf(view)} on ${names(view.instances)}`;

function pending(due: number, words: Words): string {
  const { tick, facts, theTick } = words;
  if (tick !== undefined && tick > facts.time) return `${capital(theTick)} is yet to come.`;
  const overdue = facts.known.overdue === false ? '' : `, and counts as overdue from ${words.time(due)} on`;
  return `${capital(theTick)} has not been started yet${overdue}.`;
}

function unknown(words: Words): string {
  const { facts, tick, theTick } = words;
  const start = lastStartOf(facts);
  if (tick !== undefined && start?.tick === tick)
    return `${capital(theTick)} was started${inBrackets(start.outcome)}, but nothing more is known of its run.`;
  if (facts.known.lock === undefined) return UNKNOWN['no-lock'](words);
  if (facts.known.kind === 'hand')
    return 'It has no schedule: it runs when it is called. No run is known of that time.';
  const up = upAt(facts, tick ?? facts.time).map(({ instance }) => instance);
  const logs = up.length === 0 ? '' : ` Look at the log of those that were up then: ${names(up)}.`;
  return `Nobody is known to have started ${theTick}, and no instance has told why.${logs}`;
}
