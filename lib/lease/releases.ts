import { type Clock, inModuleContext, type Timer } from '../clock.js';
import { StoreUnavailableError } from '../errors.js';
import type { Outages } from '../store-access/outages.js';
import type { SafeStore } from '../store-access/safe-store.js';
import type { Asked, Outcome } from '../store-access/asked.js';
import type { LeaseRef, ReleaseResult } from '../stores/lock-store.js';
import { hasEnded, Release } from './release.js';
import type { UnderWay } from './under-way.js';

/** The part of the ttl after which a release is tried again: a beat. */
const BEAT = 0.3;
/** While the store does not answer, one release is tried at least this often, ms. */
const PROBE = 10_000;
/** The longest pause between two tries of a release that the store leaves unsettled while it answers others, ms. */
const LONGEST_PAUSE = 30_000;
/**
 * How many releases are tried again at a time: as many as a store answers in no time. Renewals must not wait behind thousands.
 */
const WINDOW = 250;
/** How many releases are kept in a queue for another try. A caller can make up a name per call. */
const MAX_KEPT = 50_000;

/**
 * Releases leases, and goes on trying until the store has answered. When one release is over says {@link Release}.
 *
 * While the store does not answer, only one release is tried, now and then. When that one is answered, the others follow.
 */
export class Releases {
  /** Releases whose last try was not answered, longest ago first. */
  readonly #unanswered = new Set<Release>();
  /** Releases that were answered, but have to be tried again when their time has come. */
  readonly #beats = new Set<Release>();
  /** The unanswered release of each lock, by its name. */
  readonly #byName = new Map<string, Release>();
  /** How many of the tries under way are repeats. */
  #retrying = 0;
  #probeAt = Infinity;
  #timer: Timer | undefined;
  #wakeAt = Infinity;
  #closed = false;

  /** @param underWay counts the tries, for a shutdown */
  constructor(
    private readonly store: SafeStore,
    private readonly clock: Clock,
    private readonly outages: Outages,
    private readonly underWay: UnderWay,
  ) {}

  /**
   * Releases a lease that nothing uses, before its lock is asked for again.
   *
   * @param limit of one call, ms
   * @param copies how many copies of its acquire may still be on their way
   */
  abandon(ref: LeaseRef, limit: number, copies: 0 | 1 | 2 = 0): Release {
    const release = new Release({ ref, outcome: 'abandoned', keepUntil: 0, limit }, copies);
    this.#byName.set(ref.name, release);
    void this.#try(release);
    return release;
  }

