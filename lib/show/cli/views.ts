import { formatDuration } from '../../base/duration.js';
import { scheduleOf, type Times } from '../../insight/shown.js';
import type { ControlInfo, InstanceInfo, JobStatus, JobView, RunInfo } from '../../insight/types.js';
import type { LockInfo } from '../../contract/lock-info.js';
import { counted } from '../../base/wording.js';
import { type Cell, type Format, type Style, table } from './table.js';

const STATUS: Readonly<Record<JobStatus, Style | undefined>> = {
  overdue: 'red',
  hung: 'red',
  failing: 'red',
  hollow: 'red',
  interrupted: 'red',
  overrun: 'yellow',
  disagree: 'yellow',
  unknown: 'yellow',
  paused: 'yellow',
  running: 'cyan',
  new: 'dim',
  off: 'dim',
  ok: 'green',
};

const cell = (text: string | undefined, style?: Style): Cell => ({ text: text ?? '', style });

/** A time that may not be known. */
const at = (time: number | undefined, times: Times): string => (time === undefined ? '' : times.short(time));

/** Tables for people. Times in them are short: the JSON and `why` have exact ones. */
export function jobsTable(jobs: readonly JobView[], times: Times, look: Format): string[] {
  const rows = jobs.map((job) => [
    cell(job.job, job.attention ? 'bold' : undefined),
    cell(statusOf(job), STATUS[job.status]),
    cell(scheduleOf(job, times.zone)),
    cell(job.last && lastOf(job.last, times)),
    cell(at(job.next, times)),
    cell(job.why?.sentence),
  ]);
  return table(['JOB', 'STATE', 'SCHEDULE', 'LAST', 'NEXT', 'WHY'], rows, look, [2, 4, 3]);
}

/** `Sat 03:00 completed 12 s`; of a run that goes on: `12:20 api-7f9:1:ab, 40 s`. */
function lastOf(run: RunInfo, times: Times): string {
  const start = times.short(run.startedAt);
  if (run.outcome === 'running') return `${start} ${run.instance}, ${times.since(run.startedAt)}`;
  return [start, run.outcome, run.duration === undefined ? '' : formatDuration(run.duration)]
    .filter(Boolean)
    .join(' ');
}

const OUTCOME: Readonly<Record<string, Style>> = { completed: 'green', running: 'cyan' };

/** Runs, and what people did between them. */
export function runsTable(entries: readonly (RunInfo | ControlInfo)[], times: Times, look: Format): string[] {
  const rows = entries.map((entry) => ('at' in entry ? actRow(entry, times) : runRow(entry, times)));
  const heads = ['STARTED', 'JOB', 'OUTCOME', 'TOOK', 'TICK', 'TRIGGER', 'INSTANCE', 'ERROR'];
  return table(heads, rows, look, [5]);
}

/** What a person did, in the columns of a run. */
function actRow(
  { at: time, lock, job, action, actor, reason, until, count }: ControlInfo,
  times: Times,
): Cell[] {
  const more = count === undefined ? [] : [counted(count, 'dead letter')];
  if (until !== undefined) more.push(`until ${times.short(until)}`);
  if (reason !== undefined) more.push(reason);
  return [
    cell(times.short(time)),
    cell(job ?? `lock ${lock}`),
    cell(ACTS[action], 'yellow'),
    cell(''),
    cell(''),
    cell(''),
    cell(`by ${actor}`),
    cell(more.join(': ')),
  ];
}

const ACTS: Readonly<Record<ControlInfo['action'], string>> = {
  pause: 'paused',
  resume: 'resumed',
  break: 'broken',
  run: 'run now',
  redeliver: 'redelivered',
  forget: 'forgotten',
};

/** Who started a run, or ended it; else what started it, unless its schedule did. */
function triggerOf({ trigger, by }: RunInfo): string {
  if (by?.action === 'break') return `broken by ${by.actor}`;
  if (by !== undefined) return by.actor;
  return trigger === undefined || trigger === 'schedule' ? '' : trigger;
}

const runRow = (run: RunInfo, times: Times): Cell[] => [
  cell(times.short(run.startedAt)),
  cell(run.job ?? `lock ${run.lock}`),
  cell(run.outcome, OUTCOME[run.outcome] ?? 'red'),
  cell(tookOf(run, times)),
  cell(`${at(run.tick, times)}${(run.attempt ?? 1) > 1 ? ` (run ${run.attempt})` : ''}`),
  cell(triggerOf(run)),
  cell(run.instance),
  cell(run.error),
];

const statusOf = ({ status, failures, sinceAtLeast }: JobView): string =>
  failures > 1 ? `${status} ×${failures}${sinceAtLeast ? ' or more' : ''}` : status;

function tookOf(run: RunInfo, times: Times): string {
  if (run.outcome === 'running') return times.since(run.startedAt);
  return run.duration === undefined ? '' : formatDuration(run.duration);
}

/** From here on a clock is worth a look, ms: a network explains less. */
const CLOCK_OFF = 1_000;

export function instancesTable(instances: readonly InstanceInfo[], times: Times, look: Format): string[] {
  const rows = instances.map((instance) => {
    const { state, clockOffset = 0 } = instance;
    return [
      cell(instance.instance),
      cell(state, state === 'up' ? 'green' : state === 'gone' ? 'red' : 'dim'),
      cell(times.short(instance.startedAt)),
      cell(times.short(instance.seenAt)),
      cell(instance.application),
      cell(instance.version),
      cell(String(instance.jobs.length)),
      cell(clockOf(clockOffset), 'yellow'),
      // An instance that is gone leads nothing any more.
      cell(state === 'up' ? instance.leads.join(', ') : ''),
    ];
  });
  const heads = [
    'INSTANCE',
    'STATE',
    'STARTED',
    'LAST SEEN',
    'APPLICATION',
    'VERSION',
    'JOBS',
    'CLOCK',
    'LEADS',
  ];
  return table(heads, rows, look);
}

/** By how much the clock of an instance differs from the store's. */
function clockOf(offset: number): string {
  if (Math.abs(offset) < CLOCK_OFF) return '';
  return `${formatDuration(Math.abs(offset))} ${offset > 0 ? 'behind' : 'ahead'}`;
}

const LOCK: Readonly<Record<LockInfo['state'], Style | undefined>> = {
  held: 'cyan',
  'cooling-down': 'yellow',
  free: undefined,
};

export function locksTable(locks: readonly LockInfo[], times: Times, look: Format): string[] {
  const rows = locks.map((lock) => [
    cell(lock.name),
    cell(lock.interrupted ? 'interrupted' : lock.state, lock.interrupted ? 'red' : LOCK[lock.state]),
    cell(at(lock.since, times)),
    cell(lock.expiresIn === undefined ? '' : formatDuration(lock.expiresIn)),
    cell(lock.job),
    // `break` needs it: it ends this lease, and no other one.
    cell(lock.state === 'held' ? lock.fencingToken?.toString() : ''),
    cell(lock.unknown === undefined ? lock.queued?.toString() : 'unknown'),
    cell(lock.dead === undefined ? '' : String(lock.dead.length), 'red'),
    cell(lock.holder),
  ]);
  const heads = ['LOCK', 'STATE', 'SINCE', 'EXPIRES IN', 'JOB', 'FENCING', 'QUEUED', 'DEAD', 'HOLDER'];
  return table(heads, rows, look);
}
