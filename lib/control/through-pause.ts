import { StoreUnavailableError } from '../errors.js';
import { pauseNow } from '../insight/controls.js';
import type { LockInfo } from '../stores/lock-info.js';
import { type PausedBy, readPause } from '../stores/pause.js';
import { actOf, type Desk, EVERY } from './desk.js';
import { entriesOf, liftedPause, wasResumed } from './lifts.js';
import { endPause, Place } from './pause.js';
import type { RunRequest } from './types.js';

const HOUR = 3_600_000;

/** A call that is queued to run through a pause. */
interface Through {
  readonly lock: string;
  /** Of the queued call. */
  readonly id: string;
  /** How long to look for an instance that takes it, monotonic. */
  readonly deadline: number;
  readonly request: Pick<RunRequest, 'actor' | 'job'>;
  /** The holder text of the pause. */
  readonly holder: string;
  /** Whether its run has begun. */
  readonly hasBegun: () => Promise<boolean>;
}

/**
 * Lifts a pause for a call, and puts it back behind that: the same pause stands in line, behind whoever takes the call, before the first
 * one is given up. So nobody else comes in between, as long as this process lives.
 *
 * @returns whether the pause is in force again; `undefined` if it was not lifted: nobody takes the call, or somebody else has ended it
 */
export async function liftPause(desk: Desk, through: Through): Promise<boolean | undefined> {
  for (;;) {
    const found = await tryOnce(desk, through);
    if (found !== 'again') return found;
    if (desk.clock.monotonic() >= through.deadline) return undefined;
    await desk.sleep(EVERY);
  }
}

async function tryOnce(desk: Desk, through: Through): Promise<boolean | undefined | 'again'> {
  const info = await desk.look(through.lock);
  if (info?.holder !== through.holder || pauseNow(info) === undefined) {
    // Who runs the job through the pause, too, puts that back first. Otherwise somebody has resumed it.
    const lifted = liftedPause(await entriesOf(desk, through.lock), info?.time ?? 0);
    return lifted === undefined ? undefined : 'again';
  }
  // It may have run when another person lifted the pause.
  if (await through.hasBegun()) return true;
  const lifted = await lift(desk, through, info);
  if (lifted === undefined) return 'again';
  const isBack = await takeBack(desk, lifted);
  // Another person may have stood in line for theirs: then nobody has taken the call, and the pause is there again at once.
  return isBack && !(await through.hasBegun()) ? 'again' : isBack;
}

/** A pause that was lifted. */
interface Lifted {
  readonly lock: string;
  readonly holder: string;
  readonly pause: PausedBy;
  /** When, by the store's clock, epoch ms. */
  readonly since: number;
  /** How much that clock is ahead of the one here, ms. */
  readonly offset: number;
  /** Where the same pause stands in line. */
  readonly place: Place;
}

/** @returns `undefined` if nobody takes the call yet, or somebody else has ended the pause */
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
    // Instances look for calls of a lock if nobody in its line has their priority: who stands there by now takes this one.
    isLifted = !acquired && place.ahead > 0 && (await mayHaveEnded(endPause(desk, info, now, by)));
    return isLifted ? { lock, holder, pause, since: info.time, offset, place } : undefined;
  } finally {
    if (!isLifted) await place.leave();
  }
}

/** An answer that is lost leaves open whether the pause was ended: then it is to come back. */
const mayHaveEnded = (ended: Promise<boolean>): Promise<boolean> =>
  ended.catch((error: unknown) => {
    if (error instanceof StoreUnavailableError) return true;
    throw error;
  });

const placeOf = (desk: Desk, { lock, pause, offset }: Pick<Lifted, 'lock' | 'pause' | 'offset'>): Place =>
  new Place(desk, { lock, ...pause }, offset, desk.clock.monotonic() + HOUR);

/**
 * Asks until the lock is there again, whatever the store does meanwhile; unless the time of the pause is over, or somebody resumes the job.
 *
 * @returns whether the pause is in force again
 */
async function takeBack(desk: Desk, lifted: Lifted): Promise<boolean> {
  const { lock, holder, pause, since, offset } = lifted;
  let { place } = lifted;
  while (desk.clock.now() + offset < pause.until) {
    try {
      const result = await place.ask();
      if (result.acquired) {
        // Who resumes notes it first and looks then, so one of both sees the other.
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
        // Another person who runs the job through the pause has put it back, or it was never lifted.
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
    await desk.sleep(EVERY);
  }
  await place.leave();
  return false;
}
