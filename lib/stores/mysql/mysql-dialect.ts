import type { AcquireRequest, LeaseRef, LockInfo, ReleaseOptions } from '../lock-store.js';
import { LockStateError } from '../../errors.js';
import { type AttemptRow, isTrue, NOTHING_SEEN, type SeenRow } from '../sql/answers.js';
import type { SqlDialect, TableLook } from '../sql/dialect.js';
import { errorsIn, isNotConnected, type SqlFailure } from '../sql/failure.js';
import { lockedBy } from '../sql/holding.js';
import { LastGranted } from '../sql/last-granted.js';
import { lockInfo, type LockRow } from '../sql/lock-row.js';
import { roomProblem } from '../sql/name-room.js';
import { SQL_DEFAULTS, type SqlStoreOptions } from '../sql/table-name.js';
import { briefIfMariadb } from './brief.js';
import { type MysqlClient, read, type Row, write, type Written } from './client.js';
import { nameOf, storedName } from './columns.js';
import { failureOf, TOO_LONG } from './errors.js';
import { mysqlCreation, mysqlTable } from './schema.js';
import { type Sql, sql } from './sql-text.js';
import { jobOfKey, startOf, unchangedStart } from './starts.js';
import {
  extendStatement,
  firstStatement,
  inspectStatement,
  refusalStatement,
  releaseStatement,
  seenStatement,
  takeStatement,
} from './statements.js';
import { indexStatement, judgeTable, lookStatement, type MysqlLook } from './table-look.js';

/** The statements of MySQL and MariaDB, what they are given, and what they answer. */
export class MysqlDialect implements SqlDialect<MysqlLook> {
  readonly kind = 'MySQL';
  readonly table: string;
  readonly #client: MysqlClient;
  readonly #brief: MysqlClient;
  readonly #where: { table: string; schema: string | undefined };
  #migration: string;
  readonly #lastGranted = new LastGranted();

  /** @param brief what sends a statement that waits for locks for a short time only */
  constructor(client: MysqlClient, options: SqlStoreOptions, brief: MysqlClient = briefIfMariadb(client)) {
    this.#client = client;
    this.#brief = brief;
    this.table = mysqlTable(options);
    this.#where = { table: options.table ?? SQL_DEFAULTS.table, schema: options.schema };
    this.#migration = mysqlCreation(this.table);
  }

