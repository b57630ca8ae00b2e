import { type Clock, systemClock } from '../../base/clock.js';
import type { Fault, SqlDialect, TableLook } from './dialect.js';
import { describeFailure } from './failure.js';
import type { TableNames } from './table-name.js';

/** For how long the store tries to create what is missing while others use the table, ms: less than an application waits for its start. */
const CREATING = 6_000;
/** The longest pause between two tries, in which other users of the table can go on, ms. */
const PAUSE = 1_000;
/** Several instances that start at once may make each other's statement fail, each at most once per statement. */
const TRIES = 20;

/** The table cannot be used. The message says what to do. */
export class TableError extends Error {}

/** The columns that ShedLock documents. A table without them belongs to another program. */
const SHEDLOCK_COLUMNS = ['name', 'lock_until', 'locked_at', 'locked_by'] as const;
/** The columns that we add. */
export const OUR_COLUMNS = ['version', 'state'] as const;
/** All columns, as a statement has them. */
export const COLUMNS = [...SHEDLOCK_COLUMNS, ...OUR_COLUMNS].join(', ');
export type OurColumn = (typeof OUR_COLUMNS)[number];

/** The SQL of the tables of a store. */
export interface TableDdl {
  readonly names: TableNames;
  /** The statements that create the table of the locks. Several instances may run them, also at once. */
  readonly creation: readonly string[];
  /** The table as ShedLock's README creates it. */
  readonly shedlock: string;
  /** The statement that adds these columns of ours. */
  addition(columns: readonly OurColumn[]): string;
  /** The statement after which `name` has room for long names, and for every character. */
  readonly widening: string;
  /** Of which types ShedLock's columns are in this table, and in that of ShedLock's documentation. */
  readonly fits: Readonly<Record<(typeof SHEDLOCK_COLUMNS)[number], RegExp>>;
  /** The statements that create the table of entries. Each can be repeated. */
  readonly entries: readonly string[];
  /** A user, for GRANT. */
  account(user: string): string;
  /** Makes the schema or database. */
  readonly home: string;
  /** The right to use the schema; absent: it needs none. */
  readonly use?: string;
}

/** What a table lacks, or why it is neither ours nor ShedLock's; `undefined` if the store can use it. @param types of its columns */
export function judge(types: ReadonlyMap<string, string>, ddl: TableDdl): Fault | undefined {
  const table = ddl.names.quoted();
  if (types.size === 0) return { missing: `The table ${table} does not exist.`, migration: ddl.creation };
  const foreign = SHEDLOCK_COLUMNS.filter((name) => !types.has(name)).join(', ');
  if (foreign !== '')
    return {
      problem: `The table ${table} has no column ${foreign}: it is not one of ShedLock's. Give another name (table).`,
    };
  const unfit = SHEDLOCK_COLUMNS.find((name) => !ddl.fits[name].test(String(types.get(name))));
  if (unfit !== undefined)
    return {
      problem:
        `The table ${table} is neither one that this store makes nor one that ShedLock documents: its column ${unfit} is ${types.get(unfit)}. ` +
        `Give another name (table), or change its columns and its key to those of this:\n${ddl.creation[0]};`,
    };
  const ours = OUR_COLUMNS.filter((name) => !types.has(name));
  if (ours.length === 0) return undefined;
  return { missing: `The table ${table} has no column ${ours.join(', ')}.`, migration: [ddl.addition(ours)] };
}

/**
 * The table of a store: created if it is missing and the store may, tried, and used from then on.
 *
 * The store creates it only until it was found complete. If the table vanishes under running instances, all live leases are forgotten: an
 * empty table would let other instances win while the holders still run.
 */
export class SqlTable<Table> {
  #ready: Table | undefined;
  /** A table that can be read, if not written. */
  #readable: Table | undefined;
  #opening: Promise<Table> | undefined;
  readonly #clock: Clock;

  constructor(
    private readonly dialect: Pick<SqlDialect<Table>, 'look' | 'attempt' | 'setup' | 'migrate' | 'failure'>,
    private readonly options: { migrate: boolean; clock?: Clock },
  ) {
    this.#clock = options.clock ?? systemClock;
  }

