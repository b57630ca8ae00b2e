import { AlarmClock, type Clock, inModuleContext } from '../base/clock.js';
import { StoreUnavailableError } from '../base/errors.js';
import type { Outages } from './access/outages.js';
import type { SafeStore } from './access/safe-store.js';
import type { Asked, Outcome } from './access/asked.js';
import type { LeaseRef, ReleaseResult } from '../contract/lock-store.js';
import { hasEnded, Release } from './release.js';
import type { UnderWay } from './under-way.js';

/** While the store does not answer, one release is tried at least this often, ms. */
const PROBE = 10_000;
/** The longest pause between two tries of a release that the store leaves unsettled while it answers others, ms. */
const MAX_RETRY_DELAY = 30_000;
/**
 * How many releases are tried again at a time: as many as a store answers at once. Renewals must not wait behind thousands.
 */
const WINDOW = 250;
/** How much later the releases are tried that did not fit into the window, ms. */
const PAUSE = 1_000;
/** How many releases are kept for another try. A caller can make up a name per call. */
const MAX_KEPT = 50_000;

/**
 * Releases leases, and tries again until the store has answered. {@link Release} says when a release is over.
 *
 * One list has all releases that need another try, and one alarm wakes them. A release that the store has answered is tried again at its
 * beat. Of the releases without an answer only one is tried now and then: when the store answers it, the others follow.
 */
export class Releases {
  /** Those that need another try, and have none under way: first the one whose last try is longest ago. */
  readonly #list = new Set<Release>();
  /** For each lock the release that has to be answered before the lock is asked for. */
  readonly #byName = new Map<string, Release>();
  /** How many of the tries under way are repeats. */
  #retrying = 0;
  /** When the next release without an answer is tried, monotonic. */
  #probeAt = Infinity;
  readonly #alarm: AlarmClock;
  #closed = false;

  /** @param underWay counts the tries, for a shutdown */
  constructor(
    private readonly store: SafeStore,
    private readonly clock: Clock,
    private readonly outages: Outages,
    private readonly underWay: UnderWay,
  ) {
    this.#alarm = new AlarmClock(clock, () => this.#ring());
  }

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
    this.#drop(release);
  }

  /**
   * Tries the unanswered release of this lock, if there is one. It has to come before the next acquire of the lock. Otherwise
   * the lease that this process has left behind refuses that acquire.
   *
   * @returns `undefined` at once if there is nothing to try; otherwise a promise of the try's outcome: the error if the store
   *   is away or has not settled an earlier try, else `undefined`
   */
  tryFirst(name: string): Promise<Error | undefined> | undefined {
    const release = this.#byName.get(name);
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
    this.#alarm.stop();
    for (const release of this.#list) void this.#try(release);
  }

  // One try.

  /** Sends one try. Its outcome goes to {@link tried}. */
  send(release: Release): Asked<ReleaseResult> {
    const { ref, outcome, keepUntil, limit, record } = release.facts;
    this.#list.delete(release);
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
    const answer = 'error' in outcome ? outcome.error : outcome.result;
    if (answer instanceof Error) this.#failed(release, answer, asked);
    else this.outages.succeeded('release', release.lock);
    if (release.tries > 1) this.#retrying -= 1;
    const wasUnanswered = release.unanswered;
    const todo = release.tried(answer, this.clock.monotonic());
    if (todo === 'nothing') this.#drop(release);
    else if (todo === 'try again') void this.#try(release);
    else this.#keep(release);
    if (wasUnanswered && !release.unanswered) this.#retry((other) => this.#mayTry(other));
    this.underWay.end();
    return answer;
  }

  #try(release: Release): Promise<ReleaseResult | Error> {
    return (release.trying = this.#settle(release));
  }

  async #settle(release: Release): Promise<ReleaseResult | Error> {
    const asked = this.send(release);
    const answer = this.tried(release, asked, await asked.outcome);
    // If the release is tried again at once, its callers wait for that try.
    return release.trying ?? answer;
  }

  /**
   * A try has failed. One that was given up may be answered after all. That nothing was found says little about an abandoned
   * acquire then: it may have arrived in between.
   */
  #failed(release: Release, error: Error, asked: Asked<ReleaseResult>): void {
    if (release.tries > 1 && isSilence(error) && this.#isPassedOver(release)) this.outages.failedAgain();
    else this.outages.failed(error, { call: 'release', locks: [release.lock] });
    if (!asked.givenUp) return;
    release.unsettled += 1;
    asked.listen((outcome) => {
      release.unsettled -= 1;
      if ('error' in outcome) return;
      // An answer that comes too late for its call ends no outage: nothing can run by such answers.
      const isFinal = hasEnded(outcome.result) || release.facts.outcome !== 'abandoned';
      if (isFinal && release.unanswered && release.trying === undefined) this.end(release);
    });
  }

  // Further tries.

  /** Keeps a release for another try. Of too many, it gives up the oldest: its tick is most likely no longer the newest. */
  #keep(release: Release): void {
    if (release.unanswered && !this.#closed) this.#byName.set(release.lock, release);
    else this.#forget(release);
    if (this.#closed) return;
    this.#list.add(release);
    const [oldest] = this.#list;
    if (this.#list.size > MAX_KEPT && oldest !== undefined) this.#drop(oldest);
    if (!release.unanswered) return this.#alarm.by(release.nextAt);
    const now = this.clock.monotonic();
    this.#probeBy(now + Math.min(release.beat, PROBE));
    this.#alarm.by(this.#probeAt);
  }

  /** Tries the releases without an answer again, as many as the window lets through. */
  #retry(may: (release: Release) => boolean): void {
    for (const release of this.#list) {
      if (this.#retrying >= WINDOW) return;
      if (release.unanswered && may(release)) void inModuleContext(() => this.#try(release));
    }
  }

  /** Tries what is due. */
  #ring(): void {
    const now = this.clock.monotonic();
    let probes = now >= this.#probeAt;
    if (probes) this.#probeAt = Infinity;
    let next = Infinity;
    for (const release of this.#list) {
      if (release.unanswered) {
        const isProbe = probes && this.#mayTry(release);
        if (isProbe) void this.#try(release);
        else this.#probeBy(now + PROBE);
        probes &&= !isProbe;
      } else if (release.nextAt > now) next = Math.min(next, release.nextAt);
      else if (this.#retrying < WINDOW) void this.#try(release);
      else next = Math.min(next, now + PAUSE);
    }
    this.#alarm.by(Math.min(next, this.#probeAt));
  }

  #probeBy(at: number): void {
    this.#probeAt = Math.min(this.#probeAt, at);
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
    return this.clock.monotonic() >= sentAt + Math.min(PROBE * 2 ** (tries - 1), MAX_RETRY_DELAY);
  }

  /** Drops a release: it is not tried again. */
  #drop(release: Release): void {
    this.#list.delete(release);
    this.#forget(release);
  }

  #forget(release: Release): void {
    if (this.#byName.size === 0) return;
    if (this.#byName.get(release.lock) === release) this.#byName.delete(release.lock);
  }
}

/** Why a lock is not asked for while the store has not settled a release of it. */
const unsettled = (name: string): Error =>
  new StoreUnavailableError(
    `The store has not answered yet whether the last lease of the lock "${name}" is released, so the lock is not asked for. ` +
      'If this lasts while other locks work, look for a transaction that has locked its row.',
    { outcome: 'not-applied' },
  );

/** Whether the store did not answer at all. A store that refuses this kind of call may carry out others. */
function isSilence(answer: ReleaseResult | Error): answer is Error {
  return answer instanceof StoreUnavailableError && !answer.refused;
}
