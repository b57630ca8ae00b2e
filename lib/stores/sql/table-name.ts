import { SchedulerLockConfigError } from '../../base/errors.js';
import { show } from '../../base/wording.js';

/** Options of a store in a database. */
export interface SqlStoreOptions {
  /**
   * Name of the table. The default is ShedLock's.
   *
   * @default 'shedlock'
   */
  readonly table?: string | undefined;
  /**
   * Where the table is: a schema in PostgreSQL, a database in MySQL. The schema has to exist. Give this option if somebody
   * may have led a connection of the pool elsewhere (`SET search_path`, `USE`) before the store first looks at its table. Without it, that
   * look fails.
   *
   * @default the schema in which a new connection of the pool looks. The store finds out once, and names its tables in full from then on
   */
  readonly schema?: string | undefined;
  /**
   * Whether the store creates the table when the application starts, or adds the missing columns to one that ShedLock has created.
   * Each try takes at most 2 s, during which other users of the table have to wait. `false`: the store only looks. If something is missing,
   * the start fails, and the error has the SQL to run.
   *
   * @default true
   */
  readonly migrate?: boolean | undefined;
}

/** The defaults of these options. */
export const SQL_DEFAULTS = { table: 'shedlock', migrate: true } as const;

/** How a database takes names. */
export interface NameRules {
  /** The quotation mark, which is doubled inside a name. */
  readonly quote: '"' | '`';
  /** The longest name, bytes. The database would cut longer ones. */
  readonly maxLength: number;
  /** What else keeps a quoted name from being used. */
  readonly problem?: (quoted: string) => string | undefined;
}

/** What the name of the table of entries adds to the name of the table of the locks. */
export type Suffix = '' | '_entries';

/**
 * The names of the tables of a store in statements.
 *
 * 1. They are quoted, so that no name can be read as SQL.
 * 2. They have the schema as soon as it is known: `shedlock` alone may mean another table on a connection that somebody has used before.
 */
export class TableNames {
  /** The name of the table of the locks, without quotes. */
  readonly table: string;
  /** Whether a person has said where the tables are. */
  readonly given: boolean;
  /** Where the tables are, if that is known for good. */
  #schema: string | undefined;
  /** The table of the locks, quoted: each attempt asks for it. */
  #locks: string | undefined;

  /** @throws SchedulerLockConfigError if a name is invalid */
  constructor(
    { table = SQL_DEFAULTS.table, schema }: SqlStoreOptions,
    private readonly rules: NameRules,
  ) {
    this.table = table;
    this.#schema = schema;
    this.given = schema !== undefined;
    const problems = Object.entries({ ...(schema === undefined ? undefined : { schema }), table }).flatMap(
      ([option, name]) => {
        const problem = givenProblem(option, name) ?? this.#problemOf(name);
        return problem === undefined ? [] : [`store: ${option}: ${problem}`];
      },
    );
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
  }

  get schema(): string | undefined {
    return this.#schema;
  }

  /** From now on all names have this schema. */
  settle(schema: string): void {
    this.#schema = schema;
    this.#locks = undefined;
  }

  /**
   * A table, quoted.
   *
   * @param schema where the table is, unless that is settled
   * @throws SchedulerLockConfigError if its name is too long
   */
  quoted(suffix: Suffix = '', schema: string | undefined = this.#schema): string {
    if (suffix !== '' || schema !== this.#schema) return this.#quoted(suffix, schema);
    return (this.#locks ??= this.#quoted(suffix, schema));
  }

  #quoted(suffix: Suffix, schema: string | undefined): string {
    const name = this.table + suffix;
    const problem = this.#problemOf(name);
    if (problem !== undefined) throw new SchedulerLockConfigError([`store: table: ${problem}`]);
    return [...(schema === undefined ? [] : [schema]), name].map((each) => this.quotedName(each)).join('.');
  }

  quotedName(name: string): string {
    const { quote } = this.rules;
    return quote + name.replaceAll(quote, quote + quote) + quote;
  }

  /** Why there can be no table with this suffix; `undefined` if there can. */
  problemOf(suffix: Suffix): string | undefined {
    return this.#problemOf(this.table + suffix);
  }

  #problemOf(name: string): string | undefined {
    const { maxLength, problem } = this.rules;
    if (Buffer.byteLength(name) > maxLength)
      return `'${name.slice(0, 40)}…' is longer than ${maxLength} bytes.`;
    return problem?.(this.quotedName(name));
  }
}

function givenProblem(option: string, name: unknown): string | undefined {
  if (typeof name !== 'string') return `expected a text, got ${name === null ? 'null' : typeof name}.`;
  if (name === '') return 'it is empty.';
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(name)) return 'it holds a control character.';
  const parts = name.split('.').map(unquoted);
  if (parts.length === 2 && option === 'table')
    return `${show(name)} would be the name of a table, dot included. Give the schema apart: schema: ${show(parts[0])}, table: ${show(parts[1])}.`;
  if (parts.length > 1) return `${show(name)} has a dot. Give the bare name.`;
  return parts[0] === name
    ? undefined
    : `${show(name)} is quoted by the store itself. Give it without quotes.`;
}

/** A name without the quotes that it would have in SQL. */
const unquoted = (name: string): string =>
  /^(["`])(.+)\1$|^\[(.+)\]$/.exec(name)?.slice(2).find(Boolean) ?? name;

/** Why there can be no table of entries: its name is too long. */
export const entriesProblem = (names: TableNames): string | undefined =>
  names.problemOf('_entries') === undefined
    ? undefined
    : `The name of the table ${names.table}_entries is too long, so neither histories nor queued calls are kept. Give a shorter name (table).`;
