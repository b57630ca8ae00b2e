import { newId } from '../../base/shared.js';
import type { Change, ReadDocument, SeenDocument } from '../../contract/port.js';
import { byOf } from '../lock/by.js';
import { become, isTaken, type LockDocument, type Next } from '../lock/document.js';
import { lockOf, stateOf } from '../lock/state.js';

/** The document of a lock, and what a change of it is written over. */
export interface Snapshot {
  readonly document: LockDocument | undefined;
  /** As it was found; `null`: there is none. */
  readonly seen: Omit<SeenDocument, 'taken'> | null;
  /** What the database's clock said, */
  readonly time: number;
  /** when it answered, monotonic. */
  readonly at: number;
}

/**
 * What was read of a lock.
 *
 * @throws LockStateError if its state is not one that we have written
 */
export function lookAt(read: ReadDocument | undefined, time: number, at: number): Snapshot {
  if (read === undefined) return { document: undefined, seen: null, time, at };
  const { version, by } = read;
  return { document: lockOf(read), seen: { version, by }, time, at };
}

/** A change to be written, and how the lock looks then. */
export interface Written {
  readonly change: Change;
  readonly after: Snapshot;
}

/** What a rule has decided, over what was seen. @param now by the database's clock, as the rule was told */
export function changeOf(name: string, look: Snapshot, next: Next, now: number): Written {
  const { kept, end, begins } = next;
  const { lease, ended, stranger } = kept;
  const { document, seen, time, at } = look;
  const version = newId();
  const by = stranger ?? (lease === undefined ? '' : byOf(lease, ended));
  const taken = document !== undefined && isTaken(document, now);
  const change: { -readonly [key in keyof Change]: Change[key] } = {
    name,
    seen: seen && { version: seen.version, by: seen.by, taken },
    version,
    by,
    state: stateOf(kept),
  };
  if (end !== undefined) change.end = end;
  if (begins !== undefined) change.begins = begins;
  const after = become(document, next, now);
  return { change, after: { document: after, seen: { version, by }, time, at } };
}
