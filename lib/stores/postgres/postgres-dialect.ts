import { SchedulerLockConfigError } from '../../errors.js';
import type { Change, DocumentsRead, ReadDocument, Renewal, Seen } from '../../store/port.js';
import { type Fault, type SqlDialect, type TableLook, TRY_LIMIT } from '../sql/dialect.js';
import type { QueuedCallsDialect } from '../sql/queued-calls-dialect.js';
import { errorsIn, isNotConnected, type SqlFailure, wantsTls } from '../sql/failure.js';
import type { HistoryDialect } from '../sql/history-dialect.js';
import { nameProblem } from '../sql/table-judgement.js';
import type { SqlStoreOptions, TableNames } from '../sql/table-name.js';
import { failureOf } from './errors.js';
import { postgresQueuedCalls } from './queued-calls.js';
import { postgresHistory } from './history.js';
import { placeOf, PLACE } from './place.js';
import { postgresNames, withLockTimeout } from './schema.js';
import { setupOf } from './setup.js';
import { channelOf, type ListeningClient, Notifications } from './notifications.js';
import { AS_SENT, isPlain as isPlainPool, isPool, WatchedPool } from './pool.js';
import { isReadOnly, LOOK, notAllowed, type PostgresTableInfo, readLook } from './table-look.js';

/** Options of the store. */
export interface PostgresStoreOptions extends SqlStoreOptions {
  /**
   * Whether the database sends hints to calls in line (LISTEN, NOTIFY): a hand-over then takes milliseconds. Each application opens
   * one connection more, with its first call that waits. `true`: one like those of the pool, which has to be a `Pool` of `pg`. Give a
   * configuration of `pg` if the pool reaches the database by a proxy that pools transactions (PgBouncer): that of a direct
   * connection. Set it on all instances: one without it sends no hints.
   *
   * @default false: they ask several times a second
   */
  readonly listen?: boolean | object | undefined;
}

/**
 * A client of PostgreSQL: a `Pool` of `pg`, or anything that takes `$1` parameters and answers the rows, or an object with them.
 * Each call has to be a transaction of its own, as it is unless a transaction was begun.
 */
export interface PostgresClient {
  query(text: string, values: unknown[]): PromiseLike<unknown>;
}

type Row = Readonly<Record<string, unknown>>;

/** Runs the statements of PostgreSQL, and interprets their answers. */
export class PostgresDialect implements SqlDialect<PostgresTableInfo> {
  readonly kind = 'PostgreSQL';
  readonly #names: TableNames;
  /** What the last look has found. */
  #place: string | undefined;
  #user: string | undefined;
  #unwritable: Fault | undefined;
  /** `undefined` for other clients, which have to give up connections by themselves. */
  readonly #pool: WatchedPool | undefined;
  readonly queuedCalls: QueuedCallsDialect;
  readonly history: HistoryDialect;
  /** Opens the channel for hints; `undefined` if calls in line find out by asking. */
  readonly hints: SqlDialect<PostgresTableInfo>['hints'];
  readonly hint: SqlDialect<PostgresTableInfo>['hint'];