  /** What is known of a release has changed: tries it now, unless it is over, or a try is under way. */
  tryNow(release: Release): void {
    if (!release.over && release.trying === undefined && !this.#closed) void this.#try(release);
  }

  /** Nothing is left to release, whatever else is answered. */
  end(release: Release): void {
    release.over = true;
    this.#leave(release);
  }

  /**
   * Tries the unanswered release of this lock, if there is one. It has to come before the next acquire of the lock. Otherwise
   * the lease that this process has left behind refuses that acquire.
   *
   * @returns `undefined` at once if there is nothing to try; otherwise a promise of the try's outcome: the error if the store
   *   is away or has not settled an earlier try, else `undefined`
   */
  tryFirst(name: string): Promise<Error | undefined> | undefined {
    const release = this.#byName.size === 0 ? undefined : this.#byName.get(name);
    if (release === undefined) return undefined;
    if (release.trying === undefined && !this.#mayTry(release)) return Promise.resolve(unsettled(name));
    return (release.trying ?? this.#try(release)).then((answer) => (isSilence(answer) ? answer : undefined));
  }

  /** A connection is back: tries the unanswered releases again, whatever became of their earlier tries. */
  reconnected(): void {
    this.#retry(() => true);
  }

  /** Tries each release one last time. */
  close(): void {
    this.#closed = true;
    this.#sleep();
    for (const release of [...this.#unanswered, ...this.#beats]) void this.#try(release);
  }

  // One try.

  /** Sends one try. Its outcome goes to {@link tried}. */
  send(release: Release): Asked<ReleaseResult> {
    const { ref, outcome, keepUntil, limit, record } = release.facts;
    this.#take(release);
    this.underWay.begin();
    const now = this.clock.monotonic();
    release.sent(now, this.outages.answers);
    if (release.tries > 1) this.#retrying += 1;
    const keepFor = Math.max(0, Math.ceil(keepUntil - now));
    const options = record === undefined ? { outcome, keepFor } : { outcome, keepFor, record };
    return this.store.release(ref, options, limit, now);
  }

  /** A try has ended: keeps the release for another one, if it needs one. Returns the answer, or why there is none. */
  tried(
    release: Release,
    asked: Asked<ReleaseResult>,
    outcome: Outcome<ReleaseResult>,
  ): ReleaseResult | Error {
    const { name } = release.facts.ref;
    const answer = 'error' in outcome ? outcome.error : outcome.result;
    if (answer instanceof Error) this.#failed(release, answer, asked);
    else this.outages.succeeded('release', name);
    if (release.tries > 1) this.#retrying -= 1;
    const wasUnanswered = release.unanswered;
    if (release.tried(answer, this.clock.monotonic())) this.#leave(release);
    else if (release.again) {
      release.again = false;
      void this.#try(release);
    } else if (release.unanswered) this.#wait(release);
    else this.#beat(release);
    if (wasUnanswered && !release.unanswered) this.#retry((other) => this.#mayTry(other));
    this.#probeOthers();
    this.underWay.end();
    return answer;
  }

  #try(release: Release): Promise<ReleaseResult | Error> {
    return (release.trying = this.#settle(release));
  }

  async #settle(release: Release): Promise<ReleaseResult | Error> {
    const asked = this.send(release);
    const answer = this.tried(release, asked, await asked.outcome);
    // If the release is tried again at once, whoever waits for it waits for that try.
    return release.trying ?? answer;
  }

  /**
   * A try has failed. One that was given up may be answered after all. That nothing was found says little about an abandoned
   * acquire then: it may have arrived in between.
   */
  #failed(release: Release, error: Error, asked: Asked<ReleaseResult>): void {
    const { name } = release.facts.ref;
    if (release.tries > 1 && isSilence(error) && this.#isPassedOver(release)) this.outages.failedAgain();
    else this.outages.failed(error, { call: 'release', locks: [name] });
    if (!asked.givenUp) return;
    release.unsettled += 1;
    asked.listen((outcome) => {
      release.unsettled -= 1;
      if ('error' in outcome) return;
      // An answer that comes too late for its call ends no outage: nothing can run by such answers.
      const isFinal = hasEnded(outcome.result) || release.facts.outcome !== 'abandoned';
      if (isFinal && release.unanswered && release.trying === undefined) this.end(release);
      this.#probeOthers();
    });
  }

  // Further tries.

  /** Tries the unanswered releases again, as many as the window lets through. */
  #retry(may: (release: Release) => boolean): void {
    for (const release of this.#unanswered) {
      if (this.#retrying >= WINDOW) return;
      if (may(release)) void inModuleContext(() => this.#try(release));
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
    const { unsettled: tries, sentAt } = release;
    if (tries === 0 || !this.#isPassedOver(release)) return true;
    return this.clock.monotonic() >= sentAt + Math.min(PROBE * 2 ** (tries - 1), LONGEST_PAUSE);
  }

  /** Keeps the release until the next beat. */
  #beat(release: Release): void {
    this.#forget(release);
    if (this.#closed) return;
    release.nextAt = this.clock.monotonic() + release.longestWay * BEAT;
    this.#keep(release, this.#beats);
    this.#wakeBy(release.nextAt);
  }

  /** Keeps the release until the store answers. */
  #wait(release: Release): void {
    if (this.#closed) return;
    release.unanswered = true;
    this.#byName.set(release.facts.ref.name, release);
    this.#keep(release, this.#unanswered);
    this.#probeAfter(release.longestWay * BEAT);
  }

  /** Gives up the oldest release of the queue if there are too many: its tick is most likely no longer the newest. */
  #keep(release: Release, queue: Set<Release>): void {
    queue.add(release);
    if (queue.size <= MAX_KEPT) return;
    const [oldest] = queue;
    if (oldest !== undefined) this.#leave(oldest);
  }

  /** Drops a release: it is not tried again. */
  #leave(release: Release): void {
    this.#take(release);
    this.#forget(release);
  }

  #take(release: Release): void {
    this.#unanswered.delete(release);
    this.#beats.delete(release);
  }

  #forget(release: Release): void {
    if (this.#byName.size === 0) return;
    const { name } = release.facts.ref;
    if (this.#byName.get(name) === release) this.#byName.delete(name);
  }

  // The timer.

  /** Those that may not be tried yet wait for the next probe. */
  #probeOthers(): void {
    if (this.#unanswered.size > 0 && !this.#closed) this.#probeAfter(PROBE);
  }

  /** Tries the oldest of the unanswered releases that may be tried, soon. */
  #probeAfter(pause: number): void {
    if (this.#probeAt !== Infinity) return;
    this.#probeAt = this.clock.monotonic() + Math.min(pause, PROBE);
    this.#wakeBy(this.#probeAt);
  }

  #wakeBy(at: number): void {
    if (at >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = at;
    this.#timer = this.clock.setTimer(() => this.#wake(), at - this.clock.monotonic());
  }

  #sleep(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wakeAt = Infinity;
  }

  /** A timer may fire a fraction early: what is not due yet must not be forgotten. */
  #wake(): void {
    const now = this.clock.monotonic();
    this.#sleep();
    let next = Infinity;
    for (const release of this.#beats) {
      if (release.nextAt > now) next = Math.min(next, release.nextAt);
      else if (this.#retrying < WINDOW) void this.#try(release);
      else {
        this.#take(release);
        this.#wait(release);
      }
    }
    if (now >= this.#probeAt) this.#probe();
    this.#wakeBy(Math.min(next, this.#probeAt));
  }

  #probe(): void {
    this.#probeAt = Infinity;
    for (const release of this.#unanswered) {
      if (!this.#mayTry(release)) continue;
      void this.#try(release);
      return;
    }
    this.#probeOthers();
  }
}

/** Why a lock is not asked for while the store has not settled a release of it. */
const unsettled = (name: string): Error =>
  new StoreUnavailableError(
    `The store has not answered yet whether the last lease of the lock "${name}" is released, so the lock is not asked for. ` +
      'If this lasts while other locks work, look for a transaction that has locked its row.',
    { outcome: 'not-applied' },
  );

/** Whether the store did not answer at all. One that refuses this kind of call may carry out others. */
function isSilence(answer: ReleaseResult | Error): answer is Error {
  return answer instanceof StoreUnavailableError && !answer.refused;
}
