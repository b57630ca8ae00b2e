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
import type { Entry, NewEntry } from './entries.js';
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
interface CallBody {
  readonly id: string;
  readonly job: string;
  readonly key?: string;
  readonly merged: number;
  readonly redeliver: number;
  readonly delivery: number;
  readonly queuedAt: number;
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
}

export const keyOfCall = (lock: string, id: string) => ({ lock, id: JSON.stringify([CALL, id]) });

/** The slot of the call of a job and key that no lease has taken yet. */
export const openSlot = ({ job, key }: Pick<NewQueuedCall, 'job' | 'key'>): string | undefined =>
  key === undefined ? undefined : `open ${hashOf(job, key)}`;

/** The slot, and the version, of the call that the lease with this token has taken. */
export const takenBy = (token: string): string => `taken ${hashOf(token)}`;

/** A call that waits. @param merged for how many calls it stands besides */
export function newEntry(
  { name, id, job, key, args, redeliver }: NewQueuedCall,
  now: number,
  place: number,
  merged = 0,
): NewEntry {
  const facts = { id, job, ...(key !== undefined && { key }), merged, redeliver, delivery: 0 };
  return {
    ...keyOfCall(name, id),
    ...callOf({ job, slot: openSlot({ job, ...(key !== undefined && { key }) }), place }),
    version: newId(),
    over: [null],
    keep: QUEUED_CALLS_KEPT,
    body: bodyOf({ ...facts, queuedAt: Math.trunc(now) }, args),
  };
}

/** A call that waits, with the arguments of others with its key. @param newer those, in their order */
export function mergedEntry(call: StoredCall, newer: readonly string[], now: number): NewEntry {
  const { entry, job } = call;
  const own = callOf({ job, slot: openSlot(call), place: entry.place });
  const args = newer.reduce(mergedArguments, call.args);
  const merged = call.merged + newer.length;
  return { ...rewritten(call, now), ...own, body: bodyOf({ ...factsOf(call), merged }, args) };
}

/** A call that a lease takes. */
export function takenEntry(call: StoredCall, token: string, now: number): NewEntry {
  const { entry, job, args, delivery } = call;
  const slot = takenBy(token);
  const facts = { ...factsOf(call), delivery: delivery + 1, taken: token };
  const own = callOf({ job, slot, place: entry.place });
  return { ...rewritten(call, now), ...own, version: slot, body: bodyOf(facts, args) };
}

/** A call whose run was interrupted. */
export function openedEntry(call: StoredCall, now: number): NewEntry {
  const { entry, job, args } = call;
  const facts = { ...factsOf(call), taken: undefined };
  return { ...rewritten(call, now), ...callOf({ job, place: entry.place }), body: bodyOf(facts, args) };
}

/** A call that becomes a dead letter. */
export function deadEntry(call: StoredCall, dead: DeadLetter['reason'], now: number): NewEntry {
  const facts = { ...factsOf(call), taken: undefined, dead, place: call.entry.place };
  return {
    ...rewritten(call, now),
    kind: DEAD,
    keep: QUEUED_CALLS_KEPT,
    body: bodyOf(facts, call.args),
  };
}

/** A dead letter that is put back. */
export function revivedEntry(call: StoredCall, now: number): NewEntry {
  const { entry, job, args, place = entry.place } = call;
  const facts = { ...factsOf(call), delivery: 0, dead: undefined, place: undefined };
  const own = callOf({ job, place });
  return { ...rewritten(call, now), ...own, keep: QUEUED_CALLS_KEPT, body: bodyOf(facts, args) };
}

/** Anything that cannot be read as a call goes where it stops no other: nobody can run it. */
export const unreadableEntry = ({ lock, id, version, body }: Entry): NewEntry => ({
  lock,
  id,
  version: newId(),
  over: [version],
  kind: DEAD,
  keep: QUEUED_CALLS_KEPT,
  body,
});

const callOf = ({ job, slot, place }: { job: string; slot?: string | undefined; place: number }) => ({
  kind: CALL,
  job,
  ...(slot !== undefined && { slot }),
  place,
});

/** An entry over that of a call, kept for as long as that one. */
function rewritten({ entry: { lock, id, version, until } }: StoredCall, now: number) {
  return { lock, id, version: newId(), over: [version], keep: until - now };
}

function factsOf({ entry: _entry, args: _args, ...facts }: StoredCall): CallBody {
  return facts;
}

const bodyOf = (facts: CallBody, args: string): string => `${asciiJson(facts)}\n${args}`;

/** A queued call, or a dead letter; `undefined` if it cannot be read. */
export function storedCall(entry: Entry): StoredCall | undefined {
  const { body } = entry;
  const end = body.indexOf('\n');
  const facts = readable(body.slice(0, Math.max(0, end)), isKept);
  return facts && { ...facts, entry, args: body.slice(end + 1) };
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
  { id, job, key, delivery }: StoredCall,
  reason: DeadLetter['reason'],
  at: number,
): DeadLetter => ({
  id,
  job,
  ...(key !== undefined && { key }),
  deliveries: delivery,
  reason,
  at: Math.trunc(at),
});

const hashOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');
