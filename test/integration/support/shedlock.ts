import type { TestDatabase, TestPool } from '../../support/database.js';

/** An instance of a Spring service with ShedLock and `usingDbTime()`. */
export interface ShedLock {
  readonly lockedBy: string;
  /** Whether it got the lock. */
  lock(name: string, lockAtMostFor: number): Promise<boolean>;
  unlock(name: string, lockAtLeastFor?: number): Promise<void>;
  extend(name: string, lockAtMostFor: number): Promise<boolean>;
}

interface Statements {
  readonly insert: string;
  readonly update: string;
  readonly unlock: string;
  readonly extend: string;
  /** Milliseconds as its statements take them. */
  time(ms: number): unknown;
}

/*
 * The statements of ShedLock 6 and 7 for the server's time (PostgresSqlServerTimeStatementsSource and
 * MySqlServerTimeStatementsSource), as they reach the database: `lock` inserts, and updates if the row was there.
 */
function postgres(table: string): Statements {
  const now = "timezone('utc', CURRENT_TIMESTAMP)";
  const plus = (from: string): string => `${from} + cast(? as interval)`;
  const update = `SET lock_until = ${plus(now)}, locked_at = ${now}, locked_by = ?
    WHERE ${table}.name = ? AND ${table}.lock_until <= ${now}`;
  return {
    insert: `INSERT INTO ${table}(name, lock_until, locked_at, locked_by) VALUES(?, ${plus(now)}, ${now}, ?)
      ON CONFLICT (name) DO UPDATE ${update}`,
    update: `UPDATE ${table} ${update}`,
    unlock: `UPDATE ${table} SET lock_until = CASE WHEN ${plus('locked_at')} > ${now} THEN ${plus('locked_at')} ELSE ${now} END
      WHERE name = ? AND locked_by = ?`,
    extend: `UPDATE ${table} SET lock_until = ${plus(now)} WHERE name = ? AND locked_by = ? AND lock_until > ${now}`,
    time: (ms) => `${ms} milliseconds`,
  };
}

function mysql(table: string): Statements {
  const now = 'UTC_TIMESTAMP(3)';
  const plus = (from: string): string => `TIMESTAMPADD(MICROSECOND, ?, ${from})`;
  return {
    insert: `INSERT IGNORE INTO ${table}(name, lock_until, locked_at, locked_by) VALUES(?, ${plus(now)}, ${now}, ?)`,
    update: `UPDATE ${table} SET lock_until = ${plus(now)}, locked_at = ${now}, locked_by = ? WHERE name = ? AND lock_until <= ${now}`,
    unlock: `UPDATE ${table} SET lock_until = IF (${plus('locked_at')} > ${now} , ${plus('locked_at')}, ${now})
      WHERE name = ? AND locked_by = ?`,
    extend: `UPDATE ${table} SET lock_until = ${plus(now)} WHERE name = ? AND locked_by = ? AND lock_until > ${now}`,
    time: (ms) => ms * 1_000,
  };
}

/** A ShedLock on this table, named after its host as ShedLock does. */
export function shedLock(
  database: TestDatabase,
  pool: TestPool,
  table: string,
  lockedBy = 'spring-host',
): ShedLock {
  const statements = database.name === 'PostgreSQL' ? postgres(table) : mysql(table);
  const { time } = statements;
  return {
    lockedBy,
    async lock(name, ms) {
      const update = [time(ms), lockedBy, name];
      const insert =
        database.name === 'PostgreSQL' ? [name, time(ms), lockedBy, ...update] : [name, time(ms), lockedBy];
      // An INSERT IGNORE that found the row says so by no rows.
      if ((await pool.write(statements.insert, insert)) > 0) return true;
      return (await pool.write(statements.update, update)) > 0;
    },
    async unlock(name, ms = 0) {
      await pool.write(statements.unlock, [time(ms), time(ms), name, lockedBy]);
    },
    async extend(name, ms) {
      return (await pool.write(statements.extend, [time(ms), name, lockedBy])) > 0;
    },
  };
}
