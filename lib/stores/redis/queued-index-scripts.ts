import { QUEUED_CALLS_KEPT } from '../queued-call-store.js';
import { script } from './script.js';

/**
 * Notes that a lock may have queued calls.
 *
 * KEYS: index
 * ARGV: name
 *
 * Returns 0.
 */
export const INDEX = script(/* lua */ `
redis.call('ZADD', KEYS[1], redis.call('TIME')[1], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ${QUEUED_CALLS_KEPT})
return 0`);

/** How many locks one look goes through. The next look goes on behind them. */
export const INDEXED_AT_ONCE = 1_000;

/**
 * The locks that may have queued calls, some at a time. Takes a lock out that has none, unless it was noted again in the last ten minutes:
 * a queued call may be on its way. The places behind such a lock move up then.
 *
 * KEYS: index
 * ARGV: from, without...
 *
 * The first one that it answers is the one at the place `from` of the index.
 *
 * Returns their names.
 */
export const INDEXED = script(/* lua */ `
local from, now = tonumber(ARGV[1]), redis.call('TIME')[1]
local names = redis.call('ZRANGE', KEYS[1], from, from + ${INDEXED_AT_ONCE - 1})
for n = 2, #ARGV do
  local noted = redis.call('ZSCORE', KEYS[1], ARGV[n])
  if noted and now - noted > 600 then redis.call('ZREM', KEYS[1], ARGV[n]) end
end
return names`);
