import { SchedulerLockConfigError } from '../../errors.js';
import type { AcquireRequest, LeaseRef, ReleaseOutcome } from '../lock-store.js';
import { type AttemptRow, isTrue, NOTHING_SEEN, type Renewed, type SeenRow } from '../sql/answers.js';
import type { LastLease } from '../sql/interruption.js';
import type {
  Entrant,
  Fault,
  GivenBack,
  HowToAttempt,
  LineChange,
  SqlDialect,
  TableLook,
} from '../sql/dialect.js';
import type { QueuedCallsDialect } from '../sql/queued-calls-dialect.js';
import { errorsIn, isNotConnected, type SqlFailure, wantsTls } from '../sql/failure.js';
import type { HistoryDialect, HistoryRow } from '../sql/history-dialect.js';
import { endedBy, type Ending, isPlain, lockedBy, NOBODY } from '../sql/locked-by.js';
import { LastGranted } from '../sql/last-granted.js';
import { type LockRow, lockRow } from '../sql/lock-row.js';
import { TRY_LIMIT } from '../sql/dialect.js';
import { nameProblem } from '../sql/table-judgement.js';
import type { SqlStoreOptions, TableNames } from '../sql/table-name.js';
import { failureOf } from './errors.js';
import { postgresQueuedCalls } from './queued-calls.js';
import { keepRun, postgresHistory } from './history.js';
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
  readonly #lastGranted = new LastGranted();
  /** `undefined` for other clients, which have to give up connections by themselves. */
  readonly #pool: WatchedPool | undefined;
  /**
   * Whether the client is known to report the number of rows that a write has found, as `pg` does. Other clients need returned rows
   * to count.
   */
  #counts = false;

  readonly queuedCalls: QueuedCallsDialect<PostgresTableInfo>;
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
    return nameProblem(this.table, name, names);
  }

  reconnect(silence: number | undefined): void {
    this.#pool?.reconnect(silence);
  }

  async migrate(statement: string): Promise<void> {
    const text = withLockTimeout(statement);
    if (isPool(this.client)) await this.client.query({ text, values: [], query_timeout: this.tryLimit });
    else await this.client.query(text, []);
  }

  async attempt(
    table: PostgresTableInfo,
    request: AcquireRequest,
    { change, goOn }: HowToAttempt = {},
  ): Promise<AttemptRow> {
    const statements = request.history === true ? table.withHistory : table;
    const { name, ttl, job = '' } = request;
    const values = [name, lockedBy(request), text(ttl), job, ...startValues(request)];
    if (values.length === 4 && change === undefined && this.#lastGranted.has(name)) {
      const [taken] = await this.#rows(statements.takeAgain, values.slice(0, 3));
      if (taken !== undefined) return { ...NOTHING_SEEN, ...taken };
      goOn?.();
    }
    if (change !== undefined) values.push(change.seen, change.line);
    const [row] = await this.#rows(statementFor(statements, request, change), values);
    this.#lastGranted.note(name, row !== undefined && row['granted'] !== null);
    return row === undefined ? NOTHING_SEEN : answerOf(row);
  }

  async renew({ extend }: PostgresTableInfo, leases: readonly LeaseRef[]): Promise<Renewed[]> {
    const wanted = leases.map(({ name, ttl, fencingToken: fence, ...lease }, i) => {
      return { i, name, by: lockedBy(lease), ttl, fence };
    });
    const rows = await this.#rows(extend, [JSON.stringify(wanted)]);
    const results: Renewed[] = [];
    for (const row of rows) {
      results[Number(row['i'])] = isTrue(row['renewed']) ? true : (row as unknown as SeenRow);
    }
    return results;
  }

  async giveBack(
    { release, releasePlain, releaseAnd }: PostgresTableInfo,
    lease: LeaseRef,
    { outcome, keepFor }: Ending,
    run?: HistoryRow,
  ): Promise<GivenBack | SeenRow> {
    const by = lockedBy(lease);
    if (isPlain(lease, { outcome, keepFor }) && this.hint === undefined && run === undefined) {
      const statement = this.#counts ? releasePlain : `${releasePlain} RETURNING 1 AS one`;
      const own = [lease.name, by, endedBy(by, outcome), text(lease.fencingToken)];
      const result = await this.#send(statement, own);
      const count = countOf(result);
      this.#counts = count !== undefined;
      if ((count ?? rowsOf(result).length) > 0) return { live: true };
    }
    const values = [lease.name, by, text(keepFor), outcome, lease.job ?? '', text(lease.fencingToken)];
    const [row] =
      run === undefined
        ? await this.#rows(release, values)
        : await this.#rows(releaseAnd(keepRun(this.history.runs)), [...values, ...valuesOf(run)]);
    if (row === undefined) return NOTHING_SEEN;
    const { live, line, ...seen } = row;
    if (live === null) return seen as unknown as SeenRow;
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
    return (await this.#rows(writeBack, [...values, text(fencingToken)])).length > 0;
  }

  async rows({ allRows, someRows }: PostgresTableInfo, names?: readonly string[]): Promise<LockRow[]> {
    const rows =
      names === undefined ? this.#rows(allRows, []) : this.#rows(someRows, [JSON.stringify(names)]);
    return (await rows).map((row) => lockRow(row));
  }

  async enter({ enter }: PostgresTableInfo, entrant: Entrant): Promise<void> {
    const { name, token, process, priority, place, limit, version } = entrant;
    await this.#rows(enter, [name, token, process, text(priority), text(place), text(limit), version]);
  }

  async leave(
    { leave }: PostgresTableInfo,
    name: string,
    { token, version }: Pick<Entrant, 'token' | 'version'>,
  ): Promise<boolean> {
    return (await this.#rows(leave, [name, token, version])).length > 0;
  }

  async changeLine(
    { changeLine }: PostgresTableInfo,
    name: string,
    { seen, line }: LineChange,
  ): Promise<boolean> {
    return (await this.#rows(changeLine, [name, seen, line])).length > 0;
  }

  async keepFree({ keepFree }: PostgresTableInfo, name: string, ms: number): Promise<void> {
    await this.#rows(keepFree, [name, text(ms), NOBODY]);
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

const valuesOf = ({ entry, kind, age, data }: HistoryRow): (string | null)[] => [
  entry,
  kind,
  text(age),
  data,
];

/** Reads the answer of `acquire`. */
function answerOf({ seen = null, last = null, ...granted }: Row): AttemptRow {
  const explained = parsed(seen) as Partial<AttemptRow> | null;
  const before = last === null ? undefined : { last: parsed(last) as LastLease };
  return { ...NOTHING_SEEN, ...granted, ...explained, ...before };
}

/** A driver that does not know the type leaves JSON unparsed. */
const parsed = (json: unknown): unknown => (typeof json === 'string' ? (JSON.parse(json) as unknown) : json);

/** What the statement for a start needs besides. */
function startValues(request: AcquireRequest): (string | null)[] {
  const { tick, interval, maxClockSkew, schedule = '', rerun = 0, only } = request;
  if (tick !== undefined) return [text(tick), text(maxClockSkew), schedule, text(rerun), text(only)];
  return interval === undefined ? [] : [text(interval)];
}

function statementFor(
  statements: Pick<PostgresTableInfo, 'acquire' | 'claim'>,
  { tick, interval }: AcquireRequest,
  change: LineChange | undefined,
): string {
  const { any, ofTick, ofInterval } = change === undefined ? statements.acquire : statements.claim;
  if (tick !== undefined) return ofTick;
  return interval === undefined ? any : ofInterval;
}

/** Prisma and TypeORM answer the rows themselves; for an UPDATE, TypeORM answers a pair of the rows and their number. */
function rowsOf(result: unknown): readonly Row[] {
  if (!Array.isArray(result)) return (result as { rows: Row[] }).rows;
  return Array.isArray(result[0]) ? (result[0] as Row[]) : (result as Row[]);
}

/**
 * How many rows an UPDATE has found, as the server reports it. Only if the answer names the command: without it, the number may be
 * that of the returned rows.
 */
function countOf(result: unknown): number | undefined {
  const { command, rowCount } = Object(result) as Readonly<Record<string, unknown>>;
  return command === 'UPDATE' && typeof rowCount === 'number' ? rowCount : undefined;
}

/** Every parameter is sent as text: see the statements. */
function text(value: string | number | undefined): string | null {
  return value === undefined ? null : String(value);
}
