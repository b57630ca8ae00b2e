import { AlarmClock, type Clock, inModuleContext, type UnderWay } from '../base/clock.js';
import { LockStateError, StoreUnavailableError } from '../base/errors.js';
import type { RunRecord } from '../contract/history-store.js';
import type {
  AcquireResult,
  LeaseRef,
  ReleaseOptions,
  ReleaseOutcome,
  ReleaseResult,
  Writable,
} from '../contract/lock-store.js';
import { type Asked, type Outcome, type SafeStore, wasNotApplied } from './access/safe-store.js';
import type { Outages } from './access/outages.js';

/** The longest that an acquire can be on its way, ms: TCP gives up on data that it cannot deliver after a quarter of an hour. */
const LONGEST_WAY = 1_200_000;
/** The part of the ttl after which a release is tried again: a beat. */
const BEAT = 0.3;
/** The longest pause before a release without an answer is tried again, ms. */
const LONGEST_PAUSE = 10_000;
/** How many releases are tried again at a time: as many as a store answers at once. Renewals must not wait behind thousands. */
const WINDOW = 250;
/** How much later those are tried that do not fit into it, ms. */
const NEXT_WINDOW = 1_000;
/** How many releases are kept for another try. A caller can make up a name per call. */
const MAX_KEPT = 50_000;

interface ReleaseFacts {
  readonly ref: LeaseRef;
  readonly outcome: ReleaseOutcome;
  /** Until when the lock has to stay taken, monotonic. */
  readonly keepUntil: number;
  /** How long one call may take, ms. */
  readonly limit: number;
  readonly record?: RunRecord | undefined;
  readonly retryIn?: number | undefined;
}

interface ReleasedCall {
  over(): void;
}

/** A release, until nothing is left to do. It has one try under way at most. */
class Release {
  /** The try under way, if any: resolves to the answer or to the error, never rejects. */
  trying: Promise<ReleaseResult | Error> | undefined;
  /** Whether its last try was not answered. */
  unanswered = false;
  /** When the next try is due, monotonic. */
  dueAt = 0;
  /** When the store first answered, monotonic. */
  answeredAt: number | undefined;

  /**
   * @param copies how many copies of its acquire may still be on their way
   * @param call is told when nothing is left to do, or no more is tried
   */
  constructor(
    readonly facts: ReleaseFacts,
    public copies = 0,
    readonly call?: ReleasedCall,
  ) {}

  /** How long its acquire can be on its way to a store that answers, ms. */
  get longestWay(): number {
    return Math.min(this.facts.ref.ttl, LONGEST_WAY);
  }
}

/**
 * Releases leases, and tries again until the store has answered.
 *
 * The store may carry out an unanswered acquire at any later time, as its bytes may lie in a buffer. So its release is not over when it
 * finds nothing, but when the store answers it once more, one ttl after its first answer: a store that works reads the data that has
 * arrived. Time without an answer counts for nothing: the store may be frozen with the acquire in its buffer.
 */
export class Releases {
  /** Those that need another try, and have none under way: first the one whose last try is longest ago. */
  readonly #list = new Set<Release>();
  /** For each lock the release that has to be answered before the lock is asked for. */
  readonly #byName = new Map<string, Release>();
  #trying = 0;
  readonly #alarm: AlarmClock;
  #closed = false;

  constructor(
    private readonly store: SafeStore,
    private readonly clock: Clock,
    private readonly outages: Outages,
    private readonly underWay: UnderWay,
  ) {
    this.#alarm = new AlarmClock(clock, () => this.#ring());
  }

  /** Releases the lease of a call whose run has ended. Resolves to the answer, or to why there is none. */
  release(facts: ReleaseFacts, call: ReleasedCall): Promise<ReleaseResult | Error> {
    return this.#send(new Release(facts, 0, call));
  }

