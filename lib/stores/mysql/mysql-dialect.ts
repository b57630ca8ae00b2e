import type { Change, DocumentsRead, Renewal } from '../../contract/port.js';
import { LOCK_WAIT, type SqlDialect, type TableLook, type Written } from '../sql/dialect.js';
import type { SqlFailure } from '../sql/failure.js';
import type { EntriesDialect } from '../sql/entries-dialect.js';
import { nameProblem } from '../sql/table-judgement.js';
import type { SqlStoreOptions, TableNames } from '../sql/table-name.js';
import { type MysqlClient, read } from './client.js';
import { storedName } from './columns.js';
import { CURRENT_DATABASE, databaseIn } from './current-database.js';
import { KnownRows, readDocuments, renewDocuments, writeDocuments } from './documents.js';
import { failureOf } from './errors.js';
import { mysqlEntries } from './entries.js';
import { LimitedPool } from './limited-pool.js';
import { mysqlNames } from './schema.js';
import { setupOf } from './setup.js';
import { indexStatement, lookStatement, type MysqlTableInfo, readLook } from './table-look.js';

/** Runs the statements of MySQL and MariaDB, and interprets their answers. */
export class MysqlDialect implements SqlDialect<MysqlTableInfo> {
  readonly kind = 'MySQL';
  readonly entries: EntriesDialect;
  readonly #names: TableNames;
  /** The result of the last look. */
  #schema: string | undefined;
  #user: string | undefined;
  readonly #known = new KnownRows();

  constructor(
    private readonly client: MysqlClient | LimitedPool,
    options: SqlStoreOptions,
  ) {
    this.#names = mysqlNames(options);
    this.entries = mysqlEntries(this.#names, client);
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

  unreadable(name: string): string | undefined {
    // Two such names would be one, with a question mark in place of the half.
    if (!/\p{Surrogate}/u.test(name)) return undefined;
    return 'MySQL keeps no text with half a character. Give another name.';
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

  read(table: MysqlTableInfo, names: readonly string[] | 'all'): Promise<DocumentsRead> {
    return readDocuments(this.client, table, names, { shown: this.table, known: this.#known });
  }

  write(table: MysqlTableInfo, changes: readonly Change[]): Promise<Written[]> {
    return writeDocuments(this.client, table, changes);
  }

  renew(table: MysqlTableInfo, renewals: readonly Renewal[]): Promise<boolean[]> {
    return renewDocuments(this.client, table, renewals, { shown: this.table, known: this.#known });
  }

  failure(error: unknown): SqlFailure {
    return failureOf(error);
  }
}
