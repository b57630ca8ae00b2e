import { LockStateError, type SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { Caller } from '../../contract/fast-port.js';
import type { Standing } from '../../contract/line.js';
import type { Renewal, SeenDocument } from '../../contract/port.js';
import type { Decision, LockDocument } from '../lock/document.js';

/** One call for one lock. */
export interface Task<T> {
  readonly name: string;
  /**
   * Decides by the rules; may be called several times, until what it has decided is written.
   *
   * @param standing the line, if it was read
   */
  decide(document: LockDocument | undefined, now: number, standing?: readonly Standing[]): Decision<T>;
  /**
   * Whether it goes by the line. `marked`: if the document says that there may be one. `gives back`: the same, but also if the line cannot
   * be read: a release wins. Absent: it does not.
   */
  readonly line?: 'always' | 'marked' | 'gives back';
  /** Whether the decision depends on what time it is at the place: then it takes a look. The time of a guess is only reckoned. */
  readonly byClock?: boolean;
  /** Whether others like it may come in this turn of the event loop: an attempt waits for them. */
  readonly isAttempt?: boolean;
  /** A renewal is tried first, without a look: if it succeeds, this is the answer. */
  readonly renewal?: { readonly of: Renewal; readonly answer: T };
  /** When it is too late for another try, monotonic. */
  readonly until: number;
  /** The answer of a call that has lost the race for its lock until then: whoever has won each time is at it. Absent: it fails. */
  readonly lost?: T;
  /** It has entered the line. If it is there no more, its wait was shorter than the way to the place: it does not enter once more. */
  readonly hasEntered?: boolean;
  readonly told: Caller<T>;
}

/** The calls of this process for one lock: one after another, in the order in which they were made. */
export interface Queue {
  readonly name: string;
  readonly tasks: Task<unknown>[];
  /** How often the first one was decided on what had been read, and somebody else has written before it. */
  tries: number;
  /** What its last change was to be written over, and was not. */
  triedOver?: SeenDocument | null | undefined;
  /** Whether nobody can tell if a change of the first one was written. */
  isUnsure?: boolean;
}

/** Others have written since, so what is there does not tell whether the change was written before. */
export const overtaken = (): StoreUnavailableError =>
  new StoreUnavailableError(
    'Others were faster to change the lock than the store was to tell whether this call had changed it.',
    { outcome: 'unknown' },
  );

/** Nobody waits for the call any more, and nothing of it was sent. */
export const tooLate = (): StoreUnavailableError =>
  new StoreUnavailableError(
    'The store answered the calls before this one too late: the caller had given up.',
    { outcome: 'not-applied' },
  );

/** The lock changed each time, or, as it looks the same as before, somebody else has locked it; nothing was changed. */
export const unsettled = (name: string, isLocked: boolean): SchedulerLockError =>
  isLocked
    ? new LockStateError(
        name,
        'another transaction has locked what the store keeps of it, so nothing was changed. End that transaction.',
      )
    : new StoreUnavailableError(
        'The lock changed again and again while the store was asked about it, so nothing was changed.',
        { outcome: 'not-applied' },
      );
