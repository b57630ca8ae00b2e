import { formatDuration } from '../duration.js';
import { displayName } from '../lock-name.js';
import type { MissReason } from '../stores/history-store.js';
import { asClause } from '../wording.js';
import { type JobFacts, wasUp } from './facts.js';
import { timesIn } from './times.js';
import type { RunInfo, ScheduleView, WhyCause } from './types.js';

/*
 * What a person reads who is on call, at night, and has not seen this job before.
 */

type Of<C extends WhyCause['cause']> = Extract<WhyCause, { readonly cause: C }>;

/** What a sentence is made of. */
class Words {
  /** The tick in question, as a part of a sentence. */
  readonly theTick: string;
  readonly #show: (time: number) => string;

  constructor(
    readonly facts: JobFacts,
    readonly tick: number | undefined,
  ) {
    this.#show = facts.show ?? timesIn();
    const { kind } = facts.known;
    this.theTick =
      tick === undefined
        ? 'it'
        : `${kind === 'cron' ? 'the tick of' : 'the run that was due at'} ${this.#show(tick)}`;
  }

  /** A time; without its date if that is the date of the tick. */
  time(time: number): string {
    const text = this.#show(time);
    return this.tick !== undefined && this.#show(this.tick).slice(0, 10) === text.slice(0, 10)
      ? text.slice(11)
      : text;
  }

  /** A time with its date. */
  fullTime = (time: number): string => this.#show(time);

  /** Where and when a run began. */
  started({ instance, startedAt }: RunInfo, at: 'at' | 'since' = 'at'): string {
    return `on ${displayName(instance)} ${at} ${this.time(startedAt)}`;
  }
}

const SENTENCES: { readonly [C in WhyCause['cause']]: (cause: Of<C>, words: Words) => string } = {
  ran: ({ run }, words) => `${ranOf(run, words)} ${words.started(run)}, ${endOf(run)}.`,
  running: ({ run }, words) =>
    `It is running ${words.started(run, 'since')}, for ${formatDuration(Math.max(0, words.facts.time - run.startedAt))} now.`,
  interrupted: ({ run }, words) =>
    run.outcome === 'aborted'
      ? `${ranOf(run, words)} ${words.started(run)}, and was aborted${after(run)}: the instance was shutting down, or had lost the lock${because(run)}.`
      : `${ranOf(run, words)} ${words.started(run)}, and was interrupted: the instance died, froze, or lost the store. How far the run got is not known.`,
  overrun: ({ run }, words) => `${nobody(words)}: ${overrunOf(run, words)}.`,
  'lock-taken': (cause, words) => `${nobody(words)}: ${takenBy(cause, words)}.`,
  'store-away': ({ to, instances }, words) =>
    `${nobody(words)}: the store was away for ${share(instances.length, words)}.${to === undefined ? '' : ` It was back at ${words.time(to)} at the latest.`}`,
  missed: ({ reasons }, words) =>
    `${nobody(words)}. ${some(
      reasons.map((reason) => reasonOf(reason)),
      5,
      ' ',
    )}`,
  'no-instance': (cause, words) => noInstance(cause, words),
  off: ({ instances }) =>
    `It is switched off (\`enabled: false\`) on ${instances.length === 1 ? 'the only instance that knows it' : `all ${instances.length} instances that know it`}: ${some(instances.map(displayName))}.`,
  'schedules-differ': ({ schedules }, words) =>
    `${nobody(words)}, and the instances do not agree when it runs: ${some(schedules.map(scheduleOf), 5, '; ')}.`,
  'not-a-tick': (cause, words) => noTick(cause, words),
  pending: ({ due }, words) =>
    words.tick !== undefined && words.tick > words.facts.time
      ? `Its time has not come: its next tick is at ${words.fullTime(words.tick)}.`
      : `${capital(words.theTick)} has not been started yet, and counts as overdue from ${words.time(due)} on.`,
  'unknown-job': ({ jobs }, { facts }) => unknownJobSentence(facts.known.job, jobs, true),
  'too-old': ({ since }, words) =>
    `Nobody knows any more what became of ${words.theTick}: it is older than the runs that are kept${since === undefined ? '' : `, which begin at ${words.time(since)}`}.`,
  unknown: (_cause, words) => unknown(words),
};