  /** Releases a lease under which nothing ran, before its lock is asked for again. @param copies the calls that may still take it */
  abandon(ref: LeaseRef, limit: number, copies: readonly Pick<Asked<AcquireResult>, 'listen'>[] = []): void {
    const release = new Release({ ref, outcome: 'abandoned', keepUntil: 0, limit }, copies.length);
    this.#byName.set(ref.name, release);
    void this.#try(release);
    for (const copy of copies) copy.listen((outcome) => this.#arrived(release, outcome));
  }

  /**
   * Tries the unanswered release of this lock, if there is one: the lease that this process has left behind would refuse the next acquire.
   *
   * @returns `undefined` at once if there is nothing to try; else a promise of the error if the store is away
   */
  tryFirst(name: string): Promise<Error | undefined> | undefined {
    const release = this.#byName.get(name);
    if (release === undefined) return undefined;
    return (release.trying ?? this.#try(release)).then((answer) => (isSilence(answer) ? answer : undefined));
  }

  /** Whether an unanswered release of this lock comes before its next acquire. */
  comesFirst(name: string): boolean {
    return this.#byName.has(name);
  }

  /** A connection is back: tries the unanswered releases again. */
  reconnected(): void {
    for (const release of this.#list) if (release.unanswered) release.dueAt = -Infinity;
    this.#ring();
  }

  close(): void {
    this.#closed = true;
    this.#alarm.stop();
    for (const release of this.#list) void this.#try(release);
  }

  // One try.

  /** The release is kept for another try if it needs one. */
  #send(release: Release): Promise<ReleaseResult | Error> {
    const { ref, outcome, keepUntil, limit, record, retryIn } = release.facts;
    this.#list.delete(release);
    this.underWay.begin();
    const { copies } = release;
    const now = this.clock.monotonic();
    const keepFor = Math.max(0, Math.ceil(keepUntil - now));
    const options: Writable<ReleaseOptions> = { outcome, keepFor };
    if (record !== undefined) options.record = record;
    if (retryIn !== undefined) options.retryIn = retryIn;
    const asked = this.store.release(ref, options, limit, now);
    return asked.outcome.then((ended) => {
      const answer = 'error' in ended ? ended.error : ended.result;
      if (answer instanceof Error) {
        this.outages.failed(answer, 'release', [ref.name]);
        // An answer that comes too late for its call ends no outage: nothing can run by such answers.
        asked.listen((late) => {
          if ('result' in late && copies === 0 && release.trying === undefined) this.#drop(release);
        });
      } else this.outages.succeeded('release', ref.name);
      this.#answered(release, answer, copies);
      this.underWay.end();
      return answer;
    });
  }

  /** If the release is tried again at once, its callers wait for that try. */
  #try(release: Release): Promise<ReleaseResult | Error> {
    this.#trying += 1;
    return (release.trying = this.#send(release).then((answer) => {
      this.#trying -= 1;
      return release.trying ?? answer;
    }));
  }

  /** @param copies how many copies of its acquire were on their way when the try was sent: one that was carried out since needs another try */
  #answered(release: Release, answer: ReleaseResult | Error, copies: number): void {
    release.trying = undefined;
    // A store that reports a broken entry of this lock has answered.
    release.unanswered = answer instanceof Error && !(answer instanceof LockStateError);
    const now = this.clock.monotonic();
    if (!release.unanswered) release.answeredAt ??= now;
    const isResult = !(answer instanceof Error) && copies === 0;
    if (isResult || (!release.unanswered && now >= (release.answeredAt ?? now) + release.longestWay))
      this.#drop(release);
    else if (release.copies < copies) void this.#try(release);
    else this.#keep(release);
  }

  /** A call that may have taken the lease has ended, too late for its caller. */
  #arrived(release: Release, outcome: Outcome<AcquireResult>): void {
    if ('result' in outcome || wasNotApplied(outcome.error)) release.copies -= 1;
    release.answeredAt = undefined;
    if (release.trying === undefined && !this.#closed) void this.#try(release);
  }

  // Further tries.

  /** Keeps a release for another try. Of too many, it gives up the oldest: its tick is most likely no longer the newest. */
  #keep(release: Release): void {
    const { unanswered, longestWay } = release;
    if (this.#closed) return this.#drop(release);
    if (unanswered) this.#byName.set(release.facts.ref.name, release);
    else this.#forget(release);
    const beat = longestWay * BEAT;
    release.dueAt = this.clock.monotonic() + (unanswered ? Math.min(beat, LONGEST_PAUSE) : beat);
    this.#list.add(release);
    const [oldest] = this.#list;
    if (this.#list.size > MAX_KEPT && oldest !== undefined) this.#drop(oldest);
    this.#alarm.by(release.dueAt);
  }

  #ring(): void {
    const now = this.clock.monotonic();
    let next = Infinity;
    for (const release of this.#list) {
      if (release.dueAt > now) next = Math.min(next, release.dueAt);
      else if (this.#trying >= WINDOW) next = Math.min(next, now + NEXT_WINDOW);
      else void inModuleContext(() => this.#try(release));
    }
    this.#alarm.by(next);
  }

  #drop(release: Release): void {
    this.#list.delete(release);
    this.#forget(release);
    release.call?.over();
  }

  #forget(release: Release): void {
    if (this.#byName.size === 0) return;
    const { name } = release.facts.ref;
    if (this.#byName.get(name) === release) this.#byName.delete(name);
  }
}

/** Whether the store did not answer at all. A store that refuses this kind of call may carry out others. */
function isSilence(answer: ReleaseResult | Error): answer is Error {
  return answer instanceof StoreUnavailableError && !answer.refused;
}
