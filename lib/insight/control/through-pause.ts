import { StoreUnavailableError } from '../../base/errors.js';
import { pauseNow } from '../controls.js';
import type { LockInfo } from '../../contract/lock-info.js';
import { type PausedBy, readPause } from '../../contract/pause.js';
import { actOf, type Desk, EVERY } from './desk.js';
import { entriesOf, liftedPause, wasResumed } from './lifts.js';
import { Place } from './pause.js';
import { endPause } from './resume.js';
import type { RunRequest } from './types.js';

const HOUR = 3_600_000;

/** A call that is queued to run through a pause. */
interface Through {
  readonly lock: string;
  /** The id of the queued call. */
  readonly id: string;
  /** Until when to look for an instance that takes the call, monotonic. */
  readonly deadline: number;
  readonly request: Pick<RunRequest, 'actor' | 'job'>;
  /** The holder text of the pause. */
  readonly holder: string;
  /** Whether its run has begun. */
  readonly hasBegun: () => Promise<boolean>;
}

/**
 * Lifts a pause for one call, and puts it back after that call: before the pause is given up, the same pause stands in line behind the
 * instance that takes the call. So nobody else comes in between, as long as this process lives.
 *
 * @returns whether the pause is in force again; `undefined` if it was not lifted: no instance takes the call, or another person has ended
 *   the pause
 */
export async function liftPause(desk: Desk, through: Through): Promise<boolean | undefined> {
  for (;;) {
    const found = await tryOnce(desk, through);
    if (found !== 'again') return found;
    if (desk.clock.monotonic() >= through.deadline || desk.closing.begun.aborted) return undefined;
    await desk.sleep(EVERY);
  }
}

async function tryOnce(desk: Desk, through: Through): Promise<boolean | undefined | 'again'> {
  const info = await desk.look(through.lock);
  if (info?.holder !== through.holder || pauseNow(info) === undefined) {
    // Another person runs the job through the pause, and puts it back first; or somebody has resumed the job.
    const lifted = liftedPause(await entriesOf(desk, through.lock), info?.time ?? 0);
    return lifted === undefined ? undefined : 'again';
  }
  // The call may have run when another person lifted the pause.
  if (await through.hasBegun()) return true;
  // Nobody would put it back.
  if (desk.closing.begun.aborted) return undefined;
  const lifted = await lift(desk, through, info);
  if (lifted === undefined) return 'again';
  const isBack = await takeBack(desk, lifted);
  // If another person's pause stood in line for their own call, no instance has taken this one, and the pause is back at once.
  return isBack && !(await through.hasBegun()) ? 'again' : isBack;
}

/** A pause that was lifted. */
interface Lifted {
  readonly lock: string;
  readonly holder: string;
  readonly pause: PausedBy;
  /** When it was lifted, by the store's clock, epoch ms. */
  readonly since: number;
  /** By how much the store's clock is ahead of this machine's, ms. */
  readonly offset: number;
  /** Where the same pause stands in line. */
  readonly place: Place;
}

/** @returns `undefined` if no instance takes the call yet, or another person has ended the pause */
async function lift(
  desk: Desk,
  { lock, id, request, holder }: Through,
  info: LockInfo,
): Promise<Lifted | undefined> {
  const now = pauseNow(info);
  const pause = readPause(holder);
  if (now === undefined || pause === undefined) return undefined;
  const offset = info.time - desk.clock.now();
  const place = placeOf(desk, { lock, pause, offset });
  const by = { actor: request.actor, reason: `for one run of ${request.job}`, call: id };
  let isLifted = false;
  try {
    const { acquired } = await place.ask();
    // A worker with the priority of the call enters the line of a lock: if one is there by now, it takes this call.
    isLifted = !acquired && place.ahead > 0 && (await mayHaveEnded(endPause(desk, info, now, by)));
    return isLifted ? { lock, holder, pause, since: info.time, offset, place } : undefined;
  } finally {
    if (!isLifted) await place.leave();
  }
}

/** If the answer is lost, the pause may have ended: then it has to come back. */
const mayHaveEnded = (ended: Promise<boolean>): Promise<boolean> =>
  ended.catch((error: unknown) => {
    if (error instanceof StoreUnavailableError) return true;
    throw error;
  });

const placeOf = (desk: Desk, { lock, pause, offset }: Pick<Lifted, 'lock' | 'pause' | 'offset'>): Place =>
  new Place(desk, { lock, ...pause }, offset, desk.clock.monotonic() + HOUR);

/**
 * Asks until the pause has the lock again, also through outages of the store. Ends early if the pause has run out, or a person resumes
 * the job. A shutdown waits for it as for a run; at the end of that it asks once more, and leaves the line.
 *
 * @returns whether the pause is in force again
 */
async function takeBack(desk: Desk, lifted: Lifted): Promise<boolean> {
  const { lock, holder, pause, since, offset } = lifted;
  const { over } = desk.closing;
  let { place } = lifted;
  while (desk.clock.now() + offset < pause.until) {
    const isLast = over.aborted;
    try {
      const result = await place.ask();
      if (result.acquired) {
        // A person who resumes writes the note first, and then looks for the pause: so one of the two sees the other.
        if (wasResumed(await entriesOf(desk, lock), since)) {
          await place.giveBack();
          return false;
        }
        const act = actOf('pause', pause);
        await place.note(result.fencingToken, act);
        desk.tell(lock, act, { fencingToken: result.fencingToken, until: pause.until });
        return true;
      }
      if (result.holder === holder) {
        // Another person who runs the job through the pause has put the pause back, or it was never lifted.
        await place.leave();
        return true;
      }
      if (place.isOver) {
        await place.leave();
        place = placeOf(desk, lifted);
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
    if (isLast) break;
    await desk.sleep(EVERY, { end: over });
  }
  await place.leave();
  return false;
}
