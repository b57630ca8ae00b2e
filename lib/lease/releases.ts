import type { Clock, Timer } from '../clock.js';
import { LockStateError, StoreUnavailableError } from '../errors.js';
import type { AcquireResult, LeaseRef, ReleaseResult } from '../stores/lock-store.js';
import type { Reply } from '../stores/replying-store.js';
import type { SafeStore } from '../store-access/safe-store.js';
import { Beats } from './beats.js';
import { List } from '../store-access/list.js';
import type { Outages } from '../store-access/outages.js';
import { type Answered, Release, type ReleaseFacts } from './release.js';
import type { TimeLimits } from '../store-access/time-limits.js';

/** The part of the ttl after which a release is tried again: a beat. */
const BEAT = 0.3;
/**
 * The longest that an acquire can be on its way, ms: TCP gives up on data that it cannot deliver after a quarter of an hour.
 */
const LONGEST_WAY = 1_200_000;
/** While the store does not answer, one release is tried at least this often, ms. */
const PROBE = 10_000;
/** The longest pause between two tries of a release that the store leaves unsettled while it answers others, ms. */
const LONGEST_PAUSE = 30_000;
/**
 * How many releases are tried again at a time: as many as a store answers in no time. Renewals must not wait behind thousands.
 */
const WINDOW = 250;
/** How many releases are kept for another try. A caller can make up a name per call. */
const MAX_KEPT = 50_000;

/** Whether a call that failed has certainly changed nothing. */
export function wasNotApplied(error: unknown): boolean {
  return (
    error instanceof LockStateError ||
    (error instanceof StoreUnavailableError && error.outcome === 'not-applied')
  );
}

/** An acquire that may have been carried out. */
interface FailedAcquire {
  readonly pending: Reply<AcquireResult>;
  readonly error: Error;
  /** Whether it records the start of a job. */
  readonly isStart: boolean;
}

/**
 * Releases leases, and goes on trying until the store has answered.
 *
 * The store may carry out an unanswered acquire at any later time: its bytes may lie in a buffer that the store has not read
 * yet. So its release is not over when it finds nothing. The bytes do not lie there for ever. If the release came over the
 * same connection, the acquire was before it. It may also come over another connection: a newer one, another one of a pool, or
 * for a lock of a Cluster the one to its node. Then an answer proves that the store works again, and a store that works reads
 * the data that has arrived. So the release is over when the store answers it once more, one ttl after the first answer. Time
 * without an answer counts for nothing: the store may be frozen with the acquire in its buffer.
 *
 * While the store does not answer, only one release is tried, now and then. When that one is answered, the others follow.
 */
export class Releases {
  /** Releases whose last try was not answered, longest ago first. */
  readonly #waiting = new List<Release>();
  /** Releases that were answered, but have to be tried again. */
  readonly #beats: Beats;
  /** The unanswered release of each lock, by its name. */
  readonly #unanswered = new Map<string, Release>();
  /** How many releases wait for their next try. */
  #kept = 0;
  /** How many of the tries under way are repeats. */
  #retrying = 0;
  #probe: Timer | undefined;
  #closed = false;
  #stopped = false;

