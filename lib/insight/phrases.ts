import { formatDuration } from '../base/duration.js';
import { displayName } from '../base/lock-name.js';
import { asClause } from '../base/wording.js';
import { starterOf } from './controls.js';
import type { Report } from '../contract/history-store.js';
import { hasFailed, type JobFacts, lastStartOf, wasUp } from './facts.js';
import { isUp } from './join.js';
import { timesIn } from './times.js';
import type { RunInfo } from './types.js';

/* Parts of sentences: times, lists, and a run: how it began, how it ended, where it was. */

/** What a sentence is made of. */
export class Words {
  /** The tick in question, as a part of a sentence. */
  readonly theTick: string;
  /** A time with its date. */
  readonly fullTime: (time: number) => string;

  constructor(
    readonly facts: JobFacts,
    readonly tick: number | undefined,
  ) {
    this.fullTime = facts.show ?? timesIn();
    const what = facts.known.kind === 'cron' ? 'the tick of' : 'the run that was due at';
    this.theTick = tick === undefined ? 'it' : `${what} ${this.fullTime(tick)}`;
  }

  /** A time; without its day if that is the day of the tick. */
  time(time: number): string {
    const shown = this.fullTime(time);
    const [day, clock] = shown.split(' ');
    const isThatDay = this.tick !== undefined && this.fullTime(this.tick).startsWith(`${day} `);
    return clock !== undefined && isThatDay ? clock : shown;
  }
}

export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

export function some(texts: readonly string[], most = 3, separator = ', '): string {
  const rest = texts.length - most;
  const shown = texts.slice(0, most).join(separator);
  return rest > 0 ? `${shown}${separator}and ${rest} more` : shown;
}

/** Instances, as a list of names. There may be hundreds, for each of hundreds of jobs: only what is shown is made presentable. */
export const names = (instances: readonly string[]): string =>
  some(instances.map((name, n) => (n < 3 ? displayName(name) : name)));

/** A reason in brackets, if there is one. URLs in it may hold credentials. */
export const inBrackets = (reason: string | undefined): string =>
  reason === undefined ? '' : ` (${asClause(reason)})`;

/** Where and when a run began: `The tick of … ran on api-1: started at …`. */
export function begunOf(run: RunInfo, words: Words): string {
  const { tick, attempt = 1, instance, startedAt } = run;
  const again = attempt > 1 ? `, for the ${ordinal(attempt)} time` : '';
  const on = displayName(instance);
  if (tick !== undefined)
    return `The tick of ${words.fullTime(tick)} ran on ${on}${again}: started at ${words.time(startedAt)}`;
  return `It ran on ${on}: started${startedBy(run, words)} at ${words.time(startedAt)}`;
}

/** Who or what started a run without a tick. */
function startedBy(run: RunInfo, { facts: { known } }: Words): string {
  const { trigger } = run;
  const by = starterOf(run);
  if (by !== undefined) return ` by ${by.actor}${inBrackets(by.reason)}`;
  if (trigger === 'queued') return ' by a queued call';
  if (trigger === 'schedule' || (trigger === undefined && known.kind === 'interval')) return '';
  return ' by hand';
}

const ordinal = (count: number): string => ['', 'first', 'second', 'third'][count] ?? `${count}th`;

/** How a run ended: with what it threw, as far as the options allow that to be kept. */
export function endOf({ outcome, duration, error, report, shortfall }: RunInfo): string {
  const after = duration === undefined ? '' : ` after ${formatDuration(duration)}`;
  if (outcome === 'hollow') return `completed${after}, but ${shortfall}`;
  if (outcome === 'completed') return `completed${after}${reportOf(report)}`;
  const because = inBrackets(error);
  return `${outcome === 'timed-out' ? 'went past its timeout, and ended' : 'failed'}${after}${because}`;
}

const reportOf = (report: Report = {}): string =>
  Object.keys(report).length === 0 ? '' : `, and reported ${textOf(report)}`;

/** `invoices 120, month May`. */
export const textOf = (report: Report): string =>
  Object.entries(report)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');

/** The other attempts of the tick of a run: those that had failed before, and when it is tried again. */
export function otherAttempts({ tick, attempt = 1 }: RunInfo, words: Words): string {
  const { facts } = words;
  if (tick === undefined) return '';
  const failed = facts.runs.filter(
    (run) => run.tick === tick && (run.attempt ?? 1) < attempt && hasFailed(run),
  );
  const times = failed.toReversed().map(({ startedAt, endedAt = startedAt }) => words.time(endedAt));
  const start = lastStartOf(facts);
  const retryAt = start?.tick === tick && start.attempt === attempt ? start.retryAt : undefined;
  const before = times.length === 0 ? '' : `; it had failed at ${times.join(' and ')}`;
  if (retryAt === undefined) return before;
  return `${before}; it is tried again ${retryAt > facts.time ? 'at' : 'since'} ${words.time(retryAt)}`;
}

/** Why a run did not end by itself. The instance of one that hangs says so a while after the end of the lease. */
export function cutShort(run: RunInfo, { facts: { knownBy } }: Words): string {
  const { outcome, by, duration, error, instance, startedAt } = run;
  if (outcome !== 'aborted') {
    const isThere = knownBy.some((one) => one.instance === instance && wasUp(one, startedAt) && isUp(one));
    const why = 'the instance died, froze, or lost the store';
    const what = isThere
      ? `its lease has ended by itself: ${why}; or the run goes on, which its instance tells within two minutes`
      : `was interrupted: ${why}`;
    return `, and ${what}. How far the run got is not known.`;
  }
  const after = duration === undefined ? '' : ` after ${formatDuration(duration)}`;
  const why =
    by?.action === 'break'
      ? `${by.actor} has ended its lease${inBrackets(by.reason)}; the job itself may have gone on`
      : 'the instance was shutting down or had lost the lock';
  return `, aborted${after}, as ${why}${inBrackets(error)}.`;
}

/** Where and how long a run had the lock. */
export function whereOf({ instance, startedAt, endedAt }: RunInfo, words: Words): string {
  const on = `on ${displayName(instance)}`;
  return endedAt === undefined
    ? `${on} since ${words.time(startedAt)}`
    : `${on} from ${words.time(startedAt)} to ${words.time(endedAt)}`;
}
