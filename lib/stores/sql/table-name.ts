import { SchedulerLockConfigError } from '../../errors.js';

/** Options of a store in a database. */
export interface SqlStoreOptions {
  /**
   * Name of the table. ShedLock calls it the same by default.
   *
   * @default 'shedlock'
   */
  readonly table?: string | undefined;
  /**
   * The place of the table: a schema in PostgreSQL, a database in MySQL. It has to exist.
   *
   * @default where the connection looks
   */
  readonly schema?: string | undefined;
  /**
   * Whether the store creates the table when the application starts, or adds the missing columns to one that ShedLock has created.
   * It tries for 2 s at a time, during which other users of the table have to wait. `false`: the store only looks; if something is
   * missing, it stops the start, and the error has the SQL to run.
   *
   * @default true
   */
  readonly migrate?: boolean | undefined;
}

/** The defaults, in one place. */
export const SQL_DEFAULTS = { table: 'shedlock', migrate: true } as const;

/**
 * The name of the table as it stands in statements: quoted, so that it can never be anything but a name.
 *
 * @param quote the quote character; doubled inside a name
 * @param maxLength the longest name that the database allows, bytes; it would cut longer ones
 * @throws SchedulerLockConfigError if a name is invalid
 */
export function quotedTable(
  { table = SQL_DEFAULTS.table, schema }: SqlStoreOptions,
  quote: '"' | '`',
  maxLength: number,
): string {
  const names = { ...(schema === undefined ? undefined : { schema }), table };
  const problems = Object.entries(names).flatMap(([option, name]) => {
    const problem = identifierProblem(name, maxLength);
    return problem === undefined ? [] : [`store: ${option}: ${problem}`];
  });
  if (problems.length > 0) throw new SchedulerLockConfigError(problems);
  return Object.values(names)
    .map((name) => quote + name.replaceAll(quote, quote + quote) + quote)
    .join('.');
}

function identifierProblem(name: unknown, maxLength: number): string | undefined {
  if (typeof name !== 'string') return `expected a text, got ${name === null ? 'null' : typeof name}.`;
  if (name === '') return 'it is empty.';
  if (Buffer.byteLength(name) > maxLength)
    return `'${name.slice(0, 40)}…' is longer than ${maxLength} bytes.`;
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(name)) return 'it holds a control character.';
  return undefined;
}
