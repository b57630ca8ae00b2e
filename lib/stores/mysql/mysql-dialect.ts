import type { AcquireRequest, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import { LockStateError } from '../../errors.js';
import {
  type AttemptRow,
  hasLine,
  isOf,
  isTrue,
  mayTake,
  NO_ROW,
  NOTHING_SEEN,
  type Renewed,
  type SeenRow,
} from '../sql/answers.js';
import {
  type Entrant,
  type GivenBack,
  type HowToAttempt,
  type LineChange,
  LOCK_WAIT,
  type SqlDialect,
  type TableLook,
} from '../sql/dialect.js';
import type { QueuedCallsDialect } from '../sql/queued-calls-dialect.js';
import { errorsIn, isNotConnected, type SqlFailure, wantsTls } from '../sql/failure.js';
import type { HistoryDialect } from '../sql/history-dialect.js';
import { type Ending, isPlain, lockedBy } from '../sql/locked-by.js';
import type { LastLease } from '../sql/interruption.js';
import { LastGranted } from '../sql/last-granted.js';
import { type LockRow, lockRow } from '../sql/lock-row.js';
import { nameProblem } from '../sql/table-judgement.js';
import type { SqlStoreOptions, TableNames } from '../sql/table-name.js';
import { type MysqlClient, read, write } from './client.js';
import { nameOf, storedName } from './columns.js';
import { failureOf, TOO_LONG } from './errors.js';
import { mysqlQueuedCalls } from './queued-calls.js';
import { mysqlHistory } from './history.js';
import { LimitedPool } from './limited-pool.js';
import { changeLineStatement, enterStatement, keepFreeStatement, leaveStatement } from './lines.js';
import { PLACE, placeOf } from './place.js';
import { mysqlNames } from './schema.js';
import { setupOf } from './setup.js';
import { type Sql, sql } from './sql-text.js';
import { jobOfKey, type Start, startOf, unchangedStart } from './starts.js';
import {
  extendStatement,
  firstStatement,
  refusalStatement,
  releaseStatement,
  rowsStatement,
  seenStatement,
  takeStatement,
  unlockedStatement,
  writeBackFirstStatement,
  WAS_RELEASED,
  writeBackStatement,
} from './statements.js';
import { indexStatement, lookStatement, type MysqlTableInfo, readLook } from './table-look.js';

/** The microseconds of 2001: the first fencing token of a name is greater. */
const LEAST_FENCING_TOKEN = 1_000_000_000_000_000;

/** What a read says of an attempt. */
interface SeenAttempt extends AttemptRow {
  /** The schedule of the job's last start. */
  readonly schedule: unknown;
  /** job_state, for a request with a history whose last lease was not released. */
  readonly unended?: unknown;
}

/** Runs the statements of MySQL and MariaDB, and interprets their answers. */
export class MysqlDialect implements SqlDialect<MysqlTableInfo> {
  readonly kind = 'MySQL';
  readonly queuedCalls: QueuedCallsDialect<MysqlTableInfo>;
  readonly history: HistoryDialect;
  readonly #names: TableNames;
  /** What the last look has found. */
  #place: string | undefined;
  #user: string | undefined;
  readonly #lastGranted = new LastGranted();

  constructor(
    private readonly client: MysqlClient | LimitedPool,
    options: SqlStoreOptions,
  ) {
    this.#names = mysqlNames(options);
    this.queuedCalls = mysqlQueuedCalls(this.#names, client);
    this.history = mysqlHistory(this.#names, client);
  }

  get table(): string {
    return this.#names.quoted();
  }

  async look(): Promise<TableLook<MysqlTableInfo>> {
    const { database } = this.client as Partial<LimitedPool>;
    const [row] = await read(this.client, PLACE);
    const schema = this.#names.schema ?? placeOf(row, database);
    this.#user = row?.['user'] as string | undefined;
    if (typeof schema !== 'string') return schema;
    this.#place = schema;
    const where = { table: this.#names.table, schema };
    const table = this.#names.quoted('', schema);
    const columns = await read(this.client, lookStatement(where));
    const look = readLook(table, columns, await read(this.client, indexStatement(where)));
    // Not before it is found: until then somebody may make it elsewhere.
    if ('table' in look) this.#names.settle(schema);
    return look;
  }

  /** By statements that write nothing. */
  async unwritable(): Promise<undefined> {
    const { table } = this;
    await this.client.query(`UPDATE ${table} SET locked_by = '' WHERE name = '' AND FALSE`, []);
    await this.client.query(
      `INSERT INTO ${table} (name, lock_until, locked_at, locked_by) SELECT '', NOW(), NOW(), '' FROM DUAL WHERE FALSE`,
      [],
    );
  }

  setup(locks?: readonly string[]): string {
    return setupOf(this.#names, { user: this.#user, schema: this.#place, locks });
  }

  nameProblem({ names }: MysqlTableInfo, name: string): string | undefined {
    return nameProblem(this.table, storedName(name), names);
  }

  reconnect(silence: number | undefined): void {
    if (this.client instanceof LimitedPool) this.client.reconnect(silence);
  }

  /**
   * A client that does not give out its connections needs a statement that only MariaDB has: for MySQL its beginning is a comment,
   * and the `lock_wait_timeout` of the connection applies.
   */
  async migrate(statement: string): Promise<void> {
    if (this.client instanceof LimitedPool) await this.client.queryWithLockTimeout(statement);
    else
      await this.client.query(`/*M! SET STATEMENT lock_wait_timeout = ${LOCK_WAIT} FOR */ ${statement}`, []);
  }

  async attempt(table: MysqlTableInfo, request: AcquireRequest, how: HowToAttempt = {}): Promise<AttemptRow> {
    const { name } = request;
    if (how.change !== undefined) return this.#lookAndTake(table, request, how);
    const guessed = this.#lastGranted.has(name) ? await this.#takeAsUsual(table, request) : undefined;
    if (guessed !== undefined) return guessed;
    const row = await this.#lookAndTake(table, request, how);
    this.#lastGranted.note(name, row.granted !== null);
    return row;
  }

  async renew(table: MysqlTableInfo, leases: readonly LeaseRef[]): Promise<Renewed[]> {
    const names = [...new Set(leases.map(({ name }) => name))];
    if (!table.mariadb) await read(this.client, unlockedStatement(table, names));
    const { affectedRows } = await this.#fenced((fenced) =>
      write(this.client, extendStatement(table, leases, fenced)),
    );
    if (Number(affectedRows) === leases.length) return leases.map(() => true);
    // Some leases were not renewed. A lease that is live after the statement was live when it was renewed.
    const rows = await read(this.client, seenStatement(table, names));
    const byName = new Map(rows.map((row) => [nameOf(String(row['name'])), row as unknown as SeenRow]));
    return leases.map((lease) => {
      const row = byName.get(lease.name) ?? NO_ROW;
      return isOf(lease, row.by, row.recorded) && Number(row.remaining) > 0 ? true : row;
    });
  }

  giveBack(table: MysqlTableInfo, lease: LeaseRef, options: Ending): Promise<GivenBack | SeenRow> {
    return this.#fenced((fenced) => this.#giveBack(table, lease, { ...options, fenced }));
  }

  async #giveBack(
    table: MysqlTableInfo,
    lease: LeaseRef,
    options: Ending & { readonly fenced: boolean },
  ): Promise<GivenBack | SeenRow> {
    if (isPlain(lease, options) && options.fenced) {
      const { affectedRows } = await write(this.client, table.plain.release(lease, options.outcome));
      if (Number(affectedRows) > 0) return { live: true };
      const seen = await this.#seen(table, lease.name);
      if (seen.by !== lockedBy(lease)) return seen;
    }
    const { affectedRows, insertId } = await write(this.client, releaseStatement(table, lease, options));
    if (Number(affectedRows) > 0 && Number(insertId) > 0) return { live: Number(insertId) === 2 };
    return this.#seen(table, lease.name);
  }

  async writeBack(
    table: MysqlTableInfo,
    lease: LeaseRef,
    seen: string | null,
    outcome?: ReleaseOutcome,
  ): Promise<boolean> {
    const statement =
      seen === null
        ? writeBackFirstStatement(table, lease, outcome)
        : writeBackStatement(table, lease, { seen, outcome });
    try {
      return Number((await write(this.client, statement)).affectedRows) > 0;
    } catch (error) {
      // Another client has made the row by now.
      if (seen === null && this.failure(error) === 'conflict') return false;
      throw error;
    }
  }

  async rows(table: MysqlTableInfo, names?: readonly string[]): Promise<LockRow[]> {
    // A name that the column cannot hold would make the whole statement fail.
    const kept = names?.filter((name) => this.nameProblem(table, name) === undefined);
    if (kept?.length === 0) return [];
    const rows = await read(this.client, rowsStatement(table, kept));
    return rows.map((row) => lockRow({ ...row, name: nameOf(String(row['name'])) }, jobOfKey));
  }

  async enter(table: MysqlTableInfo, entrant: Entrant): Promise<void> {
    await write(this.client, enterStatement(table, entrant));
  }

  async leave(
    table: MysqlTableInfo,
    name: string,
    call: Pick<Entrant, 'token' | 'version'>,
  ): Promise<boolean> {
    return Number((await write(this.client, leaveStatement(table, name, call))).affectedRows) > 0;
  }

  async changeLine(table: MysqlTableInfo, name: string, change: LineChange): Promise<boolean> {
    return Number((await write(this.client, changeLineStatement(table, name, change))).affectedRows) > 0;
  }

  async keepFree(table: MysqlTableInfo, name: string, ms: number): Promise<void> {
    try {
      await write(this.client, keepFreeStatement(table, name, ms));
    } catch (error) {
      // Another client has made the row by now.
      if (this.failure(error) !== 'conflict') throw error;
    }
  }

  failure(error: unknown): SqlFailure {
    for (const each of errorsIn(error)) {
      // Negative numbers are Node's, for network errors.
      const number = Number(each['errno'] ?? NaN);
      if (number > 0) return failureOf(number);
      if (wantsTls(each)) return 'denied';
      if (isNotConnected(each)) return 'refused';
    }
    return 'unknown';
  }

  /** Leases are renewed and given back also where a migration has dropped the column of the fencing tokens. */
  async #fenced<T>(run: (fenced: boolean) => Promise<T>): Promise<T> {
    try {
      return await run(true);
    } catch (error) {
      if (this.failure(error) !== 'table') throw error;
      return run(false);
    }
  }

  async #seen(table: MysqlTableInfo, name: string): Promise<SeenRow> {
    const [row] = await read(this.client, seenStatement(table, [name]));
    const isIt = row !== undefined && nameOf(String(row['name'])) === name;
    return isIt ? (row as unknown as SeenRow) : NOTHING_SEEN;
  }

  /**
   * Takes a lock by one statement, if it is free and nothing else of its row is needed; `undefined` if that found no such row.
   */
  async #takeAsUsual(table: MysqlTableInfo, request: AcquireRequest): Promise<AttemptRow | undefined> {
    const start = startOf(request);
    // A lease that was not released has to be told of.
    const condition = request.history === true ? sql`${start.usual} AND ${WAS_RELEASED}` : start.usual;
    const isPlainTake =
      request.tick === undefined && request.interval === undefined && request.history !== true;
    const statement = isPlainTake
      ? table.plain.take(request)
      : takeStatement(table, request, start, { attempt: 1, condition });
    const granted = await this.#take(statement);
    return granted === undefined ? undefined : { ...NOTHING_SEEN, granted, attempt: 1 };
  }

  /** Reads the row first: a refusal costs one plain read, a grant another statement. */
  async #lookAndTake(
    table: MysqlTableInfo,
    request: AcquireRequest,
    { change, goOn }: HowToAttempt,
  ): Promise<AttemptRow> {
    const start = startOf(request);
    const row = await this.#explain(table, request, start);
    const isOpen = row.by !== null || start.startableFirst;
    if (!mayTake(row) || !isOpen || (change === undefined && hasLine(row))) return row;
    goOn?.();
    return row.by === null
      ? this.#takeFirst(table, request, start)
      : this.#takeSeen(table, request, { start, row, change });
  }

  /** Takes a lock, if its row is as it was seen. */
  async #takeSeen(
    table: MysqlTableInfo,
    request: AcquireRequest,
    { start, row, change }: { start: Start; row: SeenAttempt; change: LineChange | undefined },
  ): Promise<AttemptRow> {
    // For a tick, the job's last start has to be still the one that was read.
    const { job = '', tick } = request;
    const again = tick !== undefined && row.tick !== null;
    const condition = again ? sql`${start.startable} AND ${unchangedStart(job, row)}` : start.startable;
    const attempt = again && Number(row.tick) === tick ? Number(row.attempts) + 1 : 1;
    const granted = await this.#take(takeStatement(table, request, start, { attempt, condition, change }));
    // If the write finds no row, another client was faster. Then the row that was read explains nothing.
    if (granted === undefined) return NOTHING_SEEN;
    return { ...row, granted, attempt, previous: row.schedule, last: lastLease(row) };
  }

  async #explain(table: MysqlTableInfo, request: AcquireRequest, start: Start): Promise<SeenAttempt> {
    const { name } = request;
    // The error that the database would give: without a strict `sql_mode` it gives none.
    if (this.nameProblem(table, name) !== undefined)
      throw Object.assign(new Error('name'), { errno: TOO_LONG });
    const [seen] = await read(this.client, refusalStatement(table, request, start));
    if (seen === undefined)
      throw new Error('The database answered nothing to a statement that always answers.');
    if (seen['by'] !== null && !isTrue(seen['same'])) {
      throw new LockStateError(
        name,
        `the collation of the column name of ${this.table} takes it for the name of another lock. Run this, or rename one: ${table.names.widening};`,
      );
    }
    return { ...seen, granted: null, attempt: null, previous: null } as unknown as SeenAttempt;
  }

  /** Takes a lock that had no row a moment ago. */
  async #takeFirst(table: MysqlTableInfo, request: AcquireRequest, start: Start): Promise<AttemptRow> {
    try {
      let granted = await this.#take(firstStatement(table, request, start));
      // Of a table with a column AUTO_INCREMENT, the server tells the value of that one.
      if (granted !== undefined && granted < LEAST_FENCING_TOKEN)
        granted = Number((await this.#seen(table, request.name)).recorded);
      return granted === undefined ? NOTHING_SEEN : { ...NOTHING_SEEN, granted, attempt: 1 };
    } catch (error) {
      if (this.failure(error) !== 'conflict') throw error;
      return NOTHING_SEEN;
    }
  }

  /** Returns the fencing token, or `undefined` if the statement did not take the lock. */
  async #take(statement: Sql): Promise<number | undefined> {
    const { affectedRows, insertId } = await write(this.client, statement);
    return Number(affectedRows) > 0 ? Number(insertId) : undefined;
  }
}

/** The lease before a grant, if it was not released and the grant has to tell. */
function lastLease({ by, recorded, unended }: SeenAttempt): LastLease | undefined {
  if (by === null || (unended ?? null) === null) return undefined;
  return { by, recorded, jobs: lockRow({ state: unended }, jobOfKey).jobs };
}
