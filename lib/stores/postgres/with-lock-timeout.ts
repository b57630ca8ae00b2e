import { LOCK_WAIT } from '../sql/dialect.js';

/** A pool of `pg`, which takes a limit per statement, and closes a connection that does not answer within it. */
export interface Pool {
  query(statement: { text: string; values: unknown[]; query_timeout: number }): Promise<unknown>;
}

/** Whether a client is a pool of `pg`: another client's `query()` may not take an object. */
export function isPool(client: unknown): client is Pool {
  const { connect, totalCount } = Object(client) as Readonly<Record<string, unknown>>;
  return typeof connect === 'function' && typeof totalCount === 'number';
}

/**
 * Wraps a statement so that it fails when it has waited
 * {@link LOCK_WAIT} for a lock. In one statement, as there is no session in which to set the limit; it applies to this transaction only.
 */
export function withLockTimeout(statement: string): string {
  let quote = '$migration$';
  // A table may have any name.
  while (statement.includes(quote)) quote = quote.replace('$m', '$mm');
  return `DO ${quote} BEGIN PERFORM set_config('lock_timeout', '${LOCK_WAIT}s', true); ${statement}; END ${quote}`;
}
