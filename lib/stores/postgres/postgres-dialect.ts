import type { Change, DocumentsRead, Renewal } from '../../contract/port.js';
import { documentsIn, type Row, type SqlDialect, type TableLook, TRY_LIMIT } from '../sql/dialect.js';
import type { EntriesDialect } from '../sql/entries-dialect.js';
import { COLUMNS, judge, type Room, roomOf, roomProblem } from '../sql/sql-table.js';
import { placeOf, type SqlStoreOptions } from '../sql/table-name.js';
import { hidden } from '../sql/gate.js';
import { PooledDialect } from '../sql/pooled-dialect.js';
import { type PostgresClient, rowsOf } from './client.js';
import { failureOf } from './errors.js';
import { postgresEntries } from './entries.js';
import { CURRENT_SCHEMA, LOOK_AT_TABLE } from './looks.js';
import { isPool, PoolConnections, poolWarning } from './pool.js';
import { postgresDdl, postgresNames, withLockTimeout } from './schema.js';
import { changeOne, CHANGE_MANY, MAKE, READ_ALL, READ_ONE, READ_SOME, RENEW } from './statements.js';

/** How long a statement may take, the wait for a connection included, ms. A pool of `pg` may have a shorter limit. */
const LIMIT = 10_000;

/** Runs the statements of PostgreSQL, and interprets their answers. */
export class PostgresDialect extends PooledDialect implements SqlDialect<Room> {
  readonly kind = 'PostgreSQL';
  readonly entries: EntriesDialect;
  readonly failure = failureOf;
  #encoding = 'UTF8';
  #timeout = '';

  constructor(
    private readonly client: PostgresClient,
    options: SqlStoreOptions,
  ) {
    const pool: unknown = client;
    const connections = isPool(pool) ? new PoolConnections(pool) : hidden(client);
    super(postgresNames(options), connections, LIMIT, postgresDdl);
    this.entries = postgresEntries(this.names, async (text, values) =>
      rowsOf(await this.beside.send(text, values)),
    );
  }

  async look(): Promise<TableLook<Room>> {
    const [row] = await this.#rows(CURRENT_SCHEMA, [this.names.table]);
    const { here = null, usual = null } = (row ?? {}) as Record<'here' | 'usual', string | null>;
    const schema = this.names.schema ?? placeOf(here, usual, 'SET search_path');
    this.user = row?.['user'] as string | undefined;
    if (typeof schema !== 'string') return schema;
    this.#encoding = String(row?.['encoding']);
    this.#timeout = String(row?.['timeout']);
    this.names.settle(schema);
    const columns = await this.#rows(LOOK_AT_TABLE, [this.table]);
    const types = new Map(columns.map(({ name, type }) => [String(name), String(type)]));
    return judge(types, this.ddl) ?? { table: roomOf(types, this.ddl) };
  }

  warning(): string | undefined {
    const { client } = this;
    return isPool(client) ? poolWarning(client, this.#timeout) : undefined;
  }

  async attempt(): Promise<void> {
    await this.#rows(`SELECT ${COLUMNS} FROM {locks} WHERE false`, []);
    const nothing = "SELECT '', now(), now(), '', '', '' WHERE false";
    const change = 'ON CONFLICT (name) DO UPDATE SET state = excluded.state';
    await this.#rows(`INSERT INTO {locks} (${COLUMNS}) ${nothing} ${change}`, []);
  }

  nameProblem(table: Room | undefined, name: string): string | undefined {
    // oxlint-disable-next-line no-control-regex -- what is not ASCII is looked for
    if (this.#encoding !== 'UTF8' && /[^\u0000-\u007f]/.test(name))
      return `the database has the encoding ${this.#encoding}, in which the store only takes ASCII. Give it another name, or use a database with the encoding UTF8.`;
    return table && roomProblem(this.table, name, table);
  }

  async migrate(statement: string): Promise<void> {
    await this.gate.run(({ query }) => query(withLockTimeout(statement), []), TRY_LIMIT);
  }

  async read(_table: Room, names: readonly string[] | 'all'): Promise<DocumentsRead> {
    if (names === 'all') return documentsIn(await this.#rows(READ_ALL, []));
    if (names.length === 1) return documentsIn(await this.#rows(READ_ONE, [names[0]]));
    // A name that no lock has: its row tells the time.
    return documentsIn(await this.#rows(READ_SOME, [JSON.stringify(names.length === 0 ? [''] : names)]));
  }

  async write(_table: Room, changes: readonly Change[]): Promise<boolean[]> {
    const [first] = changes;
    if (!first?.seen) {
      const made = await this.#rows(MAKE, [JSON.stringify(changes)]);
      const names = new Set(made.map(({ name }) => name));
      return changes.map(({ name }) => names.has(name));
    }
    if (changes.length > 1) return this.#numbered(CHANGE_MANY, changes);
    const { name, version, by, state, end, seen } = first;
    const values = [name, version, by, state, seen.version, seen.by];
    if (end !== undefined) values.push(String(end));
    const change = changeOne(first, seen);
    if (!isPool(this.client)) return [(await this.#rows(`${change} RETURNING 1 AS one`, values)).length > 0];
    // A pool of pg counts them by itself, for less.
    return [((await this.#send(change, values)) as { readonly rowCount: number }).rowCount > 0];
  }

  renew(_table: Room, renewals: readonly Renewal[]): Promise<boolean[]> {
    return this.#numbered(RENEW, renewals);
  }

  async #rows(statement: string, values: unknown[]): Promise<readonly Row[]> {
    return rowsOf(await this.#send(statement, values));
  }

  #send(statement: string, values: unknown[]): Promise<unknown> {
    const text = statement.replaceAll('{locks}', () => this.table);
    return this.gate.send(text, values);
  }

  async #numbered(statement: string, wanted: readonly object[]): Promise<boolean[]> {
    const numbered = wanted.map((each, i) => ({ ...each, i }));
    const rows = await this.#rows(statement, [JSON.stringify(numbered)]);
    const changed = new Set(rows.map(({ i }) => Number(i)));
    return wanted.map((_, i) => changed.has(i));
  }
}