/**
 * A cause as a person reads it.
 *
 * @param tick the time in question
 */
export function sentenceOf(facts: JobFacts, cause: WhyCause, tick?: number): string {
  const say = SENTENCES[cause.cause] as (cause: WhyCause, words: Words) => string;
  return say(cause, new Words(facts, tick));
}

/** @param areNear whether their names are like the one that was asked for */
export function unknownJobSentence(job: string, jobs: readonly string[], areNear: boolean): string {
  const start = `No instance knows a job ${displayName(job)}.`;
  if (jobs.length === 0) return `${start} No instance has told of any job yet.`;
  const names = jobs.map(displayName);
  return areNear
    ? `${start} Did you mean ${some(names, 3, ' or ')}?`
    : `${start} There are: ${some(names, 10)}.`;
}

const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

const nobody = (words: Words): string => `Nobody started ${words.theTick}`;

function some(texts: readonly string[], most = 3, separator = ', '): string {
  const rest = texts.length - most;
  const shown = texts.slice(0, most).join(separator);
  return rest > 0 ? `${shown}${separator}and ${rest} more` : shown;
}

/** Who began: `The tick of … ran`, up to the instance. */
function ranOf({ tick, attempt = 1 }: RunInfo, words: Words): string {
  const again = attempt > 1 ? `, for the ${ordinal(attempt)} time,` : '';
  if (tick !== undefined) return `The tick of ${words.fullTime(tick)} was started${again}`;
  return words.facts.known.kind === 'interval' ? 'It was started' : 'It was started by hand';
}

const ordinal = (count: number): string => ['', 'first', 'second', 'third'][count] ?? `${count}th`;

const after = ({ duration }: RunInfo): string =>
  duration === undefined ? '' : ` after ${formatDuration(duration)}`;

/** The error is kept as far as the options allow it. URLs in it may hold credentials. */
const because = ({ error }: RunInfo): string => (error === undefined ? '' : ` (${asClause(error)})`);

function endOf(run: RunInfo): string {
  if (run.outcome === 'completed') return `and completed${after(run)}`;
  if (run.outcome === 'timed-out') return `and passed its timeout; it ended${after(run)}${because(run)}`;
  return `and failed${after(run)}${because(run)}`;
}

function overrunOf(run: RunInfo, words: Words): string {
  const which = `the run of ${run.tick === undefined ? 'before' : `the tick of ${words.time(run.tick)}`} on ${displayName(run.instance)}`;
  const since = `it had begun at ${words.time(run.startedAt)}`;
  if (run.outcome === 'running') return `${which} was still going on, and is to this moment; ${since}`;
  if (run.outcome === 'interrupted')
    return `the lock was still taken for ${which}; ${since}, and was interrupted`;
  return `${which} was still going on; ${since}, and ended${run.endedAt === undefined ? ' later' : ` at ${words.time(run.endedAt)}`}`;
}

function takenBy({ run, holder }: Of<'lock-taken'>, words: Words): string {
  const lock = `its lock ${displayName(words.facts.known.lock ?? words.facts.known.job)}`;
  if (run === undefined)
    return `${lock} was taken by ${holder === undefined ? 'something that is not known: another client of the store, perhaps' : displayName(holder)}`;
  const who = `${run.job === undefined ? 'a call' : `the job ${displayName(run.job)}`} on ${displayName(run.instance)}`;
  if (run.endedAt !== undefined && words.tick !== undefined && run.endedAt <= words.tick)
    return `${lock} was still kept (\`atLeast\`) after the run of ${who}, which had ended at ${words.time(run.endedAt)}`;
  const until =
    run.outcome === 'running'
      ? ', which goes on'
      : run.endedAt === undefined
        ? ''
        : ` to ${words.time(run.endedAt)}`;
  return `${lock} was taken by ${who}, from ${words.time(run.startedAt)}${until}`;
}

