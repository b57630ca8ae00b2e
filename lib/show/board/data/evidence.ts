import { formatDuration } from '../../../base/duration.js';
import { starterOf } from '../../../insight/controls.js';
import { scheduleOf, type Times } from '../../../insight/shown.js';
import type { PauseInfo, RunInfo, ScheduleView, Why, WhyCause } from '../../../insight/types.js';

type Pair = readonly [name: string, value: string];

/** The facts behind an answer, as names and values. Times have a date and an offset. */
export function evidenceOf(why: Why, times: Times): Pair[] {
  const { job, tick, cause } = why;
  return [['job', job], ...timesOf({ tick }, times), ['cause', cause], ...factsOf(why, times)];
}

type Of<C extends WhyCause['cause']> = Extract<WhyCause, { readonly cause: C }>;

const FACTS: { readonly [C in WhyCause['cause']]: (cause: Of<C>, times: Times) => Pair[] } = {
  ran: ({ run }, times) => runOf(run, times),
  running: ({ run }, times) => runOf(run, times),
  hung: (cause, times) => [...runOf(cause.run, times), ...instancesOf(cause)],
  interrupted: ({ run }, times) => runOf(run, times),
  overrun: ({ run }, times) => runOf(run, times),
  'lock-taken': ({ run, holder }, times) => [
    ...(run ? runOf(run, times) : []),
    ...textsOf([['holder', holder]]),
  ],
  unlocked: (cause) => instancesOf(cause),
  'store-away': (cause, times) => [...spanOf(cause, times), ...instancesOf(cause)],
  missed: ({ reasons }, times) => reasons.map((reason) => ['instance', reasonOf(reason, times)]),
  'no-instance': (cause, times) => [...spanOf(cause, times), ...textsOf([['last instance', cause.last]])],
  paused: ({ pause }, times) => pauseEvidence(pause, times),
  off: (cause) => instancesOf(cause),
  'clocks-behind': (cause) => [['behind', formatDuration(cause.behind)], ...instancesOf(cause)],
  'schedules-differ': (cause) => schedulesOf(cause),
  'not-a-tick': (cause, times) => [
    ...timesOf({ 'tick before': cause.before, 'tick after': cause.after }, times),
    ...schedulesOf(cause),
  ],
  pending: ({ due }, times) => timesOf({ 'overdue from': due }, times),
  'unknown-job': ({ jobs }) => jobs.map((name) => ['known job', name]),
  'too-old': ({ since }, times) => timesOf({ 'kept since': since }, times),
  unknown: ({ reason }) => textsOf([['not known', reason]]),
};

function factsOf(cause: WhyCause, times: Times): Pair[] {
  const facts = FACTS[cause.cause] as (cause: WhyCause, times: Times) => Pair[];
  return facts(cause, times);
}

function reasonOf(
  { instance, reason, count, holder, since }: Of<'missed'>['reasons'][number],
  times: Times,
): string {
  const again = count > 1 ? `, ${count} times in a row` : '';
  const begun = since === undefined ? '' : `, since ${times.full(since)}`;
  return `${instance}: ${reason}${again}${begun}${holder === undefined ? '' : ` (${holder})`}`;
}

function runOf(run: RunInfo, times: Times): Pair[] {
  const { lock, job, fencingToken, attempt = 1, duration } = run;
  return [
    ...textsOf([
      ['lock', lock],
      ['run of', job],
      ['instance', run.instance],
    ]),
    ...timesOf({ 'its tick': run.tick, started: run.startedAt, ended: run.endedAt }, times),
    ...textsOf([
      ['took', duration === undefined ? undefined : formatDuration(duration)],
      ['outcome', run.outcome],
      ['trigger', run.trigger],
      ['started by', starterOf(run)?.actor],
      ['ended by', run.by?.action === 'break' ? run.by.actor : undefined],
      ['reason', run.by?.reason],
      ['attempt', attempt > 1 ? String(attempt) : undefined],
      ['fencing token', String(fencingToken)],
      ['error', run.error],
      ['trace', run.traceId],
    ]),
  ];
}

const pauseEvidence = (
  { lock, actor, reason, since, until, fencingToken }: PauseInfo,
  times: Times,
): Pair[] => [
  ...textsOf([
    ['lock', lock],
    ['paused by', actor],
    ['reason', reason],
  ]),
  ...timesOf({ since, until }, times),
  ['fencing token', String(fencingToken)],
];

function schedulesOf({ schedules }: { readonly schedules: readonly ScheduleView[] }): Pair[] {
  return schedules.map((schedule) => [
    'schedule',
    `${scheduleOf(schedule)}: ${schedule.instances.join(', ')}`,
  ]);
}

const instancesOf = ({ instances }: { readonly instances: readonly string[] }): Pair[] =>
  instances.map((name) => ['instance', name]);

const spanOf = ({ from, to }: { from?: number; to?: number }, times: Times): Pair[] =>
  timesOf({ from, to }, times);

const timesOf = (named: Readonly<Record<string, number | undefined>>, times: Times): Pair[] =>
  textsOf(
    Object.entries(named).map(([name, time]) => [name, time === undefined ? undefined : times.full(time)]),
  );

const textsOf = (pairs: readonly (readonly [string, string | undefined])[]): Pair[] =>
  pairs.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]));
