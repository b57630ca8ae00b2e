import type { Change, DocumentsRead, Renewal } from '../../contract/port.js';
import { LOCK_WAIT, TRY_LIMIT, type SqlDialect, type TableLook, type Written } from '../sql/dialect.js';
import type { EntriesDialect } from '../sql/entries-dialect.js';
import { COLUMNS, roomProblem } from '../sql/sql-table.js';
import type { SqlStoreOptions } from '../sql/table-name.js';
import { hidden } from '../sql/gate.js';
import { PooledDialect } from '../sql/pooled-dialect.js';
import { type MysqlClient, read } from './client.js';
import { readDocuments, renewDocuments, writeDocuments } from './documents.js';
import { failureOf } from './errors.js';
import { mysqlEntries } from './entries.js';
import { PoolConnections, poolOf } from './pool.js';
import { mysqlDdl, mysqlNames } from './schema.js';
import type { MysqlTable } from './columns.js';
import { raw } from './sql-text.js';
import { CURRENT_DATABASE, databaseIn, lookStatement, readLook } from './table-look.js';

/** Runs the statements of MySQL and MariaDB, and interprets their answers. */
export class MysqlDialect extends PooledDialect implements SqlDialect<MysqlTable> {
  readonly kind = 'MySQL';
  readonly entries: EntriesDialect;
  readonly failure = failureOf;
  readonly #pool: PoolConnections | undefined;

  /** @param limit milliseconds for a statement */
  constructor(client: unknown, options: SqlStoreOptions, limit: number) {
    const found = poolOf(client);
    const pool = found && new PoolConnections(found, limit);
    super(mysqlNames(options), pool ?? hidden(client as MysqlClient), limit, mysqlDdl);
    this.#pool = pool;
    this.entries = mysqlEntries(this.names, this.beside);
  }

  async look(): Promise<TableLook<MysqlTable>> {
    const [row] = await read(this.gate, CURRENT_DATABASE);
    const schema = this.names.schema ?? databaseIn(row, this.#pool?.database);
    this.user = row?.['user'] as string | undefined;
    if (typeof schema !== 'string') return schema;
    this.names.settle(schema);
    const where = { table: this.names.table, schema };
    return readLook(this.ddl, await read(this.gate, lookStatement(where)));
  }

  async attempt(): Promise<void> {
    await read(this.gate, raw(`SELECT ${COLUMNS} FROM ${this.table} WHERE FALSE`));
    const nothing = "SELECT '', NOW(), NOW(), '', '', '' FROM DUAL WHERE FALSE";
    const change = 'ON DUPLICATE KEY UPDATE state = VALUES(state)';
    await read(this.gate, raw(`INSERT INTO ${this.table} (${COLUMNS}) ${nothing} ${change}`));
  }

  nameProblem(table: MysqlTable | undefined, name: string): string | undefined {
    if (name.endsWith(' ')) return 'MySQL ignores blanks at the end of a name. Give another name.';
    if (table === undefined) return undefined;
    // oxlint-disable-next-line no-control-regex -- what is not ASCII is looked for
    if (!table.unicode && /[^\u0000-\u007f]/.test(name))
      return `the column name of ${this.table} does not take every character. Give it another name, or run this: ${table.widening};`;
    return roomProblem(this.table, name, table);
  }

  /** Through another client than a pool, only MariaDB limits the wait. */
  async migrate(statement: string): Promise<void> {
    const limited = `/*M! SET STATEMENT lock_wait_timeout = ${LOCK_WAIT} FOR */ ${statement}`;
    if (this.#pool === undefined) await this.gate.send(limited, []);
    else
      await this.gate.run(async ({ query }) => {
        await query(`SET @waits = @@lock_wait_timeout, lock_wait_timeout = ${LOCK_WAIT}`, []);
        try {
          await query(statement, []);
        } finally {
          await query('SET lock_wait_timeout = @waits', []);
        }
      }, TRY_LIMIT);
  }

  read(table: MysqlTable, names: readonly string[] | 'all'): Promise<DocumentsRead> {
    return readDocuments(this.gate, table, names);
  }

  write(table: MysqlTable, changes: readonly Change[]): Promise<Written[]> {
    return writeDocuments(this.gate, table, changes);
  }

  renew(table: MysqlTable, renewals: readonly Renewal[]): Promise<boolean[]> {
    return renewDocuments(this.gate, table, renewals);
  }
}