/** `3 of 3 instances`. */
function share(count: number, { facts, tick }: Words): string {
  const up = tick === undefined ? 0 : facts.knownBy.filter((instance) => wasUp(instance, tick)).length;
  return `${count} of ${Math.max(count, up)} instance${Math.max(count, up) === 1 ? '' : 's'}`;
}

/** What kept an instance from a tick, by its reason. */
const REASONS: Readonly<Record<string, string>> = {
  'not-fired': 'its scheduler did not call the job: it was stopped, or too busy',
  'store-unavailable': 'the store failed, or did not answer',
  'shutting-down': 'it was shutting down',
  disabled: 'the job is switched off there',
  'not-leader': 'it was not the leader',
  'clock-skew': "its clock was ahead of the store's",
  'already-ran': 'the store had a start of this tick, or of a newer one',
  'invalid-name': 'the name of the lock was not valid',
};

function reasonOf({ instance, reason, count }: MissReason & { readonly instance: string }): string {
  const often = count > 1 ? ` (${count} times in a row)` : '';
  return `On ${displayName(instance)}, ${REASONS[reason] ?? displayName(reason)}${often}.`;
}

function noInstance({ from, to, last }: Of<'no-instance'>, words: Words): string {
  const { tick } = words;
  const then = tick === undefined || tick > words.facts.time ? 'is up' : `was up at ${words.fullTime(tick)}`;
  const seen =
    from === undefined || last === undefined
      ? undefined
      : `${displayName(last)} was the last one, and was last seen at ${words.time(from)}`;
  const next = to === undefined ? 'none has come since' : `the next one started at ${words.time(to)}`;
  return `No instance that knows the job ${then}: ${seen === undefined ? next : `${seen}; ${next}`}.`;
}

/** `0 3 * * * in UTC on api-1, api-2`. */
function scheduleOf({ schedule, timeZone, interval, instances }: ScheduleView): string {
  const when =
    interval === undefined
      ? `\`${schedule ?? 'no schedule'}\`${timeZone === undefined ? '' : ` in ${timeZone}`}`
      : `every ${formatDuration(interval)}`;
  return `${when} on ${some(instances.map(displayName))}`;
}

function noTick({ before, after: following, schedules }: Of<'not-a-tick'>, words: Words): string {
  const at = words.tick === undefined ? 'then' : `at ${words.fullTime(words.tick)}`;
  const schedule = `its schedule is ${some(schedules.map(scheduleOf), 5, '; ')}`;
  const dates = [
    before === undefined
      ? undefined
      : `The tick before was at ${words.fullTime(before)}${resultOf(before, words)}`,
    following === undefined
      ? undefined
      : `the next one ${following > words.facts.time ? 'is' : 'was'} at ${words.fullTime(following)}${resultOf(following, words)}`,
  ].filter((text) => text !== undefined);
  return [
    `It has no tick ${at}: ${schedule}.`,
    dates.length === 0 ? '' : ` ${capital(dates.join('; '))}.`,
  ].join('');
}

/** What became of a tick, if its run is known. */
function resultOf(tick: number, { facts }: Words): string {
  const run = facts.runs.find((candidate) => candidate.tick === tick);
  return run === undefined ? '' : ` (${run.outcome} on ${displayName(run.instance)})`;
}

function unknown({ facts, tick, theTick }: Words): string {
  const { lock, kind } = facts.known;
  if (lock === undefined)
    return 'The name of its lock is made from the arguments of each call, so its runs are not kept.';
  if (kind === 'hand' || tick === undefined)
    return kind === 'hand'
      ? 'It has no schedule: it runs when it is called. No run is known of that time.'
      : 'No run of it is known, and none of its dates.';
  return `No start of ${theTick} is known, and no instance has told why. The log of the instances that were up then may.`;
}
