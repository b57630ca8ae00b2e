import { afterThis, atEndOfTurn } from '../../base/clock.js';
import { LockStateError, type SchedulerLockError, StoreUnavailableError } from '../../base/errors.js';
import type { Caller } from '../../contract/fast-port.js';
import type { Standing } from '../../contract/line.js';
import type { Written } from './changes.js';
import type { Renewal, SeenDocument } from '../../contract/port.js';
import type { Decision, Hint, LockDocument } from '../lock/document.js';

/** The longest pause before the next try, ms: a few calls long, so that colliding instances move apart. */
const MAX_RETRY_DELAY = 100;

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
  /**
   * Whether the decision depends on what time it is at the place: then it takes a look. The time of a guess is only reckoned, and may run
   * ahead of the place's, whose clock was set back.
   */
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
export interface Lane {
  readonly name: string;
  readonly tasks: Task<unknown>[];
  /** How often the first one was decided on what had been read, and somebody else has written before it. */
  tries: number;
  /** What its last change was to be written over, and was not. */
  triedOver?: SeenDocument | null | undefined;
  /** Whether nobody can tell if a change of the first one was written. */
  isUnsure?: boolean;
}

/** What the first call of a lane wants to write. */
export interface Wanted extends Written {
  readonly lane: Lane;
  readonly answer: unknown;
  readonly hint?: Hint | undefined;
  /** Calls in line that are over by then. */
  readonly over?: readonly Standing[] | undefined;
  readonly looksAgain?: boolean | undefined;
}

/** The change of the first call of a lane was not written. @param isWritten `undefined`: nobody can tell */
export function notWritten(lane: Lane, seen: SeenDocument | null, isWritten: false | undefined): void {
  lane.triedOver = seen;
  lane.tries += 1;
  // An attempt that is decided once more finds its own grant.
  if (isWritten === undefined && lane.tasks[0]?.isAttempt !== true) lane.isUnsure = true;
}

/** The first call of a lane is over. */
export function takeFirst(lane: Lane): Task<unknown> | undefined {
  Object.assign(lane, { tries: 0, triedOver: undefined, isUnsure: false });
  return lane.tasks.shift();
}

/** Whether the first call of a lane begins with a renewal. */
export const isRenewal = ({ tasks }: Lane): boolean => tasks[0]?.renewal !== undefined;

/** When the first call of a lane is sent, with the others of that moment: only attempts come in many timers of one turn. */
export const momentFor = ({ tasks }: Lane): ((send: () => void) => void) =>
  tasks[0]?.isAttempt === true ? atEndOfTurn : afterThis;

/**
 * The pause before these are tried again, ms: colliding instances would collide again if all came back at once.
 *
 * @param now monotonic
 */
export function pauseBefore(unwritten: readonly Lane[], now: number): number {
  const tries = Math.max(0, ...unwritten.map((lane) => lane.tries));
  if (tries < 2) return 0;
  const left = Math.min(...unwritten.map(({ tasks }) => tasks[0]?.until ?? now)) - now;
  return Math.random() * Math.min(2 ** tries, MAX_RETRY_DELAY, Math.max(left, 1));
}

/** Others have written since, so what is there does not tell whether the change was written before. */
export const overtaken = (): StoreUnavailableError =>
  new StoreUnavailableError(
    'Others were faster to change the lock than the store was to tell whether this call had changed it.',
    { outcome: 'unknown' },
  );

/** Nobody waits for the call any more, and nothing of it was sent. */
export function tooLate(): StoreUnavailableError {
  return new StoreUnavailableError(
    'The store answered the calls before this one too late: the caller had given up.',
    {
      outcome: 'not-applied',
    },
  );
}

/** The lock changed each time, or, as it looks the same as before, somebody else has locked it; nothing was changed. */
export function unsettled(name: string, isLocked: boolean): SchedulerLockError {
  if (isLocked)
    return new LockStateError(
      name,
      'another transaction has locked what the store keeps of it, so nothing was changed. End that transaction.',
    );
  return new StoreUnavailableError(
    'The lock changed again and again while the store was asked about it, so nothing was changed.',
    { outcome: 'not-applied' },
  );
}
