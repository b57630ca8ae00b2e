import type { Sabotages } from './sabotage.js';

const STATEMENTS = 'stores/mysql/statements.js';

export const MYSQL_SABOTAGES: Sabotages = {
  'no-tick-check': {
    file: 'stores/mysql/starts.js',
    search: 'COALESCE(${number(last)} < ${tick}, 1)',
    replace: '1',
    caughtBy: 'duplicates',
    only: ['cut'],
    seed: 3,
  },
  'release-without-compare': {
    file: STATEMENTS,
    search: 'const [by, isIts] = [lockedBy(lease), isOf(lease, fenced)];',
    replace: "const [by, isIts] = [lockedBy(lease), sql`'' <> ${lockedBy(lease)}`];",
    caughtBy: 'overlaps',
    only: ['pause'],
    seed: 1073,
  },
  'renewal-without-compare': {
    file: STATEMENTS,
    search: ' AND ${isOneOf(leases, fenced)}',
    replace: '',
    caughtBy: 'overlaps',
    // A holder that renews in time is only overtaken if a row was lost.
    only: ['store-flush'],
    seed: 3,
  },
  'expiry-by-the-clock-of-the-instance': {
    file: 'stores/mysql/columns.js',
    search: "asStored(table, 'UTC_TIMESTAMP(6)')",
    replace: "asStored(table, `TIMESTAMP'${new Date().toISOString().slice(0, -1)}'`)",
    caughtBy: 'overlaps',
    // With this seed an instance is two seconds ahead, more than the ttl of the leases that it finds.
    only: ['cut'],
    seed: 43,
  },
  'fencing-token-stands-still': {
    file: STATEMENTS,
    search: 'GREATEST(COALESCE(fencing_token, 0) + 1, ${EPOCH_MICROSECONDS})',
    replace: 'COALESCE(fencing_token, ${EPOCH_MICROSECONDS})',
    caughtBy: 'fencing',
    only: ['cut'],
    seed: 3,
  },
  'release-that-frees-nothing': {
    file: STATEMENTS,
    search: 'WHEN 2 THEN ${keepFor > 0 ? after(table, keepFor) : freeOf(table)}',
    replace: 'WHEN 2 THEN GREATEST(lock_until, ${after(table, keepFor)})',
    caughtBy: 'unrun',
    only: ['cut'],
    seed: 3,
  },
  'renewal-that-outlives-its-ttl': {
    file: STATEMENTS,
    search: 'SET lock_until = ${endOf(table, ttlOf(leases, fenced))}',
    replace: 'SET lock_until = ${endOf(table, sql`(${ttlOf(leases, fenced)} * 10)`)}',
    caughtBy: 'take-over',
    only: ['kill'],
    seed: 328,
  },
  'turns-for-whoever-asks': {
    file: 'stores/sql/lines.js',
    search: 'asks: token })?.token !== token)',
    replace: "asks: token })?.token === '')",
    caughtBy: 'waiting',
    only: ['throwing-logger'],
    callers: 3,
    seed: 3,
  },
};
