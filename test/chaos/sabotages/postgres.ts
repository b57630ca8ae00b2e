import type { Sabotages } from './sabotage.js';

const STATEMENTS = 'stores/postgres/statements.js';

export const POSTGRES_SABOTAGES: Sabotages = {
  'no-tick-check': {
    file: 'stores/postgres/starts.js',
    search: /coalesce\(\$\{fieldOf\(alias, 'tick'\)\}::bigint < \$\{tick\}, true\)/,
    replace: 'true',
    caughtBy: 'duplicates',
    only: ['cut'],
    seed: 3,
  },
  'release-without-compare': {
    file: STATEMENTS,
    // In the statement that notes the end of a run, which is the one of jobs.
    search: /AND locked_by = \$2::text (?=RETURNING)/,
    replace: 'AND $$2::text IS NOT NULL ',
    caughtBy: 'overlaps',
    only: ['pause'],
    seed: 1073,
  },
  'renewal-without-compare': {
    file: STATEMENTS,
    search: 'AND l.locked_by = w.by ',
    replace: '',
    caughtBy: 'overlaps',
    // Who renews in time is only overtaken where a row was lost.
    only: ['store-flush'],
    seed: 3,
  },
  'expiry-by-the-clock-of-the-instance': {
    file: 'stores/postgres/postgres-dialect.js',
    // Wherever it sends one.
    search: /query\(statement, values\)/g,
    replace:
      'query(statement.replaceAll(/clock_timestamp\\(\\)/g, `to_timestamp(${Date.now() / 1000})`), values)',
    caughtBy: 'overlaps',
    // One that is two seconds ahead, more than a ttl of all that it finds.
    only: ['cut'],
    seed: 43,
  },
  'fencing-token-stands-still': {
    file: STATEMENTS,
    search: /greatest\(l\.fencing_token \+ 1, excluded\.fencing_token\)/g,
    replace: 'l.fencing_token',
    caughtBy: 'fencing',
    only: ['cut'],
    seed: 3,
  },
  'release-that-frees-nothing': {
    file: STATEMENTS,
    search: "SET lock_until = CASE WHEN lock_until > ${now} THEN ${after('$3')} ELSE lock_until END",
    replace: "SET lock_until = greatest(lock_until, ${after('$3')})",
    caughtBy: 'unrun',
    only: ['cut'],
    seed: 3,
  },
  'renewal-that-outlives-its-ttl': {
    file: STATEMENTS,
    search: "SET lock_until = ${end('w.ttl')}",
    replace: "SET lock_until = ${end('w.ttl * 10')}",
    caughtBy: 'take-over',
    only: ['kill'],
    seed: 328,
  },
};
