import { LockStateError } from '../../base/errors.js';

/** A row as a driver answers it. Drivers represent numbers, times and JSON by different types. */
export type Row = Readonly<Record<string, unknown>>;

/*
 * Rows that only a person writes, or a program that is neither ShedLock nor ours: columns that ShedLock's documentation makes NOT NULL may
 * be NULL. A locked_by or a locked_at that is NULL is as good as an empty one.
 */

/** Until when a lock is taken, by its row. As for ShedLock, it is taken for ever if that is NULL. */
export const untilOf = (until: unknown): number => (until === null ? Infinity : Number(until));

/**
 * Why rows with such an end are decided on by nobody.
 *
 * @param table for messages
 * @param nameOf the name of a lock, by that of its row
 */
export function problemsOf(
  rows: readonly Row[],
  table: string,
  nameOf: (stored: string) => string = (stored) => stored,
): [name: string, problem: LockStateError][] {
  return rows.flatMap(({ name: stored, until }) => {
    if (typeof stored !== 'string' || until !== null) return [];
    const name = nameOf(stored);
    return [[name, new LockStateError(name, endless(table))]];
  });
}

const endless = (table: string): string =>
  `the column lock_until of its row in ${table} is NULL, so the lock is neither free nor taken; ShedLock never takes it. If nothing runs ` +
  `under it, run this: UPDATE ${table} SET lock_until = '2000-01-01' WHERE lock_until IS NULL;`;
