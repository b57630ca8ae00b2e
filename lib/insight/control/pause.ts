import { newId } from '../../base/shared.js';
import { StoreUnavailableError } from '../../base/errors.js';
import { pauseNow } from '../controls.js';
import { grantedAt } from '../join.js';
import type { PauseInfo } from '../types.js';
import type { ControlAct } from '../../contract/history-store.js';
import type { AcquireRequest, AcquireResult } from '../../contract/lock-store.js';
import { processOf } from '../../contract/line.js';
import { pauseHolder, readPause } from '../../contract/pause.js';
import { Given, MAX_PAUSE, USUAL_PAUSE } from './check.js';
import { actOf, type Desk, EVERY, type Found } from './desk.js';
import { oneByOne } from './one-by-one.js';
import type { PauseRequest, PauseResult } from './types.js';

const HOUR = 3_600_000;
const SECOND = 1_000;
/** The greatest priority: a pause goes before all calls in line. */
export const GREATEST = 100;

/**
 * A place in line for a lock that a person is to hold. It asks with the same token each time, so a lost answer costs nothing.
 * The caller must keep asking, or leave.
 */
export class Place {
  readonly #token = newId();
  readonly #process: string;
  readonly #holder: string;
  #place: number | undefined;
  #leaseEnds = -Infinity;
  /** How many stand before it, as of the last answer. */
  ahead = 0;

  /**
   * @param until when the pause ends, by the store's clock, epoch ms, whole seconds
   * @param holder how the lease is shown; only a text of a pause makes it one
   * @param offset by how much the store's clock is ahead of this machine's, ms
   */
  constructor(
    private readonly desk: Desk,
    private readonly pause: Pick<PauseInfo, 'lock' | 'actor' | 'reason' | 'until'>,
    private readonly offset: number,
    private readonly deadline: number,
    holder = pauseHolder(pause),
  ) {
    this.#holder = holder;
    this.#process = processOf(holder);
  }

  /** Whether its wait is over. */
  get isOver(): boolean {
    return this.desk.clock.monotonic() >= this.deadline;
  }

