import { OUR_COLUMNS, type TableDdl } from './sql-table.js';

/** Options of the SQL that a person runs so that the store has all that it needs. */
export interface SetupOptions {
  /** The user of the applications; absent: the rights are comments. */
  readonly user?: string | undefined;
  /** Makes the table of the locks as ShedLock documents it, and adds our columns. */
  readonly shedlock?: boolean | undefined;
}

/**
 * All SQL for a store whose user may create nothing, as a text for people, which can be run as a whole.
 *
 * @param locks the statements for the table of the locks
 */
export function setupText(
  ddl: TableDdl,
  { user, shedlock = false }: SetupOptions,
  locks = shedlock ? [ddl.shedlock, ddl.addition(OUR_COLUMNS)] : ddl.creation,
): string {
  const { names, addition, entries, account, home, use } = ddl;
  const to = `TO ${user === undefined ? '<user>' : account(user)}`;
  const schema = names.schema === undefined ? undefined : names.quotedName(names.schema);
  // A user without rights on a table does not see that the table exists.
  const note = locks.some((statement) => statement.startsWith('ALTER'))
    ? ''
    : `. If ShedLock has made this table, run this besides, once: ${addition(OUR_COLUMNS)};`;
  const rights = [
    ...(schema === undefined || use === undefined ? [] : [`${use} ${schema} ${to}`]),
    `GRANT SELECT, INSERT, UPDATE ON ${names.quoted()} ${to}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${names.quoted('_entries')} ${to}`,
  ];
  const parts: readonly (readonly [what: string, statements: readonly string[]])[] = [
    ['Where the tables are', names.given ? [`${home} ${schema}`] : []],
    [`Locks${note}`, locks],
    ["Queued calls (onHeld: 'queue'), and histories (insight)", entries],
    ['Rights of the user', user === undefined ? rights.map((right) => `-- ${right}`) : rights],
  ];
  return parts
    .filter(([, statements]) => statements.length > 0)
    .flatMap(([what, statements]) => [`-- ${what}`, ...statements.map((statement) => `${statement};`)])
    .join('\n');
}

/** Statements as a file. */
export const scriptOf = (statements: readonly string[]): string =>
  statements.map((statement) => `${statement};\n`).join('');
