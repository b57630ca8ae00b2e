import { errorsIn, isNotConnected, isUntrusted, type SqlFailure, wantsTls } from '../sql/failure.js';

const FAILURES: Readonly<Record<number, SqlFailure>> = {
  1213: 'conflict', // ER_LOCK_DEADLOCK
  1020: 'conflict', // ER_CHECKREAD: MariaDB, at REPEATABLE READ and above
  1062: 'conflict', // ER_DUP_ENTRY: another instance made the row a moment before
  1050: 'conflict', // ER_TABLE_EXISTS_ERROR, by another instance's migration
  1060: 'conflict', // ER_DUP_FIELDNAME
  3101: 'conflict', // ER_TRANSACTION_ROLLBACK_DURING_COMMIT, by Group Replication
  1205: 'locked', // ER_LOCK_WAIT_TIMEOUT
  3572: 'locked', // ER_LOCK_NOWAIT
  1146: 'table', // ER_NO_SUCH_TABLE
  1176: 'table', // ER_KEY_DOES_NOT_EXITS: the index of the names has another name by now
  1054: 'table', // ER_BAD_FIELD_ERROR
  1044: 'forbidden', // ER_DBACCESS_DENIED_ERROR
  1045: 'denied', // ER_ACCESS_DENIED_ERROR
  1049: 'denied', // ER_BAD_DB_ERROR
  1102: 'denied', // ER_WRONG_DB_NAME
  1103: 'denied', // ER_WRONG_TABLE_NAME
  1130: 'denied', // ER_HOST_NOT_PRIVILEGED
  1142: 'forbidden', // ER_TABLEACCESS_DENIED_ERROR
  1143: 'forbidden', // ER_COLUMNACCESS_DENIED_ERROR
  1698: 'denied', // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
  1820: 'denied', // ER_MUST_CHANGE_PASSWORD
  1862: 'denied', // ER_MUST_CHANGE_PASSWORD_LOGIN
  3118: 'denied', // ER_ACCOUNT_HAS_BEEN_LOCKED
  4151: 'denied', // ER_ACCOUNT_HAS_BEEN_LOCKED: MariaDB
  1406: 'too-long', // ER_DATA_TOO_LONG
  1264: 'lock', // ER_WARN_DATA_OUT_OF_RANGE
  1292: 'lock', // ER_TRUNCATED_WRONG_VALUE
  1366: 'lock', // ER_TRUNCATED_WRONG_VALUE_FOR_FIELD
  1644: 'lock', // ER_SIGNAL_EXCEPTION: by a trigger
  3819: 'lock', // ER_CHECK_CONSTRAINT_VIOLATED
  4025: 'lock', // ER_CONSTRAINT_FAILED: MariaDB, a CHECK
  // Errors of a server that goes away, perhaps after it has carried out the statement.
  1053: 'unknown', // ER_SERVER_SHUTDOWN
  1180: 'unknown', // ER_ERROR_DURING_COMMIT
  1969: 'unknown', // ER_STATEMENT_TIMEOUT: MariaDB, when nobody waits any more
  1927: 'unknown', // ER_CONNECTION_KILLED: MariaDB
  3169: 'unknown', // ER_SESSION_WAS_KILLED
  45028: 'refused', // ER_GET_CONNECTION_TIMEOUT of the driver `mariadb`, before anything was sent
};

/** From here on, numbers are connection errors of the driver `mariadb`, which Prisma uses. */
const OF_MARIADB_DRIVER = 45_000;

/**
 * https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html; numbers below 2000 and from 3000 on come from a
 * server.
 */
function failureOfNumber(number: number): SqlFailure {
  const ofClient = (number >= 2000 && number < 3000) || number >= OF_MARIADB_DRIVER;
  return FAILURES[number] ?? (ofClient ? 'unknown' : 'refused');
}

/** Classifies an error of the driver. */
export function failureOf(error: unknown): SqlFailure {
  for (const each of errorsIn(error)) {
    // Negative numbers are Node's, for network errors.
    const number = Number(each['errno'] ?? NaN);
    if (number > 0) return failureOfNumber(number);
    if (wantsTls(each) || isUntrusted(each)) return 'denied';
    if (isNotConnected(each)) return 'refused';
  }
  return 'unknown';
}