  /** The table, if calls can use it. */
  get ready(): Table | undefined {
    return this.#ready;
  }

  /** @throws TableError if the table cannot be used */
  async whenReady(): Promise<Table> {
    if (this.#ready !== undefined) return this.#ready;
    this.#opening ??= this.#open(this.options.migrate).finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  /**
   * The table for operations that only read: the user needs no right to write.
   *
   * @throws TableError if the table cannot be read
   */
  async whenReadable(): Promise<Table> {
    // Whoever only reads waits for nobody who has locked the table: the read itself has a limit, and names the table.
    return this.#ready ?? (this.#readable ??= this.#fit(await this.#look()));
  }

  /** Looks again, and creates what is missing even if the option `migrate` is false. @throws TableError as above */
  async migrate(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    await this.#open(true);
  }

  async #open(creates: boolean): Promise<Table> {
    const until = this.#clock.monotonic() + CREATING;
    for (let tries = 1; ; tries++) {
      const isOver = tries > TRIES || this.#clock.monotonic() >= until;
      const look = await this.#look();
      // A proxy may ask a replica that lags, and a user may not see what it has created.
      if (!('missing' in look) || !creates || isOver) {
        const table = this.#fit(look);
        await this.#told('', undefined, () => this.dialect.attempt());
        return (this.#ready = table);
      }
      const { missing, migration } = look;
      try {
        for (const statement of migration) await this.dialect.migrate(statement);
      } catch (error) {
        const failure = this.dialect.failure(error);
        const isPassing = failure === 'conflict' || failure === 'locked';
        if (failure === 'locked') await this.#pause();
        if (tries === TRIES || this.#clock.monotonic() >= until || !isPassing)
          await this.#told(`${missing} It could not be created: `, migration, () => Promise.reject(error));
      }
    }
  }

  #look(): Promise<TableLook<Table>> {
    return this.#told('', undefined, () => this.dialect.look());
  }

  /** @throws TableError for a table that is not there, or lacks something */
  #fit(look: TableLook<Table>): Table {
    if ('table' in look) return look.table;
    if ('problem' in look) throw new TableError(look.problem);
    const how = this.options.migrate ? 'Run this' : 'Run this, or leave it to the store (migrate: true)';
    throw new TableError(`${look.missing} ${how}:\n${this.dialect.setup(look.migration)}`);
  }

  /** Runs a step. If it fails because of the table, or of a right, the error has what the database said, and the SQL. */
  async #told<T>(what: string, migration: readonly string[] | undefined, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      const failure = this.dialect.failure(error);
      // What others do to the table passes. Only a migration has waited for them in vain: then a person has to look.
      const isPassing = migration === undefined || (failure !== 'locked' && failure !== 'conflict');
      if (failure !== 'forbidden' && failure !== 'table' && isPassing) throw error;
      const refused = `The ${failure === 'table' ? 'table cannot be used' : 'user may not use the table'}: `;
      const said = what === '' ? refused : what;
      throw new TableError(
        `${said}${describeFailure(error)}. Put that right, or run this as a user who may:\n${this.dialect.setup(migration)}`,
      );
    }
  }

  /** Random: instances that start together would otherwise try one right after the other, without a gap for other users. */
  #pause(): Promise<void> {
    const pause = PAUSE * (0.5 + Math.random() / 2);
    return new Promise((resolve) => this.#clock.setTimer(resolve, pause, { keepAlive: true }));
  }
}

/** What a column `name` takes. */
export interface Room {
  /** Characters. */
  readonly room: number;
  readonly widening: string;
}

export const roomOf = (types: ReadonlyMap<string, string>, { widening }: TableDdl): Room => ({
  room: Number(/\d+/.exec(String(types.get('name'))) ?? Infinity),
  widening,
});

/** Why the column `name` has no room for a name, and what to do; `undefined` if it has. */
export function roomProblem(table: string, name: string, { room, widening }: Room): string | undefined {
  // A text is at most as long in characters as in units of UTF-16.
  const length = name.length <= room ? 0 : Array.from(name).length;
  if (length <= room) return undefined;
  return `it has ${length} characters, and the column name of ${table} has room for ${room}. Give a shorter name, or run this, and start all instances again: ${widening};`;
}
