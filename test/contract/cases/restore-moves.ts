import { check, show } from '../../../lib/testing/port/assert.js';
import type { LeaseRef } from '../../../lib/contract/lock-store.js';
import type { Kit } from './kit.js';

/** The fencing token that the store has on record for a lease, read by a repeated acquire (rule 2). */
export async function recorded(kit: Kit, lease: LeaseRef): Promise<number | undefined> {
  const { fencingToken: _, ...request } = lease;
  const result = await kit.store.acquire(request);
  return result.acquired ? result.fencingToken : undefined;
}

export async function checkRecorded(kit: Kit, lease: LeaseRef, expected: number): Promise<void> {
  const token = await recorded(kit, lease);
  check(token === expected, () => {
    return `the fencing token should be the greater one, ${expected}, but the store has ${show(token)}`;
  });
}

export const JOB = 'Contract.job';
export const TICK = 1_760_000_000_000;

/** A lease that the store granted after this one, before it was set back: for the store, a lease that it never granted. */
export function since(kit: Kit, older: LeaseRef, fields: Partial<LeaseRef> = {}): LeaseRef {
  return kit.stranger(older.name, { fencingToken: older.fencingToken + 1, ...fields });
}
