import { SchedulerLockConfigError } from '../../base/errors.js';
import type { Change, DocumentsRead, ReadDocument, Renewal, SeenDocument } from '../../contract/port.js';
import { type Fault, type SqlDialect, type TableLook, TRY_LIMIT } from '../sql/dialect.js';
import type { SqlFailure } from '../sql/failure.js';
import type { EntriesDialect } from '../sql/entries-dialect.js';
import { type Row, problemsOf, untilOf } from '../sql/strange-rows.js';
import { nameProblem } from '../sql/table-judgement.js';
import type { SqlStoreOptions, TableNames } from '../sql/table-name.js';
import { countOf, type PostgresClient, rowsOf, Sender } from './client.js';
import { failureOf } from './errors.js';
import { postgresEntries } from './entries.js';
import { channelOf, COMMON, type ListeningClient, Notifications } from './notifications.js';
import { CURRENT_SCHEMA, schemaIn } from './current-schema.js';
import { isPool } from './pool.js';
import { postgresNames, withLockTimeout } from './schema.js';
import { setupOf } from './setup.js';
import {
  encodingProblem,
  isReadOnly,
  LOOK_AT_TABLE,
  notAllowed,
  type PostgresTableInfo,
  readLook,
} from './table-look.js';

/** Options of the store. */
export interface PostgresStoreOptions extends SqlStoreOptions {
  /**
   * Whether the database sends hints to calls in line (LISTEN, NOTIFY): a hand-over then takes milliseconds.
   *
   * 1. The pool has to be a `Pool` of `pg`.
   * 2. Each application opens one more connection, with its first call that waits. `true`: with the configuration of the pool.
   * 3. If the pool reaches the database by a proxy that pools transactions (PgBouncer), give a configuration of `pg` for a direct connection.
   * 4. Set this option on all instances: an instance without it sends no hints.
   *
   * @default false: calls in line ask several times a second
   */
  readonly listen?: boolean | object | undefined;
}

/** Runs the statements of PostgreSQL, and interprets their answers. */
export class PostgresDialect implements SqlDialect<PostgresTableInfo> {
  readonly kind = 'PostgreSQL';
  readonly #names: TableNames;
  /** The result of the last look. */
  #schema: string | undefined;
  #user: string | undefined;
  #unwritable: Fault | undefined;
  readonly #sender: Sender;
  /**
   * Whether the client is known to report how many rows a write has found, as `pg` does. With other clients, the statement has to return
   * the rows.
   */
  #counts = false;
  readonly entries: EntriesDialect;
  /** Opens the channel for hints; `undefined` if calls in line find out by asking. */
  readonly hints: SqlDialect<PostgresTableInfo>['hints'];
  readonly hint: SqlDialect<PostgresTableInfo>['hint'];
  readonly announce: SqlDialect<PostgresTableInfo>['announce'];

