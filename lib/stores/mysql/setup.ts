import { type SetupFacts, type SetupOptions, setupText, SOME_USER } from '../sql/setup.js';
import { OUR_COLUMNS } from '../sql/sql-table.js';
import { entriesProblem, type SqlStoreOptions, type Suffix, type TableNames } from '../sql/table-name.js';
import { entriesDdl } from './entries.js';
import { mysqlDdl, mysqlNames } from './schema.js';

/** The table as ShedLock's README creates it. */
const shedlockDdl = (table: string): string => `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  lock_until TIMESTAMP(3) NOT NULL,
  locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  locked_by VARCHAR(255) NOT NULL
)`;

/**
 * All SQL for a store whose user may create nothing. It can be run again, except for the columns that it adds to a table of ShedLock.
 *
 * @throws SchedulerLockConfigError if a name is invalid
 */
export function mysqlSetup({ user, shedlock = false, ...options }: SqlStoreOptions & SetupOptions): string {
  const names = mysqlNames(options);
  const table = names.quoted();
  const ours = mysqlDdl(table);
  const locks = shedlock ? [shedlockDdl(table), ours.addition(OUR_COLUMNS)] : ours.creation;
  return setupOf(names, { user, locks });
}

export function setupOf(names: TableNames, { user, schema = names.schema, locks }: SetupFacts): string {
  const hasEntries = entriesProblem(names) === undefined;
  const quoted = (suffix: Suffix): string => names.quoted(suffix, schema);
  const to = `TO ${user === undefined ? SOME_USER : account(user)}`;
  const ddl = mysqlDdl(quoted(''));
  return setupText(
    {
      schema:
        schema !== undefined && names.given
          ? [`CREATE DATABASE IF NOT EXISTS ${names.quotedName(schema)}`]
          : [],
      locks: locks ?? ddl.creation,
      // A user without rights on a table does not see that the table exists.
      note:
        (locks ?? ddl.creation).join() === ddl.creation.join()
          ? `If ShedLock has made this table, run this besides, once: ${ddl.addition(OUR_COLUMNS)};`
          : undefined,
      entries: hasEntries ? entriesDdl(names, schema) : [],
      rights: [
        `GRANT SELECT, INSERT, UPDATE ON ${quoted('')} ${to}`,
        ...(hasEntries ? [`GRANT SELECT, INSERT, UPDATE, DELETE ON ${quoted('_entries')} ${to}`] : []),
      ],
    },
    user !== undefined,
  );
}

/** `app`, `app@10.%`, or what CURRENT_USER() says. */
function account(user: string): string {
  const [, name = user, host = '%'] = /^(.*)@([^@]*)$/s.exec(user) ?? [];
  const text = (part: string): string => `'${part.replaceAll(/['\\]/g, '\\$&')}'`;
  return `${text(name)}@${text(host)}`;
}
