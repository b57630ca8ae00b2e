import { type Clock, systemClock } from '../../clock.js';
import { LOCK_WAIT, TRY_LIMIT } from '../sql/dialect.js';
import type { MysqlClient } from './client.js';
import { type CallbackConnection, type CallbackPool, closeSilent } from './limited-pool.js';

/**
 * A client whose statements fail when they have waited
 * {@link LOCK_WAIT} for a lock. Each statement gets a connection from the pool, which is closed afterwards, as the limit belongs to the session. A connection without an answer is closed as well.
 *
 * @param limit milliseconds, the wait for a connection included
 */
export function withLockTimeout(
  pool: CallbackPool,
  limit: number = TRY_LIMIT,
  clock: Clock = systemClock,
): MysqlClient {
  const query = (statement: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      let used: CallbackConnection | undefined;
      let over = false;
      const end = (error: Error | null, result?: unknown): void => {
        if (over) return;
        over = true;
        timer.cancel();
        used?.destroy();
        if (error === null) resolve(result);
        else reject(error);
      };
      const timer = clock.setTimer(() => {
        over = true;
        reject(closeSilent(used, limit));
      }, limit);
      pool.getConnection((noConnection, connection) => {
        if (noConnection) return end(noConnection);
        // The statement was given up before it got a connection.
        if (over) return connection.release();
        used = connection;
        const send = (sql: string, callback: (error: Error | null, result?: unknown) => void): void => {
          try {
            connection.query({ sql }, callback);
          } catch (error) {
            end(error as Error);
          }
        };
        send(`SET SESSION lock_wait_timeout = ${LOCK_WAIT}`, (error) => {
          if (error === null) send(statement, end);
          else end(error);
        });
      });
    });
  return { query };
}

/**
 * The same for a client that does not give out its connections. It needs a statement that only MariaDB has: for MySQL the prefix is
 * a comment, and the `lock_wait_timeout` of the connection applies.
 */
export function withLockTimeoutOnMariadb(client: MysqlClient): MysqlClient {
  return {
    query: (statement, values) =>
      client.query(`/*M! SET STATEMENT lock_wait_timeout = ${LOCK_WAIT} FOR */ ${statement}`, values),
  };
}
