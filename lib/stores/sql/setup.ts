/** Statements, and what they are for. */
interface SetupPart {
  readonly what: string;
  readonly statements: readonly string[];
}

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
  /** Where the tables are, unless their names are settled. */
  readonly schema?: string | undefined;
  /** The statements for the table of the locks; absent: those that create it. */
  readonly locks?: readonly string[] | undefined;
}

/** The parts of a setup. Each kind of database has statements of its own. */
export interface SetupParts {
  /** Makes the schema or database, if it was given. */
  readonly schema: readonly string[];
  readonly locks: readonly string[];
  /** A comment for the reader. */
  readonly note?: string | undefined;
  readonly entries: readonly string[];
  readonly rights: readonly string[];
}

/** Stands for the user if the name is not known. */
export const SOME_USER = '<user>';

/** The SQL as a text for people, which can be run as a whole. */
export function setupText(parts: SetupParts, isUserKnown: boolean): string {
  const all: readonly SetupPart[] = [
    { what: 'Where the tables are', statements: parts.schema },
    { what: parts.note === undefined ? 'Locks' : `Locks. ${parts.note}`, statements: parts.locks },
    { what: "Queued calls (onHeld: 'queue'), and histories (insight)", statements: parts.entries },
    {
      what: 'Rights of the user',
      statements: parts.rights.map((right) => (isUserKnown ? right : `-- ${right}`)),
    },
  ];
  return all
    .filter(({ statements }) => statements.length > 0)
    .flatMap(({ what, statements }) => [`-- ${what}`, ...statements.map((statement) => `${statement};`)])
    .join('\n');
}
