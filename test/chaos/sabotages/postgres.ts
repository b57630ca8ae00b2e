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
    // In the statement that records the end of a run, which releases of jobs use.
    search: "const isIts = `(locked_by = $2::text AND ${isNewest('l', '$6::text::bigint')})`;",
    replace: 'const isIts = `($2::text IS NOT NULL AND $6::text IS NOT NULL)`;',
    caughtBy: 'overlaps',
    only: ['pause'],
    seed: 1073,
  },
  'renewal-without-compare': {
    file: STATEMENTS,
    search: /l\.locked_by = w\.by AND | AND \$\{isNewest\('l', 'w\.fence'\)\}/g,
    replace: '',
    caughtBy: 'overlaps',
    // A holder that renews in time is only overtaken if a row was lost.
    only: ['store-flush'],
    seed: 3,
  },
  'expiry-by-the-clock-of-the-instance': {
    file: 'stores/postgres/client.js',
    search: 'send(text, values) {',
    replace:
      'send(text, values) { text = text.replaceAll(/clock_timestamp\\(\\)/g, `to_timestamp(${Date.now() / 1000})`);',
    caughtBy: 'overlaps',
    // With this seed an instance is two seconds ahead, more than the ttl of the leases that it finds.
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
    search: "WHEN $3::text = '0' THEN ${free} ELSE ${after('$3')} END",
    replace: "ELSE greatest(lock_until, ${after('$3')}) END",
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
  'no-hints': {
    file: 'stores/postgres/notifications.js',
    search: 'return this.called(payload);',
    replace: 'return;',
    caughtBy: 'waiting',
    only: ['throwing-logger'],
    callers: 3,
    seed: 3,
  },
};
