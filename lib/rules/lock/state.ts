import { LockStateError } from '../../base/errors.js';
import type { ReleaseOutcome } from '../../contract/lock-store.js';
import { byOf, type Lease, type LockDocument, type LockRecord } from './document.js';
import type { ReadDocument } from '../../contract/port.js';
import type { Start, Starts } from './starts.js';
import { asciiJson } from '../../base/wording.js';
import { readable } from '../../contract/readable.js';

/** The text that a document has of its lock, JSON. */
interface State {
  /** Empty, as is the holder: there was no lease yet. */
  readonly token: string;
  readonly holder: string;
  readonly fence: number;
  readonly job?: string | undefined;
  readonly ended?: ReleaseOutcome | undefined;
  readonly jobs?: Readonly<Record<string, Start>> | undefined;
}

const NO_LEASE: Lease = { token: '', holder: '', fencingToken: 0 };

/** The state that goes with what is kept of a lock. */
export function stateOf({ lease = NO_LEASE, ended, starts, more }: LockRecord): string {
  const { token, holder, fencingToken: fence, job } = lease;
  const jobs = starts.size === 0 ? undefined : Object.fromEntries(starts);
  const state: State = { token, holder, fence, job, ended, jobs };
  return asciiJson(more === undefined ? state : { ...more, ...state });
}

/** A document as the rules see it. @throws LockStateError if its state is not one that we have written */
export function lockOf(read: ReadDocument): LockDocument {
  const { name, version, by, until, since, state } = read;
  if (version === '') return { stranger: by, starts: new Map(), until, since };
  const { lease, ended, starts, more } = parsed(name, state);
  const isOurs = by === (lease === undefined ? '' : byOf(lease, ended));
  return { lease, ended, stranger: isOurs ? undefined : by, starts, more, until, since };
}

/** A document as people see it: one with a broken state is anybody's. */
export function readableLock(read: ReadDocument): LockDocument {
  try {
    return lockOf(read);
  } catch {
    return lockOf({ ...read, version: '' });
  }
}

function parsed(name: string, text: string): Omit<Required<LockRecord>, 'stranger'> {
  const state = readable(text, isState);
  if (state === undefined)
    throw new LockStateError(
      name,
      `what the store keeps of it is not what this library writes: ${text.slice(0, 100)}. Delete it.`,
    );
  const { token, holder, fence, job, ended, jobs = {}, ...more } = state;
  const starts: Starts = new Map(Object.entries(jobs));
  if (token === '') return { lease: undefined, ended: undefined, starts, more };
  const lease = { token, holder, fencingToken: fence };
  return { lease: job === undefined ? lease : { ...lease, job }, ended, starts, more };
}

function isState(value: unknown): value is State {
  const { token, holder, fence, job = '', ended = '', jobs = {} } = (value ?? {}) as Partial<State>;
  const isText = [token, holder, job, ended].every((text) => typeof text === 'string');
  return isText && Number.isSafeInteger(fence) && Object.values(jobs).every(isStart);
}

function isStart(start: unknown): boolean {
  const { tick, attempt, due, interval } = (start ?? {}) as Readonly<Record<string, unknown>>;
  return [tick, attempt].every(Number.isFinite) || [due, interval].every(Number.isFinite);
}