  constructor(
    private readonly store: SafeStore,
    private readonly clock: Clock,
    private readonly outages: Outages,
    private readonly limits: TimeLimits,
  ) {
    this.#beats = new Beats(clock, (release) => {
      this.#take(release);
      if (this.#retrying < WINDOW) this.#try(release);
      else this.#wait(release);
    });
  }

  /**
   * Releases the lease of a job that has ended.
   *
   * @param now monotonic
   * @param told receives the store's answer to the first try
   */
  release(facts: ReleaseFacts, now: number, told: Answered): void {
    const release = new Release(facts, this.#tried, this.#triedBefore);
    release.told = told;
    this.#try(release, now);
  }

  /**
   * Undoes an acquire that nothing uses: one that was granted too late, or that may have been carried out although it failed.
   *
   * @param limit of one call, ms
   * @param failed the acquire and its error, if its outcome is unknown
   */
  abandon(ref: LeaseRef, limit: number, failed?: FailedAcquire): void {
    const release = new Release(
      { ref, outcome: 'abandoned', keepUntil: 0, limit },
      this.#tried,
      this.#triedBefore,
    );
    release.ambiguous = failed !== undefined;
    this.#unanswered.set(ref.name, release);
    this.#try(release);
    failed?.pending.tell(
      (result) => {
        // A client may have sent it twice. Then its own start can refuse it, if the lease ran out in between.
        if (!result.acquired && !failed.isStart) return this.#end(release);
        const fencingToken = result.acquired ? result.fencingToken : ref.fencingToken;
        release.facts = { ...release.facts, ref: { ...ref, fencingToken } };
        release.ambiguous = false;
        release.over = false;
        if (release.underWay) release.again = true;
        else this.#try(release);
      },
      (error) => {
        if (error === failed.error) return;
        // That the store refuses a second copy says nothing of the first one.
        if (wasNotApplied(error) && !failed.isStart) return this.#end(release);
        // The acquire had been given up, and may have been carried out at any time until now.
        release.answeredAt = undefined;
        if (!release.over && !release.underWay && !this.#closed) this.#try(release);
      },
    );
  }

  /**
   * Tries the unanswered release of this lock, if there is one. It has to come before the next acquire of the lock. Otherwise
   * the lease that this process has left behind refuses that acquire.
   *
   * @returns `undefined` at once if there is nothing to try; otherwise a promise of the try's outcome: the error if the store
   *   is away or has not settled an earlier try, else `undefined`
   */
  tryFirst(name: string): Promise<Error | undefined> | undefined {
    const release = this.#unanswered.size === 0 ? undefined : this.#unanswered.get(name);
    if (release === undefined) return undefined;
    if (!release.underWay && !this.#mayTry(release)) return Promise.resolve(unsettled(name));
    return new Promise((resolve) => {
      release.told = (_, error) => resolve(isSilence(error) ? error : undefined);
      if (!release.underWay) this.#try(release);
    });
  }

  /** A connection is back: tries the unanswered releases again, whatever became of their earlier tries. */
  reconnected(): void {
    this.#retry(() => true);
  }

  /** Tries the unanswered releases again, as many as the window lets through. */
  #retry(may: (release: Release) => boolean): void {
    let release = this.#waiting.first;
    while (release !== undefined && this.#retrying < WINDOW) {
      const { next } = release;
      if (may(release)) this.#try(release);
      release = next;
    }
  }

  /** Whether the store has answered other calls since the release was last tried. */
  #isPassedOver({ answersBefore }: Release): boolean {
    return answersBefore !== this.outages.answers;
  }

  /**
   * Whether a release is not stuck: its last try has been settled, or nothing else was answered since. One that is stuck waits
   * for a row that another client has locked, and each further try would take one more connection of the pool.
   */
  #mayTry(release: Release): boolean {
    const { unsettled, sentAt } = release;
    if (unsettled === 0 || !this.#isPassedOver(release)) return true;
    return this.clock.monotonic() >= sentAt + Math.min(PROBE * 2 ** (unsettled - 1), LONGEST_PAUSE);
  }

  /** Tries each release one last time. */
  close(): void {
    this.#closed = true;
    this.#probe?.cancel();
    for (const release of [...this.#waiting.toArray(), ...this.#beats.stop()]) this.#try(release);
  }

  /** Sends nothing any more: the store is about to be closed. */
  stop(): void {
    this.#stopped = true;
  }

  #try(release: Release, now = this.clock.monotonic()): void {
    if (this.#stopped) return;
    this.#take(release);
    release.underWay = true;
    release.sentAt = now;
    release.answersBefore = this.outages.answers;
    release.retried = release.tries > 0;
    if (release.retried) this.#retrying += 1;
    const { ref, outcome, keepUntil, limit } = release.facts;
    const keepFor = Math.max(0, Math.ceil(keepUntil - now));
    this.limits.watch(this.store.release(ref, { outcome, keepFor }), limit, release, now);
  }

  readonly #tried = (release: Release, answer: ReleaseResult | Error): void => {
    const { name } = release.facts.ref;
    const error = answer instanceof Error ? answer : undefined;
    const result = answer instanceof Error ? undefined : answer;
    const { unanswered, retried, told } = release;
    if (error === undefined) this.outages.succeeded('release', name);
    else if (retried && isSilence(error) && this.#isPassedOver(release)) this.outages.failedAgain();
    else this.outages.failed(error, { call: 'release', locks: [name] });
    if (retried) this.#retrying -= 1;
    release.underWay = false;
    // A store that reports a broken entry of this lock has answered.
    release.unanswered = error !== undefined && !(error instanceof LockStateError);
    if (this.#isOver(release, result)) this.#leave(release);
    else if (release.again) {
      release.again = false;
      this.#try(release);
    } else if (release.unanswered) this.#wait(release);
    else this.#beat(release);
    if (unanswered && !release.unanswered) this.#retry((other) => this.#mayTry(other));
    this.#probeOthers();
    // If the release is tried again at once, whoever waits for it waits for that try.
    if (release.underWay) return;
    release.told = undefined;
    told?.(result, error);
  };

  /**
   * A try that was given up is answered after all. That nothing was found says little about an abandoned acquire: it may have
   * arrived in between.
   */
  readonly #triedBefore = (release: Release, result: ReleaseResult): void => {
    this.outages.succeeded('release', release.facts.ref.name);
    const isFinal = hasEnded(result) || release.facts.outcome !== 'abandoned';
    if (isFinal && release.unanswered && !release.underWay) this.#end(release);
    this.#probeOthers();
  };

  /** Whether nothing is left to do after this answer (`undefined`: the try failed). */
  #isOver(release: Release, result: ReleaseResult | undefined): boolean {
    if (result !== undefined && (hasEnded(result) || !(release.ambiguous || release.again)))
      release.over = true;
    if (release.over || release.again || release.unanswered) return release.over;
    const now = this.clock.monotonic();
    release.answeredAt ??= now;
    return now >= release.answeredAt + longestWay(release);
  }

  #end(release: Release): void {
    release.over = true;
    this.#leave(release);
  }

  /** Keeps the release until the next beat. */
  #beat(release: Release): void {
    this.#forget(release);
    if (this.#closed) return;
    this.#kept += 1;
    this.#beats.add(release, longestWay(release) * BEAT);
    this.#makeRoom(release);
  }

  /** Keeps the release until the store answers. */
  #wait(release: Release): void {
    if (this.#closed) return;
    release.unanswered = true;
    this.#unanswered.set(release.facts.ref.name, release);
    this.#kept += 1;
    release.list = this.#waiting;
    this.#waiting.add(release);
    this.#makeRoom(release);
    this.#probeAfter(longestWay(release) * BEAT);
  }

  /** Those that may not be tried yet wait for the next probe. */
  #probeOthers(): void {
    if (this.#waiting.first !== undefined && !this.#closed) this.#probeAfter(PROBE);
  }

  /** Tries the oldest of the unanswered releases that may be tried, soon. */
  #probeAfter(pause: number): void {
    this.#probe ??= this.clock.setTimer(
      () => {
        this.#probe = undefined;
        let release = this.#waiting.first;
        while (release !== undefined && !this.#mayTry(release)) release = release.next;
        if (release !== undefined) this.#try(release);
        else this.#probeOthers();
      },
      Math.min(pause, PROBE),
    );
  }

  /** Gives up the oldest release of the list if there are too many: its tick is most likely no longer the newest. */
  #makeRoom({ list }: Release): void {
    if (this.#kept > MAX_KEPT && list?.first !== undefined) this.#leave(list.first);
  }

  /** Drops a release: it is not tried again. */
  #leave(release: Release): void {
    this.#take(release);
    this.#forget(release);
  }

  #take(release: Release): void {
    if (release.list === undefined) return;
    this.#kept -= 1;
    release.list.delete(release);
    release.list = undefined;
  }

  #forget(release: Release): void {
    if (this.#unanswered.size === 0) return;
    const { name } = release.facts.ref;
    if (this.#unanswered.get(name) === release) this.#unanswered.delete(name);
  }
}

/** How long the acquire can be on its way to a store that answers, ms. */
function longestWay({ facts }: Release): number {
  return Math.min(facts.ref.ttl, LONGEST_WAY);
}

const hasEnded = (result: ReleaseResult): boolean => result.released || result.reason === 'ended';

/** Why a lock is not asked for while the store has not settled a release of it. */
const unsettled = (name: string): Error =>
  new StoreUnavailableError(
    `The store has not answered yet whether the last lease of the lock "${name}" is released, so the lock is not asked for. ` +
      'If this lasts while other locks work, look for a transaction that has locked its row.',
    { outcome: 'not-applied' },
  );

/** Whether the store did not answer at all. One that refuses this kind of call may carry out others. */
function isSilence(error: Error | undefined): boolean {
  return error instanceof StoreUnavailableError && !error.refused;
}
