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
