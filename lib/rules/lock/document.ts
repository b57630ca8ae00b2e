import { LockStateError } from '../../base/errors.js';
import type { Standing } from '../../contract/line.js';
import type { LeaseRef, ReleaseOutcome } from '../../contract/lock-store.js';
import type { Pause } from '../../contract/pause.js';
import type { ReadDocument } from '../../contract/port.js';
import { readable } from '../../contract/readable.js';
import { holderText, LOCKED_BY_LENGTH } from '../../base/lock-name.js';
import { asciiJson } from '../../base/wording.js';
import type { Start, Starts } from './starts.js';

/** A lock, as the rules see it. */
export interface LockDocument extends LockRecord {
  /** Until when the lock is taken, epoch milliseconds. */
  readonly until: number;
  /** When its newest lease began. */
  readonly since: number;
}

/** What a document keeps besides times. */
export interface LockRecord {
  /** The newest lease of this library, whatever has become of it. */
  readonly lease?: Lease | undefined;
  /** How that lease has ended. `undefined`: it was not released. */
  readonly ended?: ReleaseOutcome | undefined;
  /** The program that has written last, if it was another one. Our lease was over by then. */
  readonly stranger?: string | undefined;
  readonly starts: Starts;
  /** What a newer version of this library may have written. */
  readonly more?: Readonly<Record<string, unknown>>;
}

export type Lease = Pick<LeaseRef, 'token' | 'holder' | 'fencingToken' | 'job'>;

/** Decides on what is found of a lock. @param now of the database @param standing the line, if it was read */
export type Rule<T> = (
  document: LockDocument | undefined,
  now: number,
  standing?: readonly Standing[],
) => Decision<T>;

/** What a rule decides: an answer, and what has to be written before it is true. */
export interface Decision<T> {
  readonly answer: T;
  readonly change?: Next;
  /** Who is told when that is written: a call in line has its turn. */
  readonly hint?: Pick<Standing, 'token' | 'process'>;
  /** What the line must be first. When that is done, the rule decides once more, on what it then finds; so far nothing is decided. */
  readonly first?: LineChange;
  /** Calls in line that are over. They hold up nobody: the line need not lose them at once. */
  readonly over?: readonly Standing[];
}

/** A change of a line: a call enters, or leaves. */
export type LineChange = { readonly enters: Standing } | { readonly leaves: Standing };

/** What a document becomes. */
export interface Next {
  readonly kept: LockRecord;
  /** From now on the lock is taken for so many milliseconds; less than 0: it is free. Absent: as before. */
  readonly end?: number;
  /** Whether a lease begins. */
  readonly begins?: true;
}

/** Nothing is known of the lock. */
export const NOTHING: LockDocument = { starts: new Map(), until: -Infinity, since: 0 };

/** How a lock looks when a change is written, if there is one. */
export function become(
  document: LockDocument = NOTHING,
  { kept, end, begins }: Next = { kept: document },
  now: number,
): LockDocument {
  const until = end === undefined ? document.until : now + end;
  return { ...kept, until, since: begins === true ? now : document.since };
}

export const isTaken = ({ until }: LockDocument, now: number): boolean => until > now;

/** Rule 19: the pause that is in force. @param now of the database */
export function pauseOf(document: LockRecord | undefined, now: number): Pause | undefined {
  const pause = document?.more?.['paused'] as Pause | undefined;
  return pause !== undefined && pause.until > now ? pause : undefined;
}

/** The newest lease, if nothing but its time has ended it. */
export const openLease = ({ lease, ended, stranger }: LockRecord): Lease | undefined =>
  ended === undefined && stranger === undefined ? lease : undefined;

/** Rule 3: whether the newest lease is this one. The fencing token 0, of a grant without an answer, stands for any lease of its token. */
export function isOf({ lease, stranger }: LockDocument, { token, fencingToken }: LeaseRef): boolean {
  if (lease === undefined || stranger !== undefined || lease.token !== token) return false;
  return fencingToken === 0 || lease.fencingToken === fencingToken;
}

/**
 * Rule 3: whether the database may have forgotten a lease which is not that of the document: there is no document, or it names none, or an
 * older one, which was over when this one was granted. Not if another program has written last: there is no telling when that was.
 */
export function isForgotten(document: LockDocument | undefined, { fencingToken }: LeaseRef): boolean {
  if (document === undefined) return true;
  const { lease, stranger } = document;
  return stranger === undefined && (lease === undefined || lease.fencingToken < fencingToken);
}

/** Who has the lock, or had it last. */
export const holderOf = ({ stranger, lease }: LockDocument): { holder?: string } => {
  const holder = stranger ?? lease?.holder;
  return holder === undefined ? {} : { holder };
};

/** Milliseconds until a lock is free, if it has an end. Rounded down: a database may round up, and it is never told as later than the ttl. */
export const expiresIn = ({ until }: LockDocument, now: number): { expiresIn?: number } =>
  Number.isFinite(until) ? { expiresIn: Math.floor(until - now) } : {};

/**
 * Rule 6: the fencing token of the next lease: microseconds of the database's clock, so that it also grows over a database that has lost all
 * data, and more than the last one, whatever the clock says.
 *
 * @throws LockStateError if no safe integer is left
 */
export function nextFencingToken(name: string, { lease }: LockDocument, now: number): number {
  const next = Math.max((lease?.fencingToken ?? 0) + 1, Math.trunc(now * 1_000));
  if (next <= Number.MAX_SAFE_INTEGER) return next;
  throw new LockStateError(
    name,
    `its fencing token ${String(lease?.fencingToken)} leaves no room for a greater one. Correct what the store keeps of this lock.`,
  );
}

/** A slash, a UUID, another slash, a fencing token, one more slash and the longest outcome. */
const RESERVED = 1 + 36 + 1 + String(Number.MAX_SAFE_INTEGER).length + 1 + 'completed'.length;

/**
 * What a lease writes into `by`: `instance/token/fencing token`, and the outcome behind it once it was released. So it is another one for
 * each lease, and for one that has ended: what is compared with it is compared with this very lease while it lives.
 */
export function byOf({ holder, token, fencingToken }: Lease, ended?: ReleaseOutcome): string {
  const lease = `${holderText(holder, LOCKED_BY_LENGTH - RESERVED)}/${token}/${fencingToken}`;
  return ended === undefined ? lease : `${lease}/${ended}`;
}

/** Rule 5: the end of a lock that was released, ms from now: it stays free if the clock is set back by hours. People delete rows free for longer. */
export const FREE = -86_400_000;

/** What a lock looks like: after its lease was released, it may stay taken for a while. Another program tells nothing of that. */
export function lockState(document: LockDocument, now: number): 'free' | 'held' | 'cooling-down' {
  if (!isTaken(document, now)) return 'free';
  return document.stranger === undefined && document.ended !== undefined ? 'cooling-down' : 'held';
}

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
