import type { Fault, Row } from '../sql/dialect.js';
import { sql } from './sql-text.js';

/** The database of the connection, the user, and whether the server ignores case in names of databases. */
export const CURRENT_DATABASE = sql`SELECT DATABASE() AS \`here\`, @@lower_case_table_names AS \`folds\`, CURRENT_USER() AS \`user\``;

/**
 * Reads the answer to {@link CURRENT_DATABASE}: the database, or why it cannot be told. If the database is not that of
 * a new connection, somebody has changed it (USE).
 *
 * @param usual the database of a new connection; `null`: none; `undefined`: that is not known
 */
export function databaseIn(row: Row | undefined, usual: string | null | undefined): string | Fault {
  const { here: name = null } = (row ?? {}) as { here?: string | null };
  if (usual !== undefined && !isSame(name, usual, Number(row?.['folds']) !== 0)) {
    const by = usual === null ? 'in none' : `in \`${usual}\``;
    return {
      problem:
        `Somebody has changed the database of this connection (USE): it is ${name === null ? 'in none' : `in \`${name}\``}, and a new ` +
        `connection of the pool is ${by}. Say where the table is: give the store the option \`schema\`.`,
    };
  }
  if (name !== null) return name;
  return {
    problem:
      'The connection has no database. Give one to the pool (`database`), or to the store: the option `schema`.',
  };
}

function isSame(one: string | null, other: string | null, folds: boolean): boolean {
  return one === other || (folds && one?.toLowerCase() === other?.toLowerCase());
}
