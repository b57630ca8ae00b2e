import { type Clock, noLongerThan } from '../clock.js';
import { type Result, told } from '../control/told.js';
import type { ControlSwitches } from '../control/types.js';
import type { Duration } from '../duration.js';
import { LockNotAcquiredError, SchedulerLockConfigError, StoreUnavailableError } from '../errors.js';
import { timesIn } from '../insight/times.js';
import { show } from '../wording.js';
import { type Answer, json } from './answer.js';
import { isSameOrigin } from './same-origin.js';
import { failureText } from './snapshots.js';

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

/** For how long a browser waits for an answer, ms. After that, a pause still waits in line. */
const PATIENCE = 5_000;

/** The switches of the page: the same five functions that the service and the shell have. */
const ACTS: Readonly<
  Record<string, (control: ControlSwitches, name: string, fields: Fields, by: By) => Promise<Result>>
> = {
  'jobs/pause': (control, job, fields, by) => control.pause({ job, ...reasoned(by), ...lasting(fields) }),
  'jobs/resume': (control, job, _fields, by) => control.resume({ job, ...by }),
  'jobs/run': (control, job, fields, by) =>
    control.runNow({
      job,
      ...by,
      throughPause: fields['throughPause'] === true || fields['throughPause'] === 'on',
    }),
  'locks/break': (control, lock, fields, by) =>
    control.break({ lock, fencingToken: Number(fields['fencingToken']), ...reasoned(by) }),
  'locks/redeliver': (control, lock, fields, by) =>
    control.redeliver({ lock, ...by, ...(typeof fields['id'] === 'string' && { id: fields['id'] }) }),
};

const reasoned = (by: By): Required<By> => ({ ...by, reason: by.reason ?? '' });

const lasting = (fields: Fields): { for?: Duration } =>
  typeof fields['for'] === 'string' ? { for: fields['for'] as Duration } : {};

/** Uses a switch for a person, and answers what happened. The caller has checked who may use switches. */
export async function act(control: ControlSwitches, clock: Clock, request: Act): Promise<Answer> {
  const { headers, of, action, body } = request;
  const does = ACTS[`${of}/${action}`];
  if (does === undefined) return json({ error: 'There is no such switch.' }, 404);
  if (!isSameOrigin(headers)) return json({ error: 'This request does not come from the page itself.' }, 403);
  const isJson = /^application\/json\b/i.test(String(headers['content-type']));
  if (!isJson || typeof body !== 'object' || body === null)
    return json({ error: 'Send a JSON object.' }, 415);
  try {
    const actor = await request.actor();
    const { reason } = body as Fields;
    const by = { actor, ...(typeof reason === 'string' && { reason }) };
    const name = request.name ?? nameIn(of, body as Fields);
    const done = does(control, name, body as Fields, by);
    const result = await noLongerThan(PATIENCE, done, clock, { keepAlive: true });
    // An error after this time is in no answer.
    done.catch(() => undefined);
    if (result === undefined)
      return json(
        {
          result: 'waiting',
          sentence:
            'It is not done yet: somebody has the lock, or it still runs. The page shows when it is done.',
        },
        202,
      );
    const { sentence, status } = told(result, timesIn());
    return json({ ...result, sentence }, status);
  } catch (error) {
    return problem(error);
  }
}

function nameIn(of: string, body: Fields): string {
  const field = of === 'jobs' ? 'job' : 'lock';
  const name = body[field];
  if (typeof name === 'string') return name;
  throw new SchedulerLockConfigError([`${field}: ${show(name)} is no name. Give the name of a ${field}.`]);
}

function problem(error: unknown): Answer {
  if (error instanceof SchedulerLockConfigError) return json({ error: error.problems.join(' ') }, 400);
  if (error instanceof StoreUnavailableError)
    return json({ error: `Nobody knows whether it was done: ${failureText(error)} The page shows it.` }, 503);
  // The application shuts down.
  if (error instanceof LockNotAcquiredError) return json({ error: error.message }, 503);
  throw error;
}