  /** @param tryLimit milliseconds until a statement of a migration is given up, by a pool of `pg` */
  constructor(
    private readonly client: PostgresClient,
    options: PostgresStoreOptions,
    private readonly tryLimit: number = TRY_LIMIT,
  ) {
    if (isPool(client) && isPlainPool(client)) this.#pool = new WatchedPool(client);
    this.#names = postgresNames(options);
    this.queuedCalls = postgresQueuedCalls(this.#names, (statement, values) => this.#rows(statement, values));
    this.history = postgresHistory(this.#names, (statement, values) => this.#rows(statement, values));
    const { listen = false } = options;
    if (listen === false) return;
    if (!isPool(client)) {
      throw new SchedulerLockConfigError([
        'store: `listen` needs a Pool of `pg`, and this is another client. Leave it out: calls in line then ask.',
      ]);
    }
    const connect = (): ListeningClient => new client.Client(listen === true ? client.options : listen);
    const notify = (channel: string, payload: string) =>
      this.#rows('SELECT pg_notify($1::text, $2::text)', [channel, payload]);
    this.hints = (process, called) => new Notifications(connect, notify, channelOf(process), called);
    this.hint = async (process, token) =>
      void (await notify(channelOf(process), token).catch(() => undefined));
  }

  get table(): string {
    return this.#names.quoted();
  }

  async look(): Promise<TableLook<PostgresTableInfo>> {
    const [row] = await this.#rows(PLACE, [this.#names.table]);
    const schema = this.#names.schema ?? placeOf(row);
    this.#user = row?.['user'] as string | undefined;
    if (typeof schema !== 'string') return schema;
    this.#place = schema;
    const table = this.#names.quoted('', schema);
    const rows = await this.#rows(LOOK, [table]);
    const look = readLook(table, rows);
    this.#unwritable = isReadOnly(rows) ? { problem: notAllowed(table), setsUp: true } : undefined;
    // Not before it is found: until then somebody may make it elsewhere.
    if ('table' in look) this.#names.settle(schema);
    return look;
  }

  unwritable(): Promise<Fault | undefined> {
    return Promise.resolve(this.#unwritable);
  }

  setup(locks?: readonly string[]): string {
    return setupOf(this.#names, { user: this.#user, schema: this.#place, locks });
  }

  nameProblem({ names }: PostgresTableInfo, name: string): string | undefined {
    return unreadable(name) ?? nameProblem(this.table, name, names);
  }

  reconnect(silence: number | undefined): void {
    this.#pool?.reconnect(silence);
  }

  async migrate(statement: string): Promise<void> {
    const text = withLockTimeout(statement);
    if (isPool(this.client)) await this.client.query({ text, values: [], query_timeout: this.tryLimit });
    else await this.client.query(text, []);
  }

  async read(
    { readAll, readOne, readSome }: PostgresTableInfo,
    names: readonly string[] | 'all',
  ): Promise<DocumentsRead> {
    let rows: readonly Row[];
    if (names === 'all') rows = await this.#rows(readAll, []);
    else if (names.length === 1) rows = await this.#rows(readOne, [names[0]]);
    // A name that no lock has: its row tells the time.
    else rows = await this.#rows(readSome, [JSON.stringify(names.length === 0 ? [''] : names)]);
    return { now: Number(rows[0]?.['now']), documents: rows.flatMap((row) => documentOf(row) ?? []) };
  }

  async write(table: PostgresTableInfo, changes: readonly Change[]): Promise<boolean[]> {
    const [{ seen } = { seen: null }] = changes;
    if (seen === null) {
      const made = await this.#rows(table.make, [JSON.stringify(changes)]);
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

  async #change(table: PostgresTableInfo, change: Change, seen: Seen): Promise<boolean> {
    const { name, version, by, state, end, begins = false } = change;
    const shape = { taken: seen.taken, unversioned: seen.version === '', ends: end !== undefined, begins };
    const values = [name, version, by, state, seen.version, seen.by];
    if (end !== undefined) values.push(String(end));
    return (await this.#rows(table.change(shape), values)).length > 0;
  }

  /** Runs a statement that answers the numbers of those that it has changed. */
  async #numbered(statement: string, wanted: readonly object[]): Promise<boolean[]> {
    const rows = await this.#rows(statement, [JSON.stringify(wanted)]);
    const changed = new Set(rows.map(({ i }) => Number(i)));
    return wanted.map((_, i) => changed.has(i));
  }

  failure(error: unknown): SqlFailure {
    for (const each of errorsIn(error)) {
      const code = String(each['code']);
      // Neither a code of Node (EPIPE) nor one of Prisma (P2010), which wraps the error of the database.
      if (/^(?=.*\d)(?!P[12])[0-9A-Z]{5}$/.test(code)) return failureOf(code);
      if (wantsTls(each)) return 'denied';
      if (isNotConnected(each)) return 'refused';
    }
    return 'unknown';
  }

  async #rows(statement: string, values: unknown[]): Promise<readonly Row[]> {
    return rowsOf(await this.#send(statement, values));
  }

  #send(text: string, values: unknown[]): PromiseLike<unknown> {
    if (this.#pool !== undefined) return this.#pool.query(text, values);
    const { client } = this;
    return isPool(client) ? client.query({ text, values, types: AS_SENT }) : client.query(text, values);
  }
}

/** A row without a name only tells the time. */
function documentOf({ name, version, by, until, since, state }: Row): ReadDocument | undefined {
  if (typeof name !== 'string') return undefined;
  return {
    name,
    version: textOf(version),
    by: textOf(by),
    until: Number(until),
    since: Number(since),
    state: textOf(state),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Why PostgreSQL cannot read a name: it would take it for another one, or refuse the statement. */
function unreadable(name: string): string | undefined {
  if (!/\0|\p{Surrogate}/u.test(name)) return undefined;
  return 'PostgreSQL keeps no text with a NUL character, or with half a character. Give it another name.';
}

/** Prisma and TypeORM answer the rows themselves; for an UPDATE, TypeORM answers a pair of the rows and their number. */
function rowsOf(result: unknown): readonly Row[] {
  if (!Array.isArray(result)) return (result as { rows: Row[] }).rows;
  return Array.isArray(result[0]) ? (result[0] as Row[]) : (result as Row[]);
}