  /** @param tryLimit milliseconds until a statement of a migration is given up, by a pool of `pg` */
  constructor(
    client: PostgresClient,
    options: PostgresStoreOptions,
    private readonly tryLimit: number = TRY_LIMIT,
  ) {
    this.#sender = new Sender(client);
    this.#names = postgresNames(options);
    const query = (statement: string, values: unknown[]) => this.#sender.rows(statement, values);
    this.entries = postgresEntries(this.#names, query);
    const notify = (channel: string, payload: string): Promise<unknown> =>
      query('SELECT pg_notify($1::text, $2::text)', [channel, payload]);
    const hint = async (channel: string, text: string): Promise<void> =>
      void (await notify(channel, text).catch(() => undefined));
    // Whoever does not listen can still tell those who do.
    this.announce = (text) => hint(COMMON, text);
    const { listen = false } = options;
    if (listen === false) return;
    if (!isPool(client)) {
      throw new SchedulerLockConfigError([
        'store: `listen` needs a Pool of `pg`, and this is another client. Leave the option out: calls in line then ask.',
      ]);
    }
    const connect = (): ListeningClient => new client.Client(listen === true ? client.options : listen);
    this.hints = (process, called) => new Notifications(connect, notify, channelOf(process), called);
    this.hint = (process, token) => hint(channelOf(process), token);
  }

  get table(): string {
    return this.#names.quoted();
  }

  async look(): Promise<TableLook<PostgresTableInfo>> {
    const [row] = await this.#sender.rows(CURRENT_SCHEMA, [this.#names.table]);
    const schema = this.#names.schema ?? schemaIn(row);
    this.#user = row?.['user'] as string | undefined;
    if (typeof schema !== 'string') return schema;
    this.#schema = schema;
    const table = this.#names.quoted('', schema);
    const rows = await this.#sender.rows(LOOK_AT_TABLE, [table]);
    const look = readLook(table, rows);
    this.#unwritable = isReadOnly(rows) ? { problem: notAllowed(table), setsUp: true } : undefined;
    // Not before the table is found: until then somebody may create it in another schema.
    if ('table' in look) this.#names.settle(schema);
    return look;
  }

  unwritable(): Promise<Fault | undefined> {
    return Promise.resolve(this.#unwritable);
  }

  setup(locks?: readonly string[]): string {
    return setupOf(this.#names, { user: this.#user, schema: this.#schema, locks });
  }

  /** Such a name would fail the statements that name other locks as well. */
  unreadable(name: string): string | undefined {
    if (!/\0|\p{Surrogate}/u.test(name)) return undefined;
    return 'PostgreSQL keeps no text with a NUL character, or with half a character. Give another name.';
  }

  nameProblem(table: PostgresTableInfo, name: string): string | undefined {
    return encodingProblem(table, name) ?? nameProblem(this.table, name, table.names);
  }

  reconnect(silence: number | undefined): void {
    this.#sender.reconnect(silence);
  }

  migrate(statement: string): Promise<void> {
    return this.#sender.sendWithLimit(withLockTimeout(statement), this.tryLimit);
  }

  async read(
    { readAll, readOne, readSome }: PostgresTableInfo,
    names: readonly string[] | 'all',
  ): Promise<DocumentsRead> {
    let rows: readonly Row[];
    if (names === 'all') rows = await this.#sender.rows(readAll, []);
    else if (names.length === 1) rows = await this.#sender.rows(readOne, [names[0]]);
    // A name that no lock has: its row tells the time.
    else rows = await this.#sender.rows(readSome, [JSON.stringify(names.length === 0 ? [''] : names)]);
    const now = Number(rows[0]?.['now']);
    const problems = new Map(problemsOf(rows, this.table));
    return { now, documents: rows.flatMap((row) => documentOf(row) ?? []), problems };
  }

  async write(table: PostgresTableInfo, changes: readonly Change[]): Promise<boolean[]> {
    const [{ seen } = { seen: null }] = changes;
    if (seen === null) {
      const made = await this.#sender.rows(table.make, [JSON.stringify(changes)]);
      const names = new Set(made.map(({ name }) => name));
      return changes.map(({ name }) => names.has(name));
    }
    if (changes.length === 1) return [await this.#change(table, changes[0] as Change, seen)];
    const wanted = changes.map((change, i) => ({
      ...change,
      i,
      seen: change.seen?.version,
      seenBy: change.seen?.by,
      taken: change.seen?.taken,
    }));
    return this.#numbered(table.changeMany, wanted);
  }

  renew({ renew }: PostgresTableInfo, renewals: readonly Renewal[]): Promise<boolean[]> {
    const wanted = renewals.map((renewal, i) => ({ ...renewal, i }));
    return this.#numbered(renew, wanted);
  }

  async #change(table: PostgresTableInfo, change: Change, seen: SeenDocument): Promise<boolean> {
    const { name, version, by, state, end, begins = false } = change;
    const shape = {
      taken: seen.taken,
      ends: end !== undefined,
      begins,
      goesOn: seen.by === by,
    };
    const values = [name, version, by, state, seen.version, seen.by];
    if (end !== undefined) values.push(String(end));
    const text = table.change(shape);
    const result = await this.#sender.send(this.#counts ? text : `${text} RETURNING 1 AS one`, values);
    const count = countOf(result);
    this.#counts = count !== undefined;
    return (count ?? rowsOf(result).length) > 0;
  }

  /** Runs a statement that answers the numbers of those that it has changed. */
  async #numbered(statement: string, wanted: readonly object[]): Promise<boolean[]> {
    const rows = await this.#sender.rows(statement, [JSON.stringify(wanted)]);
    const changed = new Set(rows.map(({ i }) => Number(i)));
    return wanted.map((_, i) => changed.has(i));
  }

  failure(error: unknown): SqlFailure {
    return failureOf(error);
  }
}

/** A row without a name only tells the time. */
function documentOf({ name, version, by, until, since, state }: Row): ReadDocument | undefined {
  if (typeof name !== 'string') return undefined;
  return {
    name,
    version: textOf(version),
    by: textOf(by),
    until: untilOf(until),
    since: Number(since),
    state: textOf(state),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
