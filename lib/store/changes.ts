import { randomUUID } from 'node:crypto';
import { byOf } from './by.js';
import type { Look } from './guesses.js';
import type { Change, ReadDocument, Seen } from './port.js';
import { isTaken, type LockDocument, type Next, NOTHING } from './rules/document.js';
import { lockOf, stateOf } from './state.js';

/**
 * What was read of a lock.
 *
 * @param problem why the place cannot keep it
 * @throws LockStateError if its state is not one that we have written; and `problem`
 */
export function lookAt(read: ReadDocument | undefined, time: number, at: number, problem?: Error): Look {
  if (problem !== undefined) throw problem;
  if (read === undefined) return { document: undefined, seen: null, time, at };
  const { version, by } = read;
  return { document: lockOf(read), seen: { version, by }, time, at };
}

/** A change to be written, and how the lock looks then. */
export interface Written {
  readonly change: Change;
  readonly after: Look;
}

/** What a rule has decided, over what was seen. @param now by the database's clock, as the rule was told */
export function changeOf(name: string, look: Look, next: Next, now: number): Written {
  const { kept, end, begins } = next;
  const { lease, ended, stranger } = kept;
  const by = stranger ?? (lease === undefined ? '' : byOf(lease, ended));
  const version = randomUUID();
  const change: Change = {
    name,
    seen: look.seen && { ...look.seen, taken: look.document !== undefined && isTaken(look.document, now) },
    ...(end === undefined ? undefined : { end }),
    ...(begins === undefined ? undefined : { begins }),
    version,
    by,
    state: stateOf(kept),
  };
  return { change, after: { ...look, document: become(look.document, next, now), seen: { version, by } } };
}

/** How a lock looks when a change is written. */
export function become(
  document: LockDocument = NOTHING,
  { kept, end, begins }: Next,
  now: number,
): LockDocument {
  const until = end === undefined ? document.until : now + end;
  return { ...kept, until, since: begins === true ? now : document.since };
}

/** Whether a look has found what was seen before. */
export function isSame(before: Seen | null | undefined, now: Seen | null): boolean {
  if (before === undefined || before === null || now === null) return before === now;
  return before.version === now.version && before.by === now.by && before.taken === now.taken;
}
