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

/** What the name of the table of entries adds to the name of the table of the locks. */
export type Suffix = '' | '_entries';
const ENTRIES: Suffix = '_entries';

/**
 * The names of the tables of a store in statements. They have the schema as soon as it is known: `shedlock` alone may mean another table on a
 * connection that somebody has used before.
 */
export class TableNames {
  /** The name of the table of the locks, without quotes. */
  readonly table: string;
  /** Whether a person has said where the tables are. */
  readonly given: boolean;
  /** Where the tables are, if that is known for good. */
  #schema: string | undefined;

  /**
   * @param rules the quotation mark, and the longest name, bytes: databases cut or refuse longer ones
   * @throws SchedulerLockConfigError if a name is invalid
   */
  constructor(
    { table = SQL_DEFAULTS.table, schema }: SqlStoreOptions,
    private readonly rules: { readonly quote: '"' | '`'; readonly maxLength: number },
  ) {
    this.table = table;
    this.#schema = schema;
    this.given = schema !== undefined;
    const { maxLength } = rules;
    const problems = [
      ...(schema === undefined ? [] : problemsOf('schema', schema, maxLength)),
      ...problemsOf('table', table, maxLength - ENTRIES.length),
    ];
    if (problems.length > 0) throw new SchedulerLockConfigError(problems);
  }

  get schema(): string | undefined {
    return this.#schema;
  }

  /** From now on all names have this schema. */
  settle(schema: string): void {
    this.#schema = schema;
  }

  /** A table, quoted. */
  quoted(suffix: Suffix = ''): string {
    const name = this.quotedName(this.table + suffix);
    return this.#schema === undefined ? name : `${this.quotedName(this.#schema)}.${name}`;
  }

  /** Schemas that the store finds, and users, may have any name. */
  quotedName(name: string): string {
    const { quote } = this.rules;
    return quote + name.replaceAll(quote, quote + quote) + quote;
  }
}

/** So no name needs more than quotation marks, and no `app.shedlock` becomes the name of a table. */
function problemsOf(option: string, name: unknown, maxLength: number): string[] {
  if (typeof name === 'string' && /^[\p{L}\p{N}_-]+$/u.test(name) && Buffer.byteLength(name) <= maxLength)
    return [];
  const apart = option === 'table' ? ' A schema has an option of its own: schema.' : '';
  return [
    `store: ${option}: got ${show(name)}. Give a bare name of letters, digits, _ and -, without quotes and dots, of at most ${maxLength} bytes.${apart}`,
  ];
}

/**
 * Where a table is that has no `schema`, or why nobody can tell. `null`: nowhere.
 *
 * @param usual where a new connection looks; `undefined`: that is not known
 * @param by the statement by which somebody leads a connection elsewhere
 */
export function placeOf(
  here: string | null,
  usual: string | null | undefined,
  by: string,
): string | { readonly problem: string } {
  const shown = (place: string | null): string => (place === null ? 'nowhere' : `in ${place}`);
  if (usual !== undefined && here !== usual)
    return {
      problem: `Somebody has led this connection elsewhere (${by}): it looks ${shown(here)}, and a new connection ${shown(usual)}. Say where the table is: give the store the option \`schema\`.`,
    };
  if (here !== null) return here;
  return {
    problem:
      'The connection looks in no schema or database that exists and that the user may use. Give one to the pool, or to the store: the option `schema`.',
  };
}
