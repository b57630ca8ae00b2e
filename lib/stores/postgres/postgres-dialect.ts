import { SchedulerLockConfigError } from '../../errors.js';
import type { AcquireRequest, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import { type AttemptAnswer, isTrue, NOTHING_SEEN, type Renewed, type SeenLock } from '../sql/answers.js';
import {
  type Entrant,
  type Fault,
  type GivenBack,
  type HowToAttempt,
  type LineChange,
  type SqlDialect,
  type TableLook,
  TRY_LIMIT,
} from '../sql/dialect.js';
import type { SqlFailure } from '../sql/failure.js';
import type { HistoryDialect, EntryRow } from '../sql/history-dialect.js';
import { type LockRow, lockRow } from '../sql/lock-row.js';
import { endedBy, type Ending, isPlain, lockedBy, NOBODY } from '../sql/locked-by.js';
import type { QueuedCallsDialect } from '../sql/queued-calls-dialect.js';
import { nameProblem } from '../sql/table-judgement.js';
import type { SqlStoreOptions, TableNames } from '../sql/table-name.js';
import { PostgresAttempts } from './attempts.js';
import { countOf, type PostgresClient, rowsOf, Sender, text } from './client.js';
import { failureOf } from './errors.js';
import { keepRun, postgresHistory } from './history.js';
import { channelOf, type ListeningClient, Notifications } from './notifications.js';
import { CURRENT_SCHEMA, schemaIn } from './current-schema.js';
import { isPool } from './pool.js';
import { postgresQueuedCalls } from './queued-calls.js';
import { postgresNames, withLockTimeout } from './schema.js';
import { setupOf } from './setup.js';
import { isReadOnly, LOOK_AT_TABLE, notAllowed, type PostgresTableInfo, readLook } from './table-look.js';

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
  readonly #attempts: PostgresAttempts;
  /**
   * Whether the client is known to report how many rows a write has found, as `pg` does. With other clients, the statement has to return
   * the rows.
   */
  #counts = false;

  readonly queuedCalls: QueuedCallsDialect<PostgresTableInfo>;
  readonly history: HistoryDialect;
  /** Opens the channel for hints; `undefined` if calls in line find out by asking. */
  readonly hints: SqlDialect<PostgresTableInfo>['hints'];
  readonly hint: SqlDialect<PostgresTableInfo>['hint'];

  /** @param tryLimit milliseconds until a statement of a migration is given up, by a pool of `pg` */
  constructor(
    client: PostgresClient,
    options: PostgresStoreOptions,
    private readonly tryLimit: number = TRY_LIMIT,
  ) {
    this.#sender = new Sender(client);
    this.#attempts = new PostgresAttempts(this.#sender);
    this.#names = postgresNames(options);
    const query = (statement: string, values: unknown[]) => this.#sender.rows(statement, values);
    this.queuedCalls = postgresQueuedCalls(this.#names, query);
    this.history = postgresHistory(this.#names, query);
    const { listen = false } = options;
    if (listen === false) return;
    if (!isPool(client)) {
      throw new SchedulerLockConfigError([
        'store: `listen` needs a Pool of `pg`, and this is another client. Leave the option out: calls in line then ask.',
      ]);
    }
    const connect = (): ListeningClient => new client.Client(listen === true ? client.options : listen);
    const notify = (channel: string, payload: string) =>
      query('SELECT pg_notify($1::text, $2::text)', [channel, payload]);
    this.hints = (process, called) => new Notifications(connect, notify, channelOf(process), called);
    this.hint = async (process, token) =>
      void (await notify(channelOf(process), token).catch(() => undefined));
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

  nameProblem({ names }: PostgresTableInfo, name: string): string | undefined {
    return nameProblem(this.table, name, names);
  }

  reconnect(silence: number | undefined): void {
    this.#sender.reconnect(silence);
  }

  migrate(statement: string): Promise<void> {
    return this.#sender.sendWithLimit(withLockTimeout(statement), this.tryLimit);
  }

  attempt(table: PostgresTableInfo, request: AcquireRequest, how?: HowToAttempt): Promise<AttemptAnswer> {
    return this.#attempts.make(table, request, how);
  }

  async renew({ extend }: PostgresTableInfo, leases: readonly LeaseRef[]): Promise<Renewed[]> {
    const wanted = leases.map(({ name, ttl, fencingToken: fence, ...lease }, i) => {
      return { i, name, by: lockedBy(lease), ttl, fence };
    });
    const rows = await this.#sender.rows(extend, [JSON.stringify(wanted)]);
    const results: Renewed[] = [];
    for (const row of rows) {
      results[Number(row['i'])] = isTrue(row['renewed']) ? true : (row as unknown as SeenLock);
    }
    return results;
  }

  async giveBack(
    { release, releasePlain, releaseAnd }: PostgresTableInfo,
    lease: LeaseRef,
    { outcome, keepFor }: Ending,
    run?: EntryRow,
  ): Promise<GivenBack | SeenLock> {
    const by = lockedBy(lease);
    if (isPlain(lease, { outcome, keepFor }) && this.hint === undefined && run === undefined) {
      const statement = this.#counts ? releasePlain : `${releasePlain} RETURNING 1 AS one`;
      const own = [lease.name, by, endedBy(by, outcome), text(lease.fencingToken)];
      const result = await this.#sender.send(statement, own);
      const count = countOf(result);
      this.#counts = count !== undefined;
      if ((count ?? rowsOf(result).length) > 0) return { live: true };
    }
    const values = [lease.name, by, text(keepFor), outcome, lease.job ?? '', text(lease.fencingToken)];
    const [row] =
      run === undefined
        ? await this.#sender.rows(release, values)
        : await this.#sender.rows(releaseAnd(keepRun(this.history.runs)), [...values, ...valuesOf(run)]);
    if (row === undefined) return NOTHING_SEEN;
    const { live, line, ...seen } = row;
    if (live === null) return seen as unknown as SeenLock;
    return { live: isTrue(live), line: this.hint !== undefined && isTrue(line) };
  }

  async writeBack(
    { writeBack }: PostgresTableInfo,
    lease: LeaseRef,
    seen: string | null,
    outcome?: ReleaseOutcome,
  ): Promise<boolean> {
    const { name, ttl, fencingToken, job = '', tick, attempt = 1 } = lease;
    const by = outcome === undefined ? lockedBy(lease) : endedBy(lockedBy(lease), outcome);
    const live = outcome === undefined;
    const start = live && tick !== undefined ? JSON.stringify({ tick, attempt, schedule: '' }) : null;
    const values = [name, seen, by, job, start, live ? text(ttl) : null];
    return (await this.#sender.rows(writeBack, [...values, text(fencingToken)])).length > 0;
  }

  async rows({ allRows, someRows }: PostgresTableInfo, names?: readonly string[]): Promise<LockRow[]> {
    const rows =
      names === undefined
        ? this.#sender.rows(allRows, [])
        : this.#sender.rows(someRows, [JSON.stringify(names)]);
    return (await rows).map((row) => lockRow(row));
  }

  async enter({ enter }: PostgresTableInfo, entrant: Entrant): Promise<void> {
    const { name, token, process, priority, place, limit, version } = entrant;
    await this.#sender.rows(enter, [name, token, process, text(priority), text(place), text(limit), version]);
  }

  async leave(
    { leave }: PostgresTableInfo,
    name: string,
    { token, version }: Pick<Entrant, 'token' | 'version'>,
  ): Promise<boolean> {
    return (await this.#sender.rows(leave, [name, token, version])).length > 0;
  }

  async changeLine(
    { changeLine }: PostgresTableInfo,
    name: string,
    { seen, line }: LineChange,
  ): Promise<boolean> {
    return (await this.#sender.rows(changeLine, [name, seen, line])).length > 0;
  }

  async keepFree({ keepFree }: PostgresTableInfo, name: string, ms: number): Promise<void> {
    await this.#sender.rows(keepFree, [name, text(ms), NOBODY]);
  }

  failure(error: unknown): SqlFailure {
    return failureOf(error);
  }
}

const valuesOf = ({ entry, kind, age, data }: EntryRow): (string | null)[] => [entry, kind, text(age), data];
