import type { Change, DocumentsRead, Renewal, SeenDocument } from '../../contract/port.js';
import { documentsIn, type Row, type SqlDialect, type TableLook, TRY_LIMIT } from '../sql/dialect.js';
import type { EntriesDialect } from '../sql/entries-dialect.js';
import { COLUMNS, roomProblem } from '../sql/sql-table.js';
import type { SqlStoreOptions } from '../sql/table-name.js';
import { hidden } from '../sql/gate.js';
import { PooledDialect } from '../sql/pooled-dialect.js';
import { type PostgresClient, rowsOf } from './client.js';
import { failureOf } from './errors.js';
import { postgresEntries } from './entries.js';
import { CURRENT_SCHEMA, schemaIn } from './current-schema.js';
import { isPool, PoolConnections, poolWarning } from './pool.js';
import { postgresDdl, postgresNames, withLockTimeout } from './schema.js';
import { LOOK_AT_TABLE, type PostgresTableInfo, readLook } from './table-look.js';

/** How long a statement may take, the wait for a connection included, ms. A pool of `pg` may have a shorter limit. */
const LIMIT = 10_000;

/** Runs the statements of PostgreSQL, and interprets their answers. */
export class PostgresDialect extends PooledDialect implements SqlDialect<PostgresTableInfo> {
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

  async look(): Promise<TableLook<PostgresTableInfo>> {
    const [row] = await this.#rows(CURRENT_SCHEMA, [this.names.table]);
    const schema = this.names.schema ?? schemaIn(row);
    this.user = row?.['user'] as string | undefined;
    if (typeof schema !== 'string') return schema;
    this.#encoding = String(row?.['encoding']);
    this.#timeout = String(row?.['timeout']);
    this.names.settle(schema);
    return readLook(this.ddl, await this.#rows(LOOK_AT_TABLE, [this.table]));
  }

  warning(): string | undefined {
    const { client } = this;
    return isPool(client) ? poolWarning(client, this.#timeout) : undefined;
  }

  tries(): { read: string; write: string } {
    const { table } = this;
    return {
      read: `SELECT ${COLUMNS} FROM ${table} WHERE false`,
      write:
        `INSERT INTO ${table} (${COLUMNS}) SELECT '', now(), now(), '', '', '' WHERE false ` +
        'ON CONFLICT (name) DO UPDATE SET state = excluded.state',
    };
  }

  run(statement: string): Promise<unknown> {
    return this.#rows(statement, []);
  }

  nameProblem(table: PostgresTableInfo | undefined, name: string): string | undefined {
    // oxlint-disable-next-line no-control-regex -- what is not ASCII is looked for
    if (this.#encoding !== 'UTF8' && /[^\u0000-\u007f]/.test(name))
      return `the database has the encoding ${this.#encoding}, in which the store only takes ASCII. Give it another name, or use a database with the encoding UTF8.`;
    return table && roomProblem(this.table, name, table);
  }

  async migrate(statement: string): Promise<void> {
    await this.gate.run(({ query }) => query(withLockTimeout(statement), []), TRY_LIMIT);
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
    return documentsIn(rows);
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
    return (await this.#rows(table.change(shape), values)).length > 0;
  }

  async #rows(statement: string, values: unknown[]): Promise<readonly Row[]> {
    return rowsOf(await this.gate.send(statement, values));
  }

  /** Runs a statement that answers the numbers of those that it has changed. */
  async #numbered(statement: string, wanted: readonly object[]): Promise<boolean[]> {
    const rows = await this.#rows(statement, [JSON.stringify(wanted)]);
    const changed = new Set(rows.map(({ i }) => Number(i)));
    return wanted.map((_, i) => changed.has(i));
  }
}
