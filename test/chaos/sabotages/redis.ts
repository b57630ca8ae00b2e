import type { Sabotages } from './sabotage.js';

export const REDIS_SABOTAGES: Sabotages = {
  'no-tick-check': {
    file: 'stores/redis/scripts.js',
    search: 'if last and tonumber(last) >= tonumber(tick) and not again then',
    replace: 'if false then',
    caughtBy: 'duplicates',
    only: ['cut'],
    seed: 3,
  },
  'release-without-token': {
    file: 'stores/redis/scripts.js',
    // In the script of the release: it takes any present token for its own.
    search: /(local token, outcome = .*\nlocal current = redis\.call\('GET', lock\))/,
    replace: '$1 and token',
    caughtBy: 'overlaps',
    only: ['pause'],
    seed: 3,
  },
  'fencing-token-stands-still': {
    file: 'stores/redis/scripts.js',
    search: /if last and last >= micros then .*/,
    replace: 'fence = 1',
    caughtBy: 'fencing',
    only: ['cut'],
    seed: 3,
  },
  'release-that-frees-nothing': {
    file: 'stores/redis/scripts.js',
    search: /redis\.call\('DEL', lock\)/g,
    replace: "redis.call('GET', lock)",
    caughtBy: 'unrun',
    only: ['cut'],
    seed: 3,
  },
  'renewal-that-outlives-its-ttl': {
    file: 'stores/redis/scripts.js',
    search: "if current then redis.call('PEXPIRE', lock, ttl)",
    replace: "if current then redis.call('PEXPIRE', lock, ttl * 10)",
    caughtBy: 'take-over',
    only: ['kill'],
    seed: 328,
  },
  'no-restoration': {
    file: 'stores/redis/scripts.js',
    search: /(local ticks = start ~= ''\nlocal current = redis\.call\('GET', lock\))/,
    replace: '$1 if current ~= token then return 0 end',
    caughtBy: 'losses',
    only: ['store-old-snapshot'],
    seed: 7,
  },
  'interval-of-each-instance': {
    file: 'stores/redis/scripts.js',
    search: 'if wait > 0 then return',
    replace: 'if false then return',
    caughtBy: 'intervals',
    only: ['cut'],
    seed: 3,
  },
};
