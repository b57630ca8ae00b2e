import type { Clock } from '../../base/clock.js';
import { given } from '../../base/shared.js';
import { told, used } from '../../insight/control/told.js';
import type { ControlSwitches } from '../../insight/control/control.js';
import { LockNotAcquiredError, SchedulerLockConfigError } from '../../base/errors.js';
import { Times } from '../../insight/shown.js';
import { isZone, timesIn } from '../../insight/times.js';
import { show, unknownNames } from '../../base/wording.js';
import { type Answer, errorAnswer, json } from './answer.js';
import { ownOf } from './api.js';
import { visible } from './views/frame.js';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request for a switch. */
export interface Act {
  readonly headers: Headers;
  /** Such as `jobs/pause`. */
  readonly name: string;
  readonly body: unknown;
  /** The name of the person. */
  readonly actor: () => string | Promise<string>;
}

type Fields = Readonly<Record<string, unknown>>;

interface Switch {
  readonly does: keyof ControlSwitches;
  /** What it takes in the body besides a reason. */
  readonly takes: readonly string[];
}

/** For how long the end of a run is waited for, ms: the page follows one that takes longer. */
const RUN_LIMIT = 4_000;
/** The zone of the viewer, in which the page wants its answers. */
const ZONE_HEADER = 'x-scheduler-lock-zone';

/** The switches of the page: the same functions that the service and the shell have. */
const ACTS: Readonly<Record<string, Switch>> = {
  'jobs/pause': { does: 'pause', takes: ['job', 'for'] },
  'jobs/resume': { does: 'resume', takes: ['job'] },
  'jobs/run': { does: 'runNow', takes: ['job', 'throughPause'] },
  'jobs/forget': { does: 'forget', takes: ['job'] },
  'locks/break': { does: 'break', takes: ['lock', 'fencingToken'] },
  'locks/redeliver': { does: 'redeliver', takes: ['lock', 'id'] },
};

/**
 * Whether a request comes from a page of the application itself: another site can make a browser send one with the cookies of the
 * application. A browser says where a request comes from (`Sec-Fetch-Site`); over plain HTTP it only names the origin.
 */
function isSameOrigin({ 'sec-fetch-site': site, origin, host }: Headers): boolean {
  if (site !== undefined) return site === 'same-origin';
  return typeof origin === 'string' && URL.canParse(origin) && new URL(origin).host === host;
}

const ELSEWHERE =
  'This request does not come from the page itself. Behind a proxy over plain HTTP, the proxy has to hand on the header Host.';

/** @throws SchedulerLockConfigError for what a switch does not take. The switch itself checks the rest */
function checkFields(body: Fields, takes: readonly string[]): void {
  const problems = unknownNames(body, ['reason', ...takes]);
  const { throughPause } = body;
  if (throughPause !== undefined && typeof throughPause !== 'boolean')
    problems.push(`throughPause: ${show(throughPause)} is neither true nor false.`);
  if (problems.length > 0) throw new SchedulerLockConfigError(problems);
}

/** Uses a switch for a person, and answers what happened. The caller has checked who may use switches. */
export async function act(control: ControlSwitches, clock: Clock, request: Act): Promise<Answer> {
  const { headers, body, name, actor } = request;
  const found = ownOf(ACTS, name);
  if (found === undefined) return json({ error: 'There is no such switch.' }, 404);
  if (!isSameOrigin(headers)) return json({ error: ELSEWHERE }, 403);
  const isJson = /^application\/json\b/i.test(String(headers['content-type']));
  if (!isJson || typeof body !== 'object' || body === null || Array.isArray(body))
    return json({ error: 'Send a JSON object.' }, 415);
  const { does, takes } = found;
  try {
    checkFields(body as Fields, takes);
    const wait = does === 'runNow' ? RUN_LIMIT : undefined;
    const result = await used(control, does, { ...body, ...given({ wait }), actor: await actor() });
    const { sentence, status } = told(result, shownIn(String(headers[ZONE_HEADER] ?? ''), clock));
    return json({ ...result, sentence: visible(sentence) }, status);
  } catch (error) {
    // The application shuts down.
    if (error instanceof LockNotAcquiredError) return json({ error: error.message }, 503);
    return errorAnswer(error, 'Nobody knows whether it was done, and the page shows it: ');
  }
}

/** The page names the zone of its viewer; another program gets times with a date and an offset. */
function shownIn(zone: string, clock: Clock): (time: number) => string {
  if (!isZone(zone)) return timesIn();
  const times = new Times(zone, clock.now());
  return (time) => times.said(time);
}
