import type { Fault, Row } from '../sql/dialect.js';
import { placeOf } from '../sql/table-name.js';
import { sql } from './sql-text.js';

/** The database of the connection, the user, and whether the server ignores case in names of databases. */
export const CURRENT_DATABASE = sql`SELECT DATABASE() AS \`here\`, @@lower_case_table_names AS \`folds\`, CURRENT_USER() AS \`user\``;

/**
 * Reads the answer to {@link CURRENT_DATABASE}: the database, or why it cannot be told.
 *
 * @param usual the database of a new connection; `null`: none; `undefined`: that is not known
 */
export function databaseIn(row: Row | undefined, usual: string | null | undefined): string | Fault {
  const { here = null } = (row ?? {}) as { here?: string | null };
  const isSame = Number(row?.['folds']) !== 0 && here?.toLowerCase() === usual?.toLowerCase();
  return placeOf(here, isSame ? here : usual, 'USE');
}
