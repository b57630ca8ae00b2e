import { LockStateError } from '../../errors.js';
import type { AcquireRequest } from '../lock-store.js';
import { type AttemptAnswer, hasLine, isTrue, mayTake, NOTHING_SEEN } from '../sql/answers.js';
import type { HowToAttempt, LineChange } from '../sql/dialect.js';
import type { LastLease } from '../sql/interruption.js';
import { LastGranted } from '../sql/last-granted.js';
import { lockRow } from '../sql/lock-row.js';
import { type MysqlClient, read, write } from './client.js';
import { failureOf, TOO_LONG } from './errors.js';
import { readSeen } from './seen.js';
import { type Sql, sql } from './sql-text.js';
import { jobOfKey, type StartSql, startSql, unchangedStart } from './starts.js';
import { firstStatement, refusalStatement, takeStatement, WAS_RELEASED } from './statements.js';
import type { MysqlTableInfo } from './table-look.js';

/** The microseconds of 2001: the first fencing token of a name is greater. */
const LEAST_FENCING_TOKEN = 1_000_000_000_000_000;

/** What the read before an attempt answers. */
interface SeenAttempt extends AttemptAnswer {
  /** The schedule of the job's last start. */
  readonly schedule: unknown;
  /** job_state, for a request with a history whose last lease was not released. */
  readonly unended?: unknown;
}

/** Attempts to take locks on MySQL and MariaDB. */
export class MysqlAttempts {
  readonly #lastGranted = new LastGranted();

  constructor(
    private readonly client: MysqlClient,
    private readonly nameProblem: (table: MysqlTableInfo, name: string) => string | undefined,
  ) {}

  async make(table: MysqlTableInfo, request: AcquireRequest, how: HowToAttempt = {}): Promise<AttemptAnswer> {
    const { name } = request;
    if (how.change !== undefined) return this.#lookAndTake(table, request, how);
    const guessed = this.#lastGranted.has(name) ? await this.#takeAsUsual(table, request) : undefined;
    if (guessed !== undefined) return guessed;
    const row = await this.#lookAndTake(table, request, how);
    this.#lastGranted.note(name, row.granted !== null);
    return row;
  }

  /**
   * Takes a lock by one statement, if the lock is free and nothing else of its row is needed; `undefined` if the statement found no such
   * row.
   */
  async #takeAsUsual(table: MysqlTableInfo, request: AcquireRequest): Promise<AttemptAnswer | undefined> {
    const start = startSql(request);
    // A grant has to report a last lease that was not released: the statement leaves such rows out.
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
  ): Promise<AttemptAnswer> {
    const start = startSql(request);
    const row = await this.#explain(table, request, start);
    const isOpen = row.by !== null || start.startableFirst;
    if (!mayTake(row) || !isOpen || (change === undefined && hasLine(row))) return row;
    goOn?.();
    return row.by === null
      ? this.#takeFirst(table, request, start)
      : this.#takeSeen(table, request, { start, row, change });
  }

  /** Takes a lock, if its row is as it was read. */
  async #takeSeen(
    table: MysqlTableInfo,
    request: AcquireRequest,
    { start, row, change }: { start: StartSql; row: SeenAttempt; change: LineChange | undefined },
  ): Promise<AttemptAnswer> {
    // For a tick, the job's last start must still be the one that was read.
    const { job = '', tick } = request;
    const again = tick !== undefined && row.tick !== null;
    const condition = again ? sql`${start.startable} AND ${unchangedStart(job, row)}` : start.startable;
    const attempt = again && Number(row.tick) === tick ? Number(row.attempts) + 1 : 1;
    const granted = await this.#take(takeStatement(table, request, start, { attempt, condition, change }));
    // If the write finds no row, another client was faster, and the row that was read explains nothing.
    if (granted === undefined) return NOTHING_SEEN;
    return { ...row, granted, attempt, previous: row.schedule, last: lastLease(row) };
  }

  async #explain(table: MysqlTableInfo, request: AcquireRequest, start: StartSql): Promise<SeenAttempt> {
    const { name } = request;
    // The error that a database with a strict `sql_mode` gives. Without one, the database gives none.
    if (this.nameProblem(table, name) !== undefined)
      throw Object.assign(new Error('name'), { errno: TOO_LONG });
    const [seen] = await read(this.client, refusalStatement(table, request, start));
    if (seen === undefined)
      throw new Error('The database answered nothing to a statement that always answers.');
    if (seen['by'] !== null && !isTrue(seen['same'])) {
      throw new LockStateError(
        name,
        `the collation of the column name of ${table.table.text} takes this name for that of another lock. Run this, or rename one: ${table.names.widening};`,
      );
    }
    return { ...seen, granted: null, attempt: null, previous: null } as unknown as SeenAttempt;
  }

  /** Takes a lock that had no row a moment ago. */
  async #takeFirst(table: MysqlTableInfo, request: AcquireRequest, start: StartSql): Promise<AttemptAnswer> {
    try {
      let granted = await this.#take(firstStatement(table, request, start));
      // If the table has a column AUTO_INCREMENT, the server answers its value instead.
      if (granted !== undefined && granted < LEAST_FENCING_TOKEN)
        granted = Number((await readSeen(this.client, table, request.name)).recorded);
      return granted === undefined ? NOTHING_SEEN : { ...NOTHING_SEEN, granted, attempt: 1 };
    } catch (error) {
      if (failureOf(error) !== 'conflict') throw error;
      return NOTHING_SEEN;
    }
  }

  /** Returns the fencing token, or `undefined` if the statement did not take the lock. */
  async #take(statement: Sql): Promise<number | undefined> {
    const { affectedRows, insertId } = await write(this.client, statement);
    return Number(affectedRows) > 0 ? Number(insertId) : undefined;
  }
}

/** The lease before a grant, if it was not released and the grant has to report it. */
function lastLease({ by, recorded, unended }: SeenAttempt): LastLease | undefined {
  if (by === null || (unended ?? null) === null) return undefined;
  return { by, recorded, jobs: lockRow({ state: unended }, jobOfKey).jobs };
}
