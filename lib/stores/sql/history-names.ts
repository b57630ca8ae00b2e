import { SchedulerLockConfigError } from '../../errors.js';
import type { HistoryDialect } from './history-dialect.js';
import { SQL_DEFAULTS, type SqlStoreOptions } from './table-name.js';

/** The names of the tables of histories: that of the locks with something behind it, which may be too long. */
export function historyTables(
  { table = SQL_DEFAULTS.table, ...options }: SqlStoreOptions,
  quoted: (options: SqlStoreOptions) => string,
): Pick<HistoryDialect, 'runs' | 'instances' | 'unusable'> {
  const [runs, instances] = [`${table}_runs`, `${table}_instances`];
  try {
    return {
      runs: quoted({ ...options, table: runs }),
      instances: quoted({ ...options, table: instances }),
    };
  } catch (error) {
    if (!(error instanceof SchedulerLockConfigError)) throw error;
    const unusable = `Histories are kept in the tables ${runs} and ${instances}, whose names are too long, so none are kept. Give a shorter name (table).`;
    return { runs, instances, unusable };
  }
}
