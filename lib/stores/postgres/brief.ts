import { LOCK_WAIT } from '../sql/migration.js';

/** A pool of `pg`, which takes a statement with a limit of its own: its connection is closed if nobody answers. */
export interface Pool {
  query(statement: { text: string; values: unknown[]; query_timeout: number }): Promise<unknown>;
}

/** Anything else that has a `query()` may not take an object. */
export function isPool(client: unknown): client is Pool {
  const { connect, totalCount } = Object(client) as Readonly<Record<string, unknown>>;
  return typeof connect === 'function' && typeof totalCount === 'number';
}

/**
 * A statement that fails when it has waited {@link LOCK_WAIT} for a lock: in one statement, as there is no session to set that in, and
 * for the transaction only.
 */
export function briefly(statement: string): string {
  let quote = '$migration$';
  // A table may have any name.
  while (statement.includes(quote)) quote = quote.replace('$m', '$mm');
  return `DO ${quote} BEGIN PERFORM set_config('lock_timeout', '${LOCK_WAIT}s', true); ${statement}; END ${quote}`;
}
