import type { AcquireRequest, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import { type AttemptAnswer, isOf, NO_ROW, type Renewed, type SeenLock } from '../sql/answers.js';
import {
  type Entrant,
  type GivenBack,
  type HowToAttempt,
  type LineChange,
  LOCK_WAIT,
  type SqlDialect,
  type TableLook,
} from '../sql/dialect.js';
import type { SqlFailure } from '../sql/failure.js';
import type { HistoryDialect } from '../sql/history-dialect.js';
import { type LockRow, lockRow } from '../sql/lock-row.js';
import { type Ending, isPlain, lockedBy } from '../sql/locked-by.js';
import type { QueuedCallsDialect } from '../sql/queued-calls-dialect.js';
import { nameProblem } from '../sql/table-judgement.js';
import type { SqlStoreOptions, TableNames } from '../sql/table-name.js';
import { MysqlAttempts } from './attempts.js';
import { type MysqlClient, read, write } from './client.js';
import { nameOf, storedName } from './columns.js';
import { failureOf } from './errors.js';
import { mysqlHistory } from './history.js';
import { LimitedPool } from './limited-pool.js';
import { changeLineStatement, enterStatement, keepFreeStatement, leaveStatement } from './lines.js';
import { CURRENT_DATABASE, databaseIn } from './current-database.js';
import { mysqlQueuedCalls } from './queued-calls.js';
import { mysqlNames } from './schema.js';
import { readSeen } from './seen.js';
import { setupOf } from './setup.js';
import { jobOfKey } from './starts.js';
import {
  extendStatement,
  releaseStatement,
  rowsStatement,
  seenStatement,
  unlockedStatement,
  writeBackFirstStatement,
  writeBackStatement,
} from './statements.js';
import { indexStatement, lookStatement, type MysqlTableInfo, readLook } from './table-look.js';

/** Runs the statements of MySQL and MariaDB, and interprets their answers. */
export class MysqlDialect implements SqlDialect<MysqlTableInfo> {
  readonly kind = 'MySQL';
  readonly queuedCalls: QueuedCallsDialect<MysqlTableInfo>;
  readonly history: HistoryDialect;
  readonly #names: TableNames;
  /** The result of the last look. */
  #schema: string | undefined;
  #user: string | undefined;
  readonly #attempts: MysqlAttempts;

  constructor(
    private readonly client: MysqlClient | LimitedPool,
    options: SqlStoreOptions,
  ) {
    this.#names = mysqlNames(options);
    this.#attempts = new MysqlAttempts(client, (table, name) => this.nameProblem(table, name));
    this.queuedCalls = mysqlQueuedCalls(this.#names, client);
    this.history = mysqlHistory(this.#names, client);
  }

  get table(): string {
    return this.#names.quoted();
  }

  async look(): Promise<TableLook<MysqlTableInfo>> {
    const { database } = this.client as Partial<LimitedPool>;
    const [row] = await read(this.client, CURRENT_DATABASE);
    const schema = this.#names.schema ?? databaseIn(row, database);
    this.#user = row?.['user'] as string | undefined;
    if (typeof schema !== 'string') return schema;
    this.#schema = schema;
    const where = { table: this.#names.table, schema };
    const table = this.#names.quoted('', schema);
    const columns = await read(this.client, lookStatement(where));
    const look = readLook(table, columns, await read(this.client, indexStatement(where)));
    // Not before the table is found: until then somebody may create it in another database.
    if ('table' in look) this.#names.settle(schema);
    return look;
  }

  /** Tries statements that write nothing. */
  async unwritable(): Promise<undefined> {
    const { table } = this;
    await this.client.query(`UPDATE ${table} SET locked_by = '' WHERE name = '' AND FALSE`, []);
    await this.client.query(
      `INSERT INTO ${table} (name, lock_until, locked_at, locked_by) SELECT '', NOW(), NOW(), '' FROM DUAL WHERE FALSE`,
      [],
    );
  }

  setup(locks?: readonly string[]): string {
    return setupOf(this.#names, { user: this.#user, schema: this.#schema, locks });
  }

  nameProblem({ names }: MysqlTableInfo, name: string): string | undefined {
    return nameProblem(this.table, storedName(name), names);
  }

  reconnect(silence: number | undefined): void {
    if (this.client instanceof LimitedPool) this.client.reconnect(silence);
  }

  /**
   * A client that does not give out its connections gets a statement whose beginning only MariaDB reads. For MySQL the beginning is a
   * comment, and the `lock_wait_timeout` of the connection applies.
   */
  async migrate(statement: string): Promise<void> {
    if (this.client instanceof LimitedPool) await this.client.queryWithLockTimeout(statement);
    else
      await this.client.query(`/*M! SET STATEMENT lock_wait_timeout = ${LOCK_WAIT} FOR */ ${statement}`, []);
  }

  attempt(table: MysqlTableInfo, request: AcquireRequest, how?: HowToAttempt): Promise<AttemptAnswer> {
    return this.#attempts.make(table, request, how);
  }

  async renew(table: MysqlTableInfo, leases: readonly LeaseRef[]): Promise<Renewed[]> {
    const names = [...new Set(leases.map(({ name }) => name))];
    if (!table.mariadb) await read(this.client, unlockedStatement(table, names));
    const { affectedRows } = await this.#fenced((fenced) =>
      write(this.client, extendStatement(table, leases, fenced)),
    );
    if (Number(affectedRows) === leases.length) return leases.map(() => true);
    // Some leases were not renewed. A lease that is live after the statement was renewed by it.
    const rows = await read(this.client, seenStatement(table, names));
    const byName = new Map(rows.map((row) => [nameOf(String(row['name'])), row as unknown as SeenLock]));
    return leases.map((lease) => {
      const row = byName.get(lease.name) ?? NO_ROW;
      return isOf(lease, row.by, row.recorded) && Number(row.remaining) > 0 ? true : row;
    });
  }

  giveBack(table: MysqlTableInfo, lease: LeaseRef, options: Ending): Promise<GivenBack | SeenLock> {
    return this.#fenced((fenced) => this.#giveBack(table, lease, { ...options, fenced }));
  }

  async #giveBack(
    table: MysqlTableInfo,
    lease: LeaseRef,
    options: Ending & { readonly fenced: boolean },
  ): Promise<GivenBack | SeenLock> {
    if (isPlain(lease, options) && options.fenced) {
      const { affectedRows } = await write(this.client, table.plain.release(lease, options.outcome));
      if (Number(affectedRows) > 0) return { live: true };
      const seen = await readSeen(this.client, table, lease.name);
      if (seen.by !== lockedBy(lease)) return seen;
    }
    const { affectedRows, insertId } = await write(this.client, releaseStatement(table, lease, options));
    if (Number(affectedRows) > 0 && Number(insertId) > 0) return { live: Number(insertId) === 2 };
    return readSeen(this.client, table, lease.name);
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
      // Another client has made the row meanwhile.
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
      // Another client has made the row meanwhile.
      if (this.failure(error) !== 'conflict') throw error;
    }
  }

  failure(error: unknown): SqlFailure {
    return failureOf(error);
  }

  /** Leases are also renewed and given back if a migration has dropped the column of the fencing tokens. */
  async #fenced<T>(run: (fenced: boolean) => Promise<T>): Promise<T> {
    try {
      return await run(true);
    } catch (error) {
      if (this.failure(error) !== 'table') throw error;
      return run(false);
    }
  }
}
