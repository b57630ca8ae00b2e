import { failureIn, type SqlFailure } from '../sql/failure.js';

/** https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html */
const FAILURES: Partial<Record<SqlFailure, readonly number[]>> = {
  // Deadlock; changed since it was read (MariaDB); rolled back by Group Replication; made by another instance: a row, a table, a column.
  conflict: [1213, 1020, 3101, 1062, 1050, 1060],
  // ER_LOCK_WAIT_TIMEOUT, ER_LOCK_NOWAIT
  locked: [1205, 3572],
  // No such table, index of the names, column.
  table: [1146, 1176, 1054],
  // No right to the database, the table, the column.
  forbidden: [1044, 1142, 1143],
  // User, password, host, database; a password that has to be changed, an account that is locked.
  denied: [1045, 1698, 1130, 1049, 1820, 1862, 3118, 4151],
  // Too long, out of range, or no value of its type; by a trigger, by a CHECK.
  lock: [1406, 1264, 1292, 1366, 1644, 3819, 4025],
  // The server goes away, an error during COMMIT, max_statement_time, a killed connection: perhaps after it has carried out the statement.
  unknown: [1053, 1180, 1969, 1927, 3169],
  // The driver `mariadb`, which Prisma uses, got no connection.
  refused: [45_028],
};
const BY_NUMBER = new Map(
  Object.entries(FAILURES).flatMap(([failure, numbers]) =>
    numbers.map((number) => [number, failure as SqlFailure] as const),
  ),
);

/** Numbers from 2000 to 2999 are those of clients, as are those of the driver `mariadb`, from 45000 on. */
const ofNumber = (number: number): SqlFailure =>
  BY_NUMBER.get(number) ?? ((number >= 2000 && number < 3000) || number >= 45_000 ? 'unknown' : 'refused');

/** Classifies an error of the driver. Negative numbers are Node's, for network errors. */
export const failureOf = (error: unknown): SqlFailure =>
  failureIn(error, ({ errno }) => (Number(errno ?? NaN) > 0 ? ofNumber(Number(errno)) : undefined));
