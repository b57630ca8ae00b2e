import type { Sabotages } from './sabotage.js';

const STATEMENTS = 'stores/mysql/statements.js';

export const MYSQL_SABOTAGES: Sabotages = {
  'no-tick-check': {
    file: 'rules/lock/starts.js',
    search: 'last !== undefined && last.tick >= tick',
    replace: 'false',
    caughtBy: 'duplicates',
    only: ['cut'],
    seed: 3,
  },
  'release-without-compare': {
    file: 'rules/lock/leases.js',
    search: 'document === undefined || !isOf(document, lease)',
    replace: 'document === undefined',
    caughtBy: 'overlaps',
    only: ['pause'],
    seed: 1073,
  },
  'renewal-without-compare': {
    file: STATEMENTS,
    search: " AND (name, ${bytesOf(raw('locked_by'))}) IN (${joined(wanted)})",
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
    file: 'rules/lock/document.js',
    search: '(lease?.fencingToken ?? 0) + 1, Math.trunc(now * 1_000)',
    replace: 'lease?.fencingToken ?? Math.trunc(now * 1_000)',
    caughtBy: 'fencing',
    only: ['cut'],
    seed: 3,
  },
  'release-that-frees-nothing': {
    file: 'rules/lock/leases.js',
    search: 'end: keepFor > 0 ? keepFor : FREE',
    replace: 'end: Math.max(keepFor, Math.ceil(document.until - now))',
    caughtBy: 'unrun',
    only: ['cut'],
    seed: 3,
  },
  'renewal-that-outlives-its-ttl': {
    file: STATEMENTS,
    search: '({ ttl }) => microsecondsOf(ttl)',
    replace: '({ ttl }) => microsecondsOf(ttl * 10)',
    caughtBy: 'take-over',
    only: ['kill'],
    seed: 328,
  },
  'turns-for-whoever-asks': {
    file: 'rules/lock/in-line.js',
    search: 'left !== undefined || (waits && entered === undefined)',
    replace: '(left !== undefined || (waits && entered === undefined)) && !waits',
    caughtBy: 'waiting',
    only: ['throwing-logger'],
    callers: 3,
    seed: 3,
  },
};
