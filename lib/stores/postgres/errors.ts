import { failureIn, type SqlFailure } from '../sql/failure.js';

const FAILURES: Readonly<Record<string, SqlFailure>> = {
  '40001': 'conflict', // serialization_failure
  '40P01': 'conflict', // deadlock_detected
  '23505': 'conflict', // unique_violation: by another instance's migration
  '42P07': 'conflict', // duplicate_table
  '42701': 'conflict', // duplicate_column
  '42710': 'conflict', // duplicate_object: the type that a table has
  '55P03': 'locked', // lock_not_available: after lock_timeout
  '40003': 'unknown', // statement_completion_unknown
  '42P01': 'table', // undefined_table
  '42703': 'table', // undefined_column
  '42P10': 'table', // invalid_column_reference: `name` is not unique
  '42501': 'forbidden', // insufficient_privilege
  '3D000': 'denied', // the database does not exist
  '3F000': 'forbidden', // the schema does not exist
  '57014': 'refused', // query_canceled: by statement_timeout
  '57P03': 'refused', // cannot_connect_now
  '08001': 'refused',
  '08004': 'refused',
};
/** What all other codes of a class mean, by their first two characters. */
const CLASSES: Readonly<Record<string, SqlFailure>> = {
  '28': 'denied',
  '22': 'lock',
  '23': 'lock', // by a CHECK
  P0: 'lock', // by a trigger
  // The server went away: it may have carried out the statement a moment before.
  '08': 'unknown',
  '57': 'unknown',
  '58': 'unknown',
  XX: 'unknown',
};

/** Classifies an error of the driver: https://www.postgresql.org/docs/current/errcodes-appendix.html */
export const failureOf = (error: unknown): SqlFailure =>
  failureIn(error, (each) => {
    const code = String(each['code']);
    // Neither a code of Node (EPIPE) nor one of Prisma (P2010), which wraps the error of the database.
    return /^(?=.*\d)(?!P[12])[0-9A-Z]{5}$/.test(code)
      ? (FAILURES[code] ?? CLASSES[code.slice(0, 2)] ?? 'refused')
      : undefined;
  });
