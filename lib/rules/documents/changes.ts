import { newId } from '../../base/shared.js';
import { byOf } from '../lock/by.js';
import type { Snapshot } from './known.js';
import type { Change, ReadDocument } from '../../contract/port.js';
import { become, isTaken, type Next } from '../lock/document.js';
import { lockOf, stateOf } from '../lock/state.js';

/**
 * What was read of a lock.
 *
 * @param problem why the place cannot keep it
 * @throws LockStateError if its state is not one that we have written; and `problem`
 */
export function lookAt(read: ReadDocument | undefined, time: number, at: number, problem?: Error): Snapshot {
  if (problem !== undefined) throw problem;
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
  const by = stranger ?? (lease === undefined ? '' : byOf(lease, ended));
  const version = newId();
  const { document, seen, time, at } = look;
  const change: Writable<Change> = {
    name,
    seen: seen && {
      version: seen.version,
      by: seen.by,
      taken: document !== undefined && isTaken(document, now),
    },
    version,
    by,
    state: stateOf(kept),
  };
  if (end !== undefined) change.end = end;
  if (begins !== undefined) change.begins = begins;
  return { change, after: { document: become(document, next, now), seen: { version, by }, time, at } };
}

type Writable<T> = { -readonly [key in keyof T]: T[key] };
