import { formatDuration } from '../../base/duration.js';
import { counted } from '../../base/wording.js';
import { textOf } from '../../insight/phrases.js';
import { scheduleOf, type Times } from '../../insight/shown.js';
import type { ControlInfo, JobView, RunInfo } from '../../insight/types.js';
import type { Bit, Column } from '../board/data/tables.js';
import { type Mark, markOfJob } from '../board/data/verdict.js';
import { type Cell, type Format, type Style, table } from './table.js';

const STYLES: Readonly<Record<Mark['tone'], Style>> = {
  bad: 'red',
  doubt: 'yellow',
  going: 'cyan',
  good: 'green',
  plain: 'dim',
};

const cell = (text: string | undefined, style?: Style): Cell => ({ text: text ?? '', style });

/** A time that may not be known. */
const at = (time: number | undefined, times: Times): string => (time === undefined ? '' : times.short(time));

/** Tables for people. Times in them are short: the JSON and `why` have exact ones. */
export function columnsTable<T>(
  columns: readonly Column<T>[],
  records: readonly T[],
  times: Times,
  look: Format,
): string[] {
  const heads = columns.map(({ head }) => head.toUpperCase());
  return table(
    heads,
    records.map((one) => columns.map(({ bits }) => cellOf(bits(one), times))),
    look,
  );
}

function cellOf(bits: readonly (Bit | undefined | false)[], times: Times): Cell {
  let style: Style | undefined;
  const texts = bits.map((bit) => {
    if (typeof bit !== 'object') return bit || '';
    if ('at' in bit) return times.short(bit.at);
    style = STYLES[bit.tone];
    return bit.text;
  });
  return cell(texts.join(''), style);
}

export function jobsTable(jobs: readonly JobView[], times: Times, look: Format): string[] {
  const rows = jobs.map((job) => [
    cell(job.job, job.attention ? 'bold' : undefined),
    cellOf([markOfJob(job)], times),
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
  return run.outcome === 'running'
    ? `${start} ${run.instance}, ${tookOf(run, times)}`
    : `${start} ${run.outcome} ${tookOf(run, times)}`.trimEnd();
}

function tookOf(run: RunInfo, times: Times): string {
  if (run.outcome === 'running') return times.since(run.startedAt);
  return run.duration === undefined ? '' : formatDuration(run.duration);
}

const OUTCOME: Readonly<Record<string, Style>> = { completed: 'green', running: 'cyan' };

/** Runs, and what people did between them. */
export function runsTable(entries: readonly (RunInfo | ControlInfo)[], times: Times, look: Format): string[] {
  const rows = entries.map((entry) => ('at' in entry ? actRow(entry, times) : runRow(entry, times)));
  const heads = ['STARTED', 'JOB', 'OUTCOME', 'TOOK', 'TICK', 'TRIGGER', 'INSTANCE', 'DETAIL'];
  return table(heads, rows, look, [5]);
}

const ACTS = {
  pause: 'paused',
  resume: 'resumed',
  break: 'broken',
  run: 'run now',
  redeliver: 'redelivered',
  forget: 'forgotten',
};

/** What a person did, in the columns of a run. */
function actRow(act: ControlInfo, times: Times): Cell[] {
  const { lock, job, action, actor, reason, until, count } = act;
  const more = [
    count === undefined ? '' : counted(count, 'dead letter'),
    until === undefined ? '' : `until ${times.short(until)}`,
    reason ?? '',
  ];
  const none = cell('');
  return [
    cell(times.short(act.at)),
    cell(job ?? `lock ${lock}`),
    cell(ACTS[action], 'yellow'),
    none,
    none,
    none,
    cell(`by ${actor}`),
    cell(more.filter(Boolean).join(': ')),
  ];
}

const runRow = (run: RunInfo, times: Times): Cell[] => [
  cell(times.short(run.startedAt)),
  cell(run.job ?? `lock ${run.lock}`),
  cell(run.outcome, OUTCOME[run.outcome] ?? 'red'),
  cell(tookOf(run, times)),
  cell(`${at(run.tick, times)}${(run.attempt ?? 1) > 1 ? ` (run ${run.attempt})` : ''}`),
  cell(triggerOf(run)),
  cell(run.instance),
  cell(run.error ?? run.shortfall ?? (run.report && textOf(run.report))),
];

/** Who started a run, or ended it; else what started it, unless its schedule did. */
function triggerOf({ trigger, by }: RunInfo): string {
  if (by !== undefined) return by.action === 'break' ? `broken by ${by.actor}` : by.actor;
  return trigger === undefined || trigger === 'schedule' ? '' : trigger;
}
