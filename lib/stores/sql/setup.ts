import type { TableNames } from './table-name.js';

/** Options of the SQL that a person runs so that the store has all that it needs. */
export interface SetupOptions {
  /** The user of the applications; absent: the rights are comments. */
  readonly user?: string | undefined;
  /** Makes the table of the locks as ShedLock documents it, and adds our columns. */
  readonly shedlock?: boolean | undefined;
}

/** What the SQL of a setup needs to know besides the names of the tables. */
export interface SetupFacts {
  readonly user: string | undefined;
  /** The statements for the table of the locks; absent: those that create it. */
  readonly locks?: readonly string[] | undefined;
}

/** What differs between the kinds of databases. */
export interface SetupWords {
  creation(table: string): readonly string[];
  entries(names: TableNames): readonly string[];
  /** A comment for the reader, about these statements for the locks. */
  note?(locks: readonly string[], table: string): string | undefined;
  account(user: string): string;
  /** Makes the schema or database. */
  readonly home: string;
  /** The right to use the schema; absent: it needs none. */
  readonly use?: string;
}

/** All SQL for a store whose user may create nothing, as a text for people, which can be run as a whole. */
export function setupText(names: TableNames, { user, locks }: SetupFacts, words: SetupWords): string {
  const { schema } = names;
  const to = `TO ${user === undefined ? '<user>' : words.account(user)}`;
  const home = schema === undefined ? undefined : names.quotedName(schema);
  const ours = locks ?? words.creation(names.quoted());
  const note = words.note?.(ours, names.quoted());
  const withHome = (what: string | undefined): string[] =>
    home === undefined || what === undefined ? [] : [`${what} ${home}`];
  const rights = [
    ...withHome(words.use).map((use) => `${use} ${to}`),
    `GRANT SELECT, INSERT, UPDATE ON ${names.quoted()} ${to}`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${names.quoted('_entries')} ${to}`,
  ];
  return textOf([
    ['Where the tables are', names.given ? withHome(words.home) : []],
    [note === undefined ? 'Locks' : `Locks. ${note}`, ours],
    ["Queued calls (onHeld: 'queue'), and histories (insight)", words.entries(names)],
    ['Rights of the user', user === undefined ? rights.map((right) => `-- ${right}`) : rights],
  ]);
}

const textOf = (parts: readonly (readonly [what: string, statements: readonly string[]])[]): string =>
  parts
    .filter(([, statements]) => statements.length > 0)
    .flatMap(([what, statements]) => [`-- ${what}`, ...statements.map((statement) => `${statement};`)])
    .join('\n');