  /** Asks for the lock. Notes an interruption of the lease before, as an instance would. */
  async ask(): Promise<AcquireResult> {
    const { desk } = this;
    const result = await desk.ask(desk.store.acquire(this.#request()));
    if (result.acquired) {
      if (result.interrupted !== undefined)
        await desk
          .ask(desk.history.interrupted({ name: this.pause.lock, kept: desk.kept, ...result.interrupted }))
          .catch(() => undefined);
      return result;
    }
    const { waiting, holder, expiresIn = 0 } = result;
    this.#place = waiting?.place ?? this.#place;
    this.ahead = waiting?.ahead ?? 0;
    if (holder !== undefined) this.#leaseEnds = desk.clock.monotonic() + expiresIn;
    return result;
  }

  /** The pause, once it was granted. */
  granted(fencingToken: number): PauseInfo {
    return { ...this.pause, since: grantedAt(fencingToken), fencingToken };
  }

  /** Notes the pause once it was granted. If that fails, the lease shows the pause, and later its end. */
  async note(fencingToken: number, by: ControlAct): Promise<void> {
    const { desk } = this;
    const entry = { name: this.pause.lock, fencingToken, holder: this.#holder, kept: desk.kept, by };
    await desk.ask(desk.history.interrupted(entry)).catch(() => undefined);
  }

  /** Leaves the line, and gives back the lease that the store may have granted. */
  async giveBack(): Promise<void> {
    const lease = { ...this.#request(), fencingToken: 0 };
    await this.desk.ask(this.desk.store.release(lease, { outcome: 'abandoned' }));
  }

  /** Leaves the line if the store answers. Otherwise the line passes over this call soon. */
  leave(): Promise<void> {
    return this.giveBack().catch(() => undefined);
  }

  #request(): AcquireRequest {
    const { clock, store } = this.desk;
    const now = clock.monotonic();
    const left = this.#leaseEnds - now;
    // After a long wait the pause still ends at the time that was asked for.
    const ttl = Math.max(SECOND, Math.min(MAX_PAUSE, this.pause.until - this.offset - clock.now()));
    const wait = {
      limit: Math.max(1, Math.ceil(this.deadline - now)),
      priority: GREATEST,
      process: this.#process,
      ...(this.#place !== undefined && { place: this.#place }),
      ...(left > 0 && { notBefore: Math.ceil(left) }),
    };
    return {
      name: this.pause.lock,
      token: this.#token,
      ttl,
      holder: this.#holder,
      history: true,
      // In a store without lines it competes with all other calls.
      ...(store.keeps.lines && { wait }),
    };
  }
}

/** Takes the lock for a person, after its holder. */
export async function pause(desk: Desk, request: PauseRequest): Promise<PauseResult> {
  const given = new Given('pause()');
  given.target(request);
  given.actor(request.actor);
  given.reason(request.reason, true);
  const length = given.duration('for', request.for, { usual: USUAL_PAUSE, most: MAX_PAUSE });
  const wait = given.duration('wait', request.wait, { usual: HOUR, most: HOUR });
  given.done();
  const found = await desk.find(request);
  if ('result' in found) return found;
  const { lock } = found;
  const deadline = desk.clock.monotonic() + wait;
  const onWaiting = async (): Promise<void> => request.onWaiting?.((await desk.look(lock))?.holder);
  const done = await oneByOne(desk, lock, { deadline, signal: request.signal, onWaiting }, () =>
    pauseFor(desk, found, { request, length, deadline }),
  );
  return done ?? held(lock, (await desk.look(lock))?.holder);
}

interface ToPause {
  readonly request: PauseRequest;
  /** How long it is to last, ms. */
  readonly length: number;
  /** When its wait in line is over, monotonic. */
  readonly deadline: number;
}

async function pauseFor(
  desk: Desk,
  { lock, jobs }: Found,
  { request, length, deadline }: ToPause,
): Promise<PauseResult> {
  const info = await desk.look(lock);
  const known = pauseNow(info);
  if (info !== undefined && known !== undefined)
    return { result: 'paused-already', pause: known, jobs, time: info.time };
  const now = desk.timeOf(info) ?? (await timeByLease(desk, lock, request));
  const until = Math.ceil(Math.min(now + length, now + MAX_PAUSE - SECOND) / SECOND) * SECOND;
  const { actor, reason } = request;
  const place = new Place(
    desk,
    { lock, actor, reason, until },
    now - desk.clock.now(),
    // If the lock is not free by then, there is nothing left to pause.
    Math.min(deadline, desk.clock.monotonic() + until - now),
  );
  try {
    const result = await standInLine(desk, lock, place, request);
    if (result.acquired) {
      const taken = place.granted(result.fencingToken);
      const act = actOf('pause', request);
      await place.note(result.fencingToken, act);
      desk.tell(lock, act, { fencingToken: result.fencingToken, until });
      return { result: 'paused', pause: taken, jobs };
    }
    await place.leave();
    const other = readPause(result.holder) && (await desk.pauseOf(lock));
    if (other) return { result: 'paused-already', ...other, jobs };
    return held(lock, result.holder);
  } catch (error) {
    await place.leave();
    throw error;
  }
}

/**
 * The store's time where it knows neither the lock nor an instance: the fencing token of a lease has it. That lease is given back at once,
 * and is no pause for whoever sees it meanwhile.
 * The time of this machine would not do: if its clock is wrong, the pause would end at the wrong time.
 */
async function timeByLease(desk: Desk, lock: string, { actor }: PauseRequest): Promise<number> {
  const now = Math.ceil(desk.clock.now() / SECOND) * SECOND;
  const look = { lock, actor, until: now + SECOND };
  const place = new Place(
    desk,
    look,
    0,
    desk.clock.monotonic() + SECOND,
    `asks for the time: ${pauseHolder(look)}`,
  );
  let result;
  try {
    result = await place.ask();
  } finally {
    await place.leave();
  }
  return result.acquired ? grantedAt(result.fencingToken) : (desk.timeOf(await desk.look(lock)) ?? now);
}

const held = (lock: string, holder: string | undefined): PauseResult => ({
  result: 'held',
  lock,
  ...(holder !== undefined && { holder }),
});

/** Asks until the lock is granted, the wait is over, or another person has it. */
async function standInLine(
  desk: Desk,
  lock: string,
  place: Place,
  { signal, onWaiting }: Pick<PauseRequest, 'signal' | 'onWaiting'>,
): Promise<AcquireResult> {
  for (let asked = 0; ; asked++) {
    desk.checkWait(lock, signal);
    const result = await place.ask().catch((error: unknown): undefined => {
      // Keeps its place, and asks again: the store may be away for a moment.
      if (asked === 0 || place.isOver || !(error instanceof StoreUnavailableError)) throw error;
    });
    if (result?.acquired === true) return result;
    if (result !== undefined && (readPause(result.holder) !== undefined || place.isOver)) return result;
    if (asked === 0) onWaiting?.(result?.holder);
    await desk.sleep(EVERY, { signal });
  }
}
