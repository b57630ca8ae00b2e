import { createHash } from 'node:crypto';
import { newId } from '../../base/shared.js';
import {
  type DeadLetter,
  type DeliveredCall,
  type NewQueuedCall,
  QUEUED_CALLS_KEPT,
} from '../../contract/queued-call-store.js';
import { mergedArguments } from '../../contract/queued-arguments.js';
import { readable } from '../../contract/readable.js';
import type { Entry, EntryQuery, LockEntries, NewEntry } from './entries.js';
import { asciiJson } from '../../base/wording.js';

/**
 * The entries of a lock's queued calls
 *
 *   state         kind   slot                       job   place               version
 *   waits         call   its job and key, hashed    its   by time, priority   a new one for each write
 *   is taken      call   the token of the lease     its   the same            taken, by that token
 *   put back      call   none                       its   the same            a new one
 *   dead letter   dead   none                       none  by its death        a new one
 *
 * The id is that of the call, and stays. The body is a line of JSON, and the arguments of the call as they were given.
 */
export const [CALL, DEAD] = ['call', 'dead'];

/** A queued call, as it is kept. */
interface CallBody extends Omit<DeliveredCall, 'args'>, Pick<NewQueuedCall, 'redeliver'> {
  /** The token of the lease that has taken it. */
  readonly taken?: string | undefined;
  /** Of a dead letter: why it is one, and its place as a queued call. */
  readonly dead?: DeadLetter['reason'] | undefined;
  readonly place?: number | undefined;
}

/** A queued call or a dead letter, as it was read. */
export interface StoredCall extends CallBody {
  readonly entry: Entry;
  readonly args: string;
  /** The database's time when it was read. */
  readonly now: number;
}

/** Calls that become one. */
export type Calls = [NewQueuedCall, ...NewQueuedCall[]];

export const keyOfCall = (lock: string, id: string) => ({ lock, id: JSON.stringify([CALL, id]) });

/** The slot of the call of a job and key that no lease has taken yet. */
export const openSlot = ({ job, key }: Pick<NewQueuedCall, 'job' | 'key'>): string | undefined =>
  key === undefined ? undefined : `open ${hashOf(job, key)}`;

/** The slot, and the version, of the call that the lease with this token has taken. */
export const takenBy = (token: string): string => `taken ${hashOf(token)}`;

/** A call that waits. @param all that call, and others that have become one with it, in their order */
export function newEntry(all: Calls, now: number, place: number): NewEntry {
  const [call, ...newer] = all;
  const { name, id, job, key, redeliver } = call;
  const slot = openSlot(call);
  const facts = { id, job, ...(key !== undefined && { key }), merged: newer.length, redeliver, delivery: 0 };
  return {
    ...keyOfCall(name, id),
    kind: CALL,
    job,
    place,
    ...(slot !== undefined && { slot }),
    version: newId(),
    over: [null],
    keep: QUEUED_CALLS_KEPT,
    body: bodyOf({ ...facts, queuedAt: Math.trunc(now) }, newest(call.args, newer)),
  };
}

/** A call that waits, with the arguments of others with its key. */
export const mergedEntry = (call: StoredCall, newer: Calls): NewEntry => {
  const all = { ...call, args: newest(call.args, newer), merged: call.merged + newer.length };
  const slot = openSlot(call);
  return rewritten(all, { ...waiting(call), ...(slot !== undefined && { slot }) });
};

const newest = (args: string, newer: readonly NewQueuedCall[]): string =>
  newer.reduce((kept, call) => mergedArguments(kept, call.args), args);

/** A call that a lease takes. */
export const takenEntry = (call: StoredCall, token: string): NewEntry => {
  const slot = takenBy(token);
  const taken = { ...call, delivery: call.delivery + 1, taken: token };
  return rewritten(taken, { ...waiting(call), slot, version: slot });
};

/** A call whose run was interrupted. */
export const openedEntry = (call: StoredCall): NewEntry =>
  rewritten({ ...call, taken: undefined }, waiting(call));

/** A call that becomes a dead letter. */
export const deadEntry = (call: StoredCall, dead: DeadLetter['reason']): NewEntry => {
  const letter = { ...call, taken: undefined, dead, place: call.entry.place };
  return rewritten(letter, { kind: DEAD, keep: QUEUED_CALLS_KEPT });
};

/** A dead letter that is put back. */
export const revivedEntry = (call: StoredCall): NewEntry => {
  const revived = { ...call, delivery: 0, dead: undefined, place: undefined };
  return rewritten(revived, { ...waiting(call), keep: QUEUED_CALLS_KEPT });
};

/** How a call waits, or is taken. */
const waiting = (call: StoredCall) => ({ kind: CALL, job: call.job, place: placeOf(call) });

/** An entry over that of a call as it was read, kept for as long as that one unless something else is said. */
const rewritten = (
  { entry, args, now, ...facts }: StoredCall,
  how: Partial<NewEntry> & Pick<NewEntry, 'kind'>,
): NewEntry => ({ ...over(entry), keep: entry.until - now, ...how, body: bodyOf(facts, args) });

const over = ({ lock, id, version }: Entry) => ({ lock, id, version: newId(), over: [version] });

const bodyOf = (facts: CallBody, args: string): string => `${asciiJson(facts)}\n${args}`;

/** The queued calls or dead letters that a query finds, but for those that cannot be read. */
export async function storedCalls(entries: LockEntries, query: EntryQuery): Promise<StoredCall[]> {
  const read = await entries.list(query);
  return read.entries.flatMap((entry) => storedCall(entry, read.now) ?? []);
}

/**
 * The first queued call that a query finds. What cannot be read goes where it stops no other: nobody can run it.
 *
 * @param but the id of one that does not count
 */
export async function firstCall(
  entries: LockEntries,
  query: EntryQuery,
  but?: string,
): Promise<StoredCall | undefined> {
  for (;;) {
    const read = await entries.list(query);
    const entry = read.entries.find(({ id }) => id !== but);
    const call = entry && storedCall(entry, read.now);
    if (entry === undefined || call !== undefined) return call;
    const { body } = entry;
    await entries.put([{ ...over(entry), kind: DEAD, keep: QUEUED_CALLS_KEPT, body }]);
  }
}

function storedCall(entry: Entry, now: number): StoredCall | undefined {
  const { body } = entry;
  const end = body.indexOf('\n');
  const facts = readable(body.slice(0, Math.max(0, end)), isKept);
  return facts && { ...facts, entry, args: body.slice(end + 1), now };
}

function isKept(value: unknown): value is CallBody {
  const { id, job, merged, redeliver, delivery, queuedAt } = (value ?? {}) as Partial<CallBody>;
  const numbers = [merged, redeliver, delivery, queuedAt];
  return typeof id === 'string' && typeof job === 'string' && numbers.every(Number.isFinite);
}

/** The place of a queued call in the queue, or of a dead letter when it was there. */
export const placeOf = ({ entry, place = entry.place }: StoredCall): number => place;

/** What the holder who runs a queued call gets of it. @param more deliveries than it had when it was read */
export const delivered = (call: StoredCall, more = 0): DeliveredCall => {
  const { id, job, key, args, delivery, queuedAt, merged } = call;
  return { id, job, ...(key !== undefined && { key }), args, delivery: delivery + more, queuedAt, merged };
};

/** @param at when it became a dead letter */
export const letterOf = (
  { id, job, key, delivery: deliveries }: StoredCall,
  reason: DeadLetter['reason'],
  at: number,
): DeadLetter => ({ id, job, ...(key !== undefined && { key }), deliveries, reason, at: Math.trunc(at) });

const hashOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');
