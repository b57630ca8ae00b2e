import type { Sabotages } from './sabotage.js';

/** What the library rests on whatever the store. */
export const CORE_SABOTAGES: Sabotages = {
  'deadline-from-nowhere': {
    file: 'lease/lease.js',
    search: /return sent \+ ttl - \(/,
    replace: 'return sent + 3 * ttl - (',
    caughtBy: 'overlaps',
    only: ['refuse', 'black-hole', 'pause'],
    seed: 3,
  },
  'no-heartbeat': {
    file: 'lease/lease.js',
    search: /sent \+ (this\.)?timing\.heartbeat/g,
    replace: 'Infinity',
    caughtBy: 'losses',
    only: ['forget-scripts'],
    seed: 3,
  },
};
