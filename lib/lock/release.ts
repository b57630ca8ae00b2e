import { LockStateError } from '../base/errors.js';
import type { RunRecord } from '../contract/history-store.js';
import type { LeaseRef, ReleaseOutcome, ReleaseResult } from '../contract/lock-store.js';

/**
 * The longest that an acquire can be on its way, ms: TCP gives up on data that it cannot deliver after a quarter of an hour.
 */
const LONGEST_WAY = 1_200_000;

/** The part of the ttl after which a release is tried again: a beat. */
const BEAT = 0.3;

/** Which lease to release, and how. */
interface ReleaseFacts {
  readonly ref: LeaseRef;
  readonly outcome: ReleaseOutcome;
  /** Monotonic time until which the lock has to stay taken. */
  readonly keepUntil: number;
  /** Milliseconds that one call may take. */
  readonly limit: number;
  /** How the run went, if the store is to remember it. */
  readonly record?: RunRecord | undefined;
}

/**
 * A release from its first try until nothing is left to do. It has one try under way at most.
 *
 * The store may carry out an unanswered acquire at any later time: its bytes may lie in a buffer that the store has not read
 * yet. So its release is not over when it finds nothing. The bytes do not lie there for ever. If the release came over the
 * same connection, the acquire was before it. It may also come over another connection: a newer one, another one of a pool, or
 * for a lock of a Cluster the one to its node. Then an answer proves that the store works again, and a store that works reads
 * the data that has arrived. So the release is over when the store answers it once more, one ttl after the first answer. Time
 * without an answer counts for nothing: the store may be frozen with the acquire in its buffer.
 */
export class Release {
  /** The try under way, if any: resolves to the answer or to the error, never rejects. */
  trying: Promise<ReleaseResult | Error> | undefined;
  tries = 0;
  /** How many of its tries were given up, and have not been answered since. */
  unsettled = 0;
  /** When the last try was sent, monotonic. */
  sentAt = 0;
  /** How many answers of the store, to any call, had come by then. */
  answersBefore = 0;
  /** Whether its last try was not answered. */
  unanswered = false;
  /** When the next try is due if the store answers, monotonic. */
  nextAt = 0;
  /** Whether nothing is left to release: later answers change nothing. */
  over = false;
  /** Whether to try again after the try under way: the late answer of the acquire has changed the facts. */
  #again = false;
  /** When the store first answered, monotonic. */
  #answeredAt: number | undefined;

  /**
   * @param copies how many copies of its acquire may still be on their way: then finding nothing to release proves nothing. If the
   *   acquire was sent twice, an end proves nothing either
   */
  constructor(
    public facts: ReleaseFacts,
    private copies: 0 | 1 | 2 = 0,
  ) {}

  get lock(): string {
    return this.facts.ref.name;
  }

  /** The pause between two tries, ms. */
  get beat(): number {
    return this.#longestWay * BEAT;
  }

  /** How long the acquire can be on its way to a store that answers, ms. */
  get #longestWay(): number {
    return Math.min(this.facts.ref.ttl, LONGEST_WAY);
  }

  /**
   * A try is sent.
   *
   * @param now monotonic
   * @param answersBefore how many calls of the store, of any kind, have been answered
   */
  sent(now: number, answersBefore: number): void {
    this.tries += 1;
    this.sentAt = now;
    this.answersBefore = answersBefore;
  }

  /** The try under way has ended. Returns what to do next, as far as is known now. */
  tried(answer: ReleaseResult | Error, now: number): 'nothing' | 'try again' | 'try later' {
    this.trying = undefined;
    const failed = answer instanceof Error;
    // A store that reports a broken entry of this lock has answered.
    this.unanswered = failed && !(answer instanceof LockStateError);
    if (!failed && this.#isProof(answer)) this.over = true;
    if (this.over) return 'nothing';
    if (this.#again) {
      this.#again = false;
      return 'try again';
    }
    this.nextAt = now + this.beat;
    if (this.unanswered) return 'try later';
    this.#answeredAt ??= now;
    return now >= this.#answeredAt + this.#longestWay ? 'nothing' : 'try later';
  }

  /** The acquire was granted after all, or its start was, if the client has sent it twice. Nothing is on its way any more. */
  arrived(fencingToken: number): void {
    this.facts = { ...this.facts, ref: { ...this.facts.ref, fencingToken } };
    this.copies = 0;
    this.#revive();
  }

  /** One of two copies of the acquire has been answered, or has failed, late. */
  copyArrived(): void {
    this.#answeredAt = undefined;
    this.#revive();
  }

  /** The acquire has failed only now: it may have been carried out at any time until then. */
  failedLate(): void {
    this.#answeredAt = undefined;
  }

  #revive(): void {
    this.over = false;
    this.#again = this.trying !== undefined;
  }

  /** Whether nothing is left to release, by an answer of the store. */
  #isProof(answer: ReleaseResult): boolean {
    if (hasEnded(answer)) return this.copies < 2;
    return this.copies === 0 && !this.#again;
  }
}

/** Whether the store has recorded the end of the lease. */
export const hasEnded = (result: ReleaseResult): boolean => result.released || result.reason === 'ended';
