import type { LeaseRef, ReleaseOutcome, ReleaseResult } from '../stores/lock-store.js';
import type { List } from '../store-access/list.js';
import { Pending } from '../store-access/time-limits.js';

/** Receives the answer to a release: once, with the result, or with the error if there was no answer in time. */
export type Answered = (result: ReleaseResult | undefined, error?: Error) => void;

/** Which lease to release, and how. */
export interface ReleaseFacts {
  readonly ref: LeaseRef;
  readonly outcome: ReleaseOutcome;
  /** Monotonic time until which the lock has to stay taken. */
  readonly keepUntil: number;
  /** Milliseconds that one call may take. */
  readonly limit: number;
}

/** A release from its first try until nothing is left to do. It has one try under way at most. */
export class Release extends Pending<ReleaseResult> {
  declare previous: Release | undefined;
  declare next: Release | undefined;
  /** The list in which it waits for its next try, if it waits. */
  list: List<Release> | undefined;
  /** When the next try is due, if that is known, monotonic. */
  nextAt = 0;
  /** When the last try was sent, monotonic. */
  sentAt = 0;
  /** How many answers of the store, to any call, had come by then. */
  answersBefore = 0;
  underWay = false;
  /** Whether the try under way is not the first. */
  retried = false;
  /** Whether its last try was not answered. */
  unanswered = false;
  /** Whether an acquire may still be on its way: then finding nothing to release proves nothing. */
  ambiguous = false;
  /** When the store first answered, monotonic. */
  answeredAt: number | undefined;
  /** Whether to try again after the try under way: the late answer of the acquire has changed the facts. */
  again = false;
  /** Whether nothing is left to release: later answers change nothing. */
  over = false;
  /** Receives the answer to the try under way. */
  told: Answered | undefined;

  constructor(
    public facts: ReleaseFacts,
    private readonly tried: (release: Release, answer: ReleaseResult | Error) => void,
    /** Receives the answer to a try that was given up. */
    private readonly triedBefore: (release: Release, answer: ReleaseResult) => void,
  ) {
    super();
  }

  answered(result: ReleaseResult): void {
    this.tried(this, result);
  }

  failed(error: Error): void {
    this.tried(this, error);
  }

  override answeredLate(result: ReleaseResult): void {
    this.triedBefore(this, result);
  }
}
