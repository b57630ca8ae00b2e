import { type SetupFacts, type SetupOptions, setupText, SOME_USER } from '../sql/setup.js';
import { entriesProblem, type SqlStoreOptions, type Suffix, type TableNames } from '../sql/table-name.js';
import { entriesDdl } from './entries.js';
import { postgresDdl, postgresNames } from './schema.js';

/** The table as ShedLock's README creates it. */
const shedlockDdl = (table: string): string => `CREATE TABLE IF NOT EXISTS ${table} (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  lock_until TIMESTAMP NOT NULL,
  locked_at TIMESTAMP NOT NULL,
  locked_by VARCHAR(255) NOT NULL
)`;

/**
 * All SQL for a store whose user may create nothing. It can be run again.
 *
 * @throws SchedulerLockConfigError if a name is invalid
 */
export function postgresSetup({
  user,
  shedlock = false,
  ...options
}: SqlStoreOptions & SetupOptions): string {
  const names = postgresNames(options);
  const [create = '', add = ''] = postgresDdl(names.quoted()).creation;
  return setupOf(names, { user, locks: [shedlock ? shedlockDdl(names.quoted()) : create, add] });
}

export function setupOf(names: TableNames, { user, schema = names.schema, locks }: SetupFacts): string {
  const hasEntries = entriesProblem(names) === undefined;
  const quoted = (suffix: Suffix): string => names.quoted(suffix, schema);
  const to = `TO ${user === undefined ? SOME_USER : names.quotedName(user)}`;
  const home = schema === undefined ? undefined : names.quotedName(schema);
  return setupText(
    {
      schema: home !== undefined && names.given ? [`CREATE SCHEMA IF NOT EXISTS ${home}`] : [],
      locks: locks ?? postgresDdl(quoted('')).creation,
      entries: hasEntries ? entriesDdl(names, schema) : [],
      rights: [
        ...(home === undefined ? [] : [`GRANT USAGE ON SCHEMA ${home} ${to}`]),
        `GRANT SELECT, INSERT, UPDATE ON ${quoted('')} ${to}`,
        ...(hasEntries ? [`GRANT SELECT, INSERT, UPDATE, DELETE ON ${quoted('_entries')} ${to}`] : []),
      ],
    },
    user !== undefined,
  );
}
