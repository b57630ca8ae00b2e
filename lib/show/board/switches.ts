import type { Clock } from '../../base/clock.js';
import { type Result, told } from '../../insight/control/told.js';
import type { ControlSwitches } from '../../insight/control/types.js';
import type { Duration } from '../../base/duration.js';
import { LockNotAcquiredError, SchedulerLockConfigError, StoreUnavailableError } from '../../base/errors.js';
import { Times } from './data/shown.js';
import { timesIn } from '../../insight/times.js';
import { show, unknownNames } from '../../base/wording.js';
import { type Answer, json } from './answer.js';
import { isSameOrigin } from './same-origin.js';
import { failureText } from './shared.js';
import { isZone } from './data/question.js';

/** A request for a switch. */
export interface Act {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** What the name names. */
  readonly of: string;
  /** Absent: it is in the body, as `job` or `lock`. */
  readonly name?: string;
  readonly action: string;
  readonly body: unknown;
  /** The name of the person. */
  readonly actor: () => string | Promise<string>;
}

type Fields = Readonly<Record<string, unknown>>;

interface By {
  readonly actor: string;
  readonly reason?: string;
}

interface Switch {
  /** What it takes in the body besides a name and a reason. */
  readonly takes: readonly string[];
  /** Hands on what was given, also what cannot work: the function says what is wrong with it. */
  use(control: ControlSwitches, name: string, fields: Fields, by: By): Promise<Result>;
}

/** For how long the end of a run is waited for, ms: the page follows one that takes longer. */
const RUN_LIMIT = 4_000;
/** The zone of the viewer, in which the page wants its answers. */
const ZONE_HEADER = 'x-scheduler-lock-zone';

/** The switches of the page: the same five functions that the service and the shell have. */
const ACTS: Readonly<Record<string, Switch>> = {
  'jobs/pause': {
    takes: ['for'],
    use: (control, job, fields, by) =>
      control.pause({ job, ...reasoned(by), ...field('for', fields['for'] as Duration | undefined) }),
  },
  'jobs/resume': { takes: [], use: (control, job, _fields, by) => control.resume({ job, ...by }) },
  'jobs/run': {
    takes: ['throughPause'],
    use: (control, job, fields, by) => {
      const through = field('throughPause', checked(fields['throughPause']));
      return control.runNow({ job, ...by, ...through, wait: RUN_LIMIT });
    },
  },
  'locks/break': {
    takes: ['fencingToken'],
    use: (control, lock, fields, by) =>
      control.break({ lock, fencingToken: numberIn(fields['fencingToken']), ...reasoned(by) }),
  },
  'locks/redeliver': {
    takes: ['id'],
    use: (control, lock, fields, by) =>
      control.redeliver({ lock, ...by, ...field('id', fields['id'] as string | undefined) }),
  },
};

const reasoned = (by: By): Required<By> => ({ ...by, reason: by.reason ?? '' });

/** Nothing, if it was not given. */
const field = <N extends string, T>(name: N, value: T | undefined): { readonly [K in N]?: T } =>
  (value === undefined ? {} : { [name]: value }) as { readonly [K in N]?: T };

/** A form has a text for a box that is checked. */
function checked(value: unknown): boolean | undefined {
  if (value === 'on') return true;
  if (value === undefined || typeof value === 'boolean') return value;
  throw new SchedulerLockConfigError([`throughPause: ${show(value)} is neither true nor false.`]);
}

/** A form has a text for a number. */
const numberIn = (value: unknown): number =>
  typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : (value as number);

/** Uses a switch for a person, and answers what happened. The caller has checked who may use switches. */
export async function act(control: ControlSwitches, clock: Clock, request: Act): Promise<Answer> {
  const { headers, of, action, body } = request;
  const does = ACTS[`${of}/${action}`];
  if (does === undefined) return json({ error: 'There is no such switch.' }, 404);
  if (!isSameOrigin(headers)) return json({ error: 'This request does not come from the page itself.' }, 403);
  const isJson = /^application\/json\b/i.test(String(headers['content-type']));
  if (!isJson || typeof body !== 'object' || body === null || Array.isArray(body))
    return json({ error: 'Send a JSON object.' }, 415);
  try {
    const name = nameOf(request, body as Fields);
    const problems = unknownNames(body, [fieldOf(of), 'reason', ...does.takes]);
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
    const by = { actor: await request.actor(), ...field('reason', (body as { reason?: string }).reason) };
    const result = await does.use(control, name, body as Fields, by);
    const { sentence, status } = told(result, shownIn(String(headers[ZONE_HEADER] ?? ''), clock));
    return json({ ...result, sentence }, status);
  } catch (error) {
    return problem(error);
  }
}

/** The page names the zone of its viewer; another program gets times with a date and an offset. */
function shownIn(zone: string, clock: Clock): (time: number) => string {
  if (!isZone(zone)) return timesIn();
  const times = new Times(zone, clock.now());
  return (time) => times.said(time);
}

const fieldOf = (of: string): string => (of === 'jobs' ? 'job' : 'lock');

/** The name in the path, or in the body. */
function nameOf({ of, name: inPath }: Act, body: Fields): string {
  const what = fieldOf(of);
  const name = body[what] ?? inPath;
  if (typeof name !== 'string')
    throw new SchedulerLockConfigError([`${what}: ${show(name)} is no name. Give the name of a ${what}.`]);
  if (inPath !== undefined && name !== inPath)
    throw new SchedulerLockConfigError([`${what}: ${show(name)} is not the one in the path. Give it once.`]);
  return name;
}

function problem(error: unknown): Answer {
  if (error instanceof SchedulerLockConfigError) return json({ error: error.problems.join(' ') }, 400);
  if (error instanceof StoreUnavailableError)
    return json({ error: `Nobody knows whether it was done: ${failureText(error)} The page shows it.` }, 503);
  // The application shuts down.
  if (error instanceof LockNotAcquiredError) return json({ error: error.message }, 503);
  throw error;
}
