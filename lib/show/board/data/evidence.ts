import { formatDuration } from '../../../base/duration.js';
import { starterOf } from '../../../insight/controls.js';
import { scheduleOf, type Times } from './shown.js';
import type { PauseInfo, RunInfo, ScheduleView, Why } from '../../../insight/types.js';

type Pair = readonly [name: string, value: string];

/** What the causes of answers rest on. */
interface Facts extends Pick<Why, 'job' | 'tick'> {
  readonly run?: RunInfo;
  readonly pause?: PauseInfo;
  readonly schedules?: readonly ScheduleView[];
  readonly reasons?: readonly {
    readonly instance: string;
    readonly reason: string;
    readonly count: number;
  }[];
  readonly instances?: readonly string[];
}

/** The facts behind an answer, as names and values. Times have a date and an offset. */
export function evidenceOf(why: Why, times: Times): Pair[] {
  const { tick, run, pause, schedules = [], instances = [], reasons = [] }: Facts = why;
  return [
    ...known({ tick: tick === undefined ? undefined : times.full(tick), cause: why.cause }),
    ...(run === undefined ? [] : runOf(run, times)),
    ...(pause === undefined ? [] : pauseOf(pause, times)),
    ...schedules.map((each): Pair => ['schedule', `${scheduleOf(each)}: ${each.instances.join(', ')}`]),
    ...reasons.map(({ instance, reason, count }): Pair => [
      instance,
      `${reason}${count > 1 ? `, ${count} times in a row` : ''}`,
    ]),
    ...known({ instances: instances.length === 0 ? undefined : instances.join(', ') }),
  ];
}

function runOf(run: RunInfo, times: Times): Pair[] {
  const { attempt = 1, duration, endedAt, by } = run;
  return known({
    'run of': run.job,
    lock: run.lock,
    instance: run.instance,
    started: times.full(run.startedAt),
    ended: endedAt === undefined ? undefined : times.full(endedAt),
    took: duration === undefined ? undefined : formatDuration(duration),
    outcome: run.outcome,
    trigger: run.trigger,
    'started by': starterOf(run)?.actor,
    'ended by': by?.action === 'break' ? by.actor : undefined,
    reason: by?.reason,
    attempt: attempt > 1 ? String(attempt) : undefined,
    'fencing token': String(run.fencingToken),
    error: run.error,
    trace: run.traceId,
  });
}

const pauseOf = ({ actor, reason, since, until }: PauseInfo, times: Times): Pair[] =>
  known({ 'paused by': actor, reason, since: times.full(since), until: times.full(until) });

const known = (named: Readonly<Record<string, string | undefined>>): Pair[] =>
  Object.entries(named).flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]));