  async look(): Promise<TableLook<MysqlLook>> {
    const columns = await read(this.#client, lookStatement(this.#where));
    const look = judgeTable(this.table, columns, await read(this.#client, indexStatement(this.#where)));
    if ('missing' in look) this.#migration = look.migration;
    // Whether this user may write is seen by writing nothing.
    if ('statements' in look) {
      await this.#client.query(`UPDATE ${this.table} SET locked_by = '' WHERE name = '' AND FALSE`, []);
      await this.#client.query(
        `INSERT INTO ${this.table} (name, lock_until, locked_at, locked_by) SELECT '', NOW(), NOW(), '' FROM DUAL WHERE FALSE`,
        [],
      );
    }
    return look;
  }

  migration(): readonly string[] {
    return [this.#migration];
  }

  widening(): string {
    return `ALTER TABLE ${this.table} MODIFY name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL`;
  }

  nameProblem(table: MysqlLook, name: string): string | undefined {
    const stored = storedName(name);
    const widening = this.widening();
    if (!isTaken(table, stored)) {
      return `the column name of ${this.table} does not take every character. Give it another name, or run this: ${widening};`;
    }
    return roomProblem(stored, table.nameLength, { table: this.table, widening });
  }

  async migrate(statement: string): Promise<void> {
    await this.#brief.query(statement, []);
  }

  async attempt(table: MysqlLook, request: AcquireRequest): Promise<AttemptRow> {
    const { name } = request;
    const guessed = this.#lastGranted.has(name) ? await this.#takeAsUsual(table, request) : undefined;
    if (guessed !== undefined) return guessed;
    const row = await this.#lookAndTake(table, request);
    this.#lastGranted.note(name, row.granted !== null);
    return row;
  }

  async renew(table: MysqlLook, leases: readonly LeaseRef[]): Promise<(true | SeenRow)[]> {
    const { affectedRows } = await write(this.#client, extendStatement(table, leases));
    if (Number(affectedRows) === leases.length) return leases.map(() => true);
    // Some were not. A lease that is live after the statement was live when it was renewed.
    const names = [...new Set(leases.map(({ name }) => name))];
    const rows = await read(this.#client, seenStatement(table, names));
    const byName = new Map(rows.map((row) => [nameOf(String(row['name'])), row as unknown as SeenRow]));
    return leases.map((lease) => {
      const row = byName.get(lease.name) ?? { by: null, remaining: null };
      return row.by === lockedBy(lease) && Number(row.remaining) > 0 ? true : row;
    });
  }

  async giveBack(
    table: MysqlLook,
    lease: LeaseRef,
    options: Required<ReleaseOptions>,
  ): Promise<{ readonly live: boolean } | SeenRow> {
    // Where there was no job, there is most likely no start of one to note the end of.
    if (lease.job === undefined && options.keepFor === 0) {
      const { affectedRows } = await write(this.#client, table.plain.release(lease, options.outcome));
      if (Number(affectedRows) > 0) return { live: true };
      const seen = await this.#seen(table, lease.name);
      if (seen.by !== lockedBy(lease)) return seen;
    }
    const { affectedRows, insertId } = await write(this.#client, releaseStatement(table, lease, options));
    if (Number(affectedRows) > 0) return { live: Number(insertId) === 2 };
    return this.#seen(table, lease.name);
  }

  async all(table: MysqlLook): Promise<LockInfo[]> {
    const rows = await read(this.#client, inspectStatement(table));
    return rows.map((row) => {
      const name = nameOf(String(row['name']));
      return lockInfo({ ...(row as unknown as LockRow), name }, jobOfKey);
    });
  }

  failure(error: unknown): SqlFailure {
    for (const each of errorsIn(error)) {
      // Negative: Node's number of an error of the network.
      const number = Number(each['errno'] ?? NaN);
      if (number > 0) return failureOf(number);
      if (isNotConnected(each)) return 'refused';
    }
    return 'unknown';
  }

  async #seen(table: MysqlLook, name: string): Promise<SeenRow> {
    const [row] = await read(this.#client, seenStatement(table, [name]));
    const isIt = row !== undefined && nameOf(String(row['name'])) === name;
    return isIt ? (row as unknown as SeenRow) : NOTHING_SEEN;
  }

  /** One statement, if the lock is free and nothing of its row is needed but that; `undefined` if it did not find it so. */
  async #takeAsUsual(table: MysqlLook, request: AcquireRequest): Promise<AttemptRow | undefined> {
    const granted =
      request.tick === undefined && request.interval === undefined
        ? tokenOf(await write(this.#client, table.plain.take(request)))
        : await this.#take(table, request, { attempt: 1, condition: startOf(request).usual });
    return granted === undefined ? undefined : { ...NOTHING_SEEN, granted, attempt: 1 };
  }

  /** Reads the row first: what is refused is one plain read, what is not another statement. */
  async #lookAndTake(table: MysqlLook, request: AcquireRequest): Promise<AttemptRow> {
    this.#checkName(table, request.name);
    const start = startOf(request);
    const seen = one(await read(this.#client, refusalStatement(table, request, start)));
    if (seen['by'] !== null && !isTrue(seen['same'])) {
      throw new LockStateError(
        request.name,
        `the collation of the column name of ${this.table} takes it for the name of another lock. Run this, or rename one: ${this.widening()};`,
      );
    }
    const row = { ...seen, granted: null, attempt: null, previous: null } as unknown as AttemptRow;
    const startable = isTrue(row.startable) && !isTrue(row.ahead);
    if (!startable || Number(row.remaining ?? 0) > 0) return row;
    if (Number(row.recorded ?? 0) >= Number.MAX_SAFE_INTEGER) return row;
    if (row.by === null) return start.startableFirst ? this.#first(table, request) : row;
    // Somebody was quicker where the write finds nothing: what was seen explains nothing, then.
    if (request.tick !== undefined && row.tick !== null) {
      return (await this.#takeAsSeen(table, request, row, start.startable, seen['schedule'])) ?? NOTHING_SEEN;
    }
    const granted = await this.#take(table, request, { attempt: 1, condition: start.startable });
    return granted === undefined ? NOTHING_SEEN : { ...NOTHING_SEEN, granted, attempt: 1 };
  }

  /** @throws what the database would say of a name that its column cannot hold: without a strict `sql_mode` it says nothing */
  #checkName(table: MysqlLook, name: string): void {
    const stored = storedName(name);
    if ([...stored].length > table.nameLength) throw Object.assign(new Error('name'), { errno: TOO_LONG });
    if (!isTaken(table, stored)) {
      throw new LockStateError(
        name,
        `the column name of ${this.table} does not take every character. Run this, or give it another name: ${this.widening()};`,
      );
    }
  }

  /** Answers the fencing token, or `undefined` if the lock is not to be had in this way. */
  async #take(
    table: MysqlLook,
    request: AcquireRequest,
    how: { attempt: number; condition: Sql },
  ): Promise<number | undefined> {
    return tokenOf(await write(this.#client, takeStatement(table, request, startOf(request), how)));
  }

  /** There was no row a moment ago. */
  async #first(table: MysqlLook, request: AcquireRequest): Promise<AttemptRow> {
    try {
      const { insertId } = await write(this.#client, firstStatement(table, request, startOf(request)));
      return { ...NOTHING_SEEN, granted: Number(insertId), attempt: 1 };
    } catch (error) {
      if (this.failure(error) !== 'conflict') throw error;
      return NOTHING_SEEN;
    }
  }

  /** A tick that may start, as long as what was seen of the job's last start is still so. */
  async #takeAsSeen(
    table: MysqlLook,
    request: AcquireRequest,
    seen: AttemptRow,
    startable: Sql,
    schedule: unknown,
  ): Promise<AttemptRow | undefined> {
    const attempt = Number(seen.tick) === request.tick ? Number(seen.attempts) + 1 : 1;
    const { tick, attempts } = seen;
    const unchanged = unchangedStart(request.job ?? '', { tick, attempts, schedule });
    const condition = sql`${startable} AND ${unchanged}`;
    const granted = await this.#take(table, request, { attempt, condition });
    return granted === undefined ? undefined : { ...seen, granted, attempt, previous: schedule };
  }
}

/** Whether the column takes these characters. */
function isTaken({ unicode }: MysqlLook, stored: string): boolean {
  // oxlint-disable-next-line no-control-regex -- what is not ASCII is looked for
  return unicode || !/[^\u0000-\u007f]/.test(stored);
}

/** The fencing token that a write has granted. */
function tokenOf({ affectedRows, insertId }: Written): number | undefined {
  return Number(affectedRows) > 0 ? Number(insertId) : undefined;
}

function one(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new Error('The database answered nothing to a statement that always answers.');
  return row;
}
