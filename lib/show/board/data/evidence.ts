import { formatDuration } from '../../../base/duration.js';
import type { MissReason } from '../../../contract/history-store.js';
import { starterOf } from '../../../insight/controls.js';
import { scheduleOf, type Times } from '../../../insight/shown.js';
import type { PauseInfo, RunInfo, ScheduleView, Why } from '../../../insight/types.js';

/** What an instance has noted of a tick that nobody started. */
interface Note {
  readonly instance: string;
  readonly reason: MissReason['reason'];
  readonly count: number;
}

export const noteText = ({ instance, reason, count }: Note): string =>
  `${reason} on ${instance}${count > 1 ? `, ${count} in a row` : ''}`;

/** What the causes of answers rest on. */
interface Facts {
  readonly tick?: number;
  readonly cause: string;
  readonly run?: RunInfo;
  readonly pause?: PauseInfo;
  readonly schedules?: readonly ScheduleView[];
  readonly reasons?: readonly Note[];
  readonly instances?: readonly string[];
}

type Named = Readonly<Record<string, string | undefined>>;

/** The facts behind an answer, as names and values. Times have a date and an offset. */
export function evidenceOf(why: Why, times: Times): (readonly [name: string, value: string])[] {
  const { tick, cause, run, pause, schedules = [], instances = [], reasons = [] }: Facts = why;
  const at = (time: number | undefined): string => (time === undefined ? '' : times.full(time));
  const named: Named = {
    tick: at(tick),
    cause,
    ...(run && runOf(run, at)),
    ...(pause && {
      'paused by': pause.actor,
      reason: pause.reason,
      since: at(pause.since),
      until: at(pause.until),
    }),
    schedules: schedules.map((each) => `${scheduleOf(each)}: ${each.instances.join(', ')}`).join('; '),
    noted: reasons.map(noteText).join('; '),
    instances: instances.join(', '),
  };
  return Object.entries(named).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
}

function runOf(run: RunInfo, at: (time: number | undefined) => string): Named {
  const { attempt = 1, duration, by } = run;
  return {
    'run of': run.job,
    lock: run.lock,
    instance: run.instance,
    started: at(run.startedAt),
    ended: at(run.endedAt),
    took: duration === undefined ? '' : formatDuration(duration),
    outcome: run.outcome,
    trigger: run.trigger,
    'started by': starterOf(run)?.actor,
    'ended by': by?.action === 'break' ? by.actor : '',
    reason: by?.reason,
    attempt: attempt > 1 ? String(attempt) : '',
    'fencing token': String(run.fencingToken),
    error: run.error,
    trace: run.traceId,
  };
}
