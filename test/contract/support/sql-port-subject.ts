import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../lib/base/clock.js';
import type { SqlDialect } from '../../../lib/stores/sql/dialect.js';
import { SqlDocuments } from '../../../lib/stores/sql/documents.js';
import { SqlEntries } from '../../../lib/stores/sql/entries.js';
import { Operations } from '../../../lib/stores/sql/operations.js';
import { SqlTable } from '../../../lib/stores/sql/sql-table.js';
import type {
  LockDocumentsContractOptions,
  LockEntriesContractOptions,
} from '../../../lib/testing/port/port-options.js';
import type { TestPool } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';

/** What is to be tested: some kind of database. */
interface Subject<Table> {
  /** A pool through which a test bypasses the store. */
  pool(): TestPool;
  /** A pool of one connection: what it begins stays open. */
  stranger(): TestPool;
  /** Two of them, each with a pool of its own. */
  dialects(table: string): SqlDialect<Table>[];
  /** Shedlock's time, so many milliseconds from now. */
  later(ms: number): string;
}

const now = Date.now.bind(Date);
const skewInstanceClock = (ms: number): void => {
  Date.now = ms === 0 ? now : () => now() + ms;
};

/** The contract of places on a database, as two instances have it. */
export function sqlPortContract<Table>(subject: Subject<Table>): LockDocumentsContractOptions {
  const table = uniqueTable('port');
  let made: SqlDocuments<Table>[] | undefined;
  const documentsOf = (dialect: SqlDialect<Table>): SqlDocuments<Table> => {
    const lived = new SqlTable(dialect, { migrate: true });
    return new SqlDocuments(dialect, new Operations(dialect, lived, systemClock), lived);
  };
  return {
    create: async () => {
      made ??= subject.dialects(table).map(documentsOf);
      const [documents, ...others] = made;
      if (documents === undefined) throw new Error('No pool was made');
      await documents.read([]);
      return {
        documents,
        others,
        close: async () => void (await subject.pool().write(`DELETE FROM ${table}`)),
      };
    },
    wait: (ms) => sleep(ms),
    skewInstanceClock,
    takeByStranger: async (_documents, name, by, ttl) => {
      const text = `UPDATE ${table} SET lock_until = ${subject.later(ttl)}, locked_at = ${subject.later(0)}, locked_by = ? WHERE name = ?`;
      await subject.pool().write(text, [by, name]);
    },
    holdDocument: async (_documents, name) => {
      const stranger = subject.stranger();
      await stranger.write('START TRANSACTION');
      await stranger.rows(`SELECT name FROM ${table} WHERE name = ? FOR UPDATE`, [name]);
      return async () => void (await stranger.write('ROLLBACK'));
    },
  };
}

/** The contract of entries on a database, as two instances have them. */
export function sqlEntriesContract<Table>(subject: Subject<Table>): LockEntriesContractOptions {
  const table = uniqueTable('entries');
  let made: SqlEntries<Table>[] | undefined;
  const entriesOf = (dialect: SqlDialect<Table>): SqlEntries<Table> => {
    const lived = new SqlTable(dialect, { migrate: true });
    const options = { migrate: true, clock: systemClock };
    return new SqlEntries(dialect, new Operations(dialect, lived, systemClock), options);
  };
  return {
    create: async () => {
      made ??= subject.dialects(table).map(entriesOf);
      const [entries, ...others] = made;
      if (entries === undefined) throw new Error('No pool was made');
      const problem = await entries.init();
      if (problem !== undefined) throw new Error(problem);
      return {
        entries,
        others,
        close: async () => void (await subject.pool().write(`DELETE FROM ${table}_entries`)),
      };
    },
    wait: (ms) => sleep(ms),
    skewInstanceClock,
  };
}
