import { StoreUnavailableError } from '../errors.js';
import type { Told } from '../stores/fast-port.js';
import type { Renewal } from './port.js';
import type { Decision, LockDocument } from './rules/document.js';

/** One call for one lock. */
export interface Task<T> {
  readonly name: string;
  /** Decides by the rules; may be called several times, until what it has decided is written. */
  decide(document: LockDocument | undefined, now: number): Decision<T>;
  /** The answer if the lock has changed each time; or throws. */
  otherwise(): T;
  /** A renewal is tried first, without a look: if it succeeds, this is the answer. */
  readonly renewal?: { readonly of: Renewal; readonly answer: T };
  /** When it is too late for another try, monotonic. */
  readonly until: number;
  readonly told: Told<T>;
}

/** The calls of this process for one lock: one after another, in the order in which they were made. */
export interface Lane {
  readonly name: string;
  readonly tasks: Task<unknown>[];
  /** How often the first one was tried. */
  tries: number;
  /** When the turn of the first one began, monotonic; `Infinity` until it is sent. */
  since: number;
}

/** Whether the first call of a lane begins with a renewal. */
export const isRenewal = ({ tasks }: Lane): boolean => tasks[0]?.renewal !== undefined;

/** Nobody waits for the call any more, and nothing of it was sent. */
export function tooLate(): StoreUnavailableError {
  return new StoreUnavailableError(
    'The store answered the calls before this one too late: the caller had given up.',
    {
      outcome: 'not-applied',
    },
  );
}
