import { type Clock, systemClock } from '../../clock.js';
import { LOCK_WAIT, TRY_LIMIT } from '../sql/migration.js';
import type { MysqlClient } from './client.js';
import { type CallbackConnection, type CallbackPool, closeSilent } from './limited-pool.js';

/**
 * What sends a statement that fails when it has waited {@link LOCK_WAIT} for a lock. On a connection that nobody else gets, which is
 * closed afterwards, as the limit is one of the session; also if it does not answer.
 *
 * @param limit milliseconds, the wait for a connection included
 */
export function briefOn(
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
        // Nobody waits for it any more.
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
 * The same through a client whose connections are not to be had. In one statement, which only MariaDB has: to MySQL it is a
 * comment, and `lock_wait_timeout` is what the connection has.
 */
export function briefIfMariadb(client: MysqlClient): MysqlClient {
  return {
    query: (statement, values) =>
      client.query(`/*M! SET STATEMENT lock_wait_timeout = ${LOCK_WAIT} FOR */ ${statement}`, values),
  };
}
