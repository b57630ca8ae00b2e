import { DEAD_KEPT, QUEUED_CALLS_KEPT } from '../queued-call-store.js';
import { STEP_OF_PRIORITY } from '../rules.js';
import { TRY } from './probe.js';
import { OF_QUEUED_CALLS } from './keys.js';
import { leaseScript, script } from './script.js';

/*
 * Three keys exist only while a lock has queued calls, beside those of script.ts: a sorted set of the ids by place, a sorted set of the dead
 * letters by the time when they became dead letters, and a hash of both:
 *
 *   info:<id>           '<delivery> <when it came, ms> <merged> <redeliver> <token, reason or '-'> <place> <job>' and, after a line feed,
 *                       '=' and its key if it has one. The token is that of the lease that has taken it, the reason that of a dead letter
 *   args:<id>           its arguments, JSON
 *   key:<job>\n=<key>   the id of the queued call with this key that no lease has taken yet
 */

/**
 * Lua: reads what is known of a queued call.
 *
 * needs: calls, id
 * leaves: delivery, came, merged, redeliver, taken, place, rest
 */
const INFO = /* lua */ `
local delivery, came, merged, redeliver, taken, place, rest = string.match(
  redis.call('HGET', calls, 'info:' .. id) or '', '^(%d+) (%d+) (%d+) (%d+) (%S+) (%S+) (.*)$')`;

/**
 * Lua: writes what is known of a queued call.
 *
 * needs: calls, id, delivery, came, merged, redeliver, taken, place, rest
 * leaves: -
 */
const NOTE = /* lua */ `
redis.call('HSET', calls, 'info:' .. id, table.concat({ delivery, came, merged, redeliver, taken, place, rest }, ' '))`;

/**
 * Lua: makes a dead letter of a queued call; \`taken\` is the reason.
 *
 * needs: queue, calls, dead, id, delivery, came, merged, redeliver, taken, place, rest
 * leaves: -
 */
const BURY = /* lua */ `
redis.call('ZREM', queue, id)${NOTE}
local at = redis.call('TIME')
redis.call('ZADD', dead, string.format('%.0f', at[1] * 1000 + (at[2] - at[2] % 1000) / 1000), id)
local old = redis.call('ZRANGE', dead, 0, -${DEAD_KEPT + 1})
for n = 1, #old do
  redis.call('ZREM', dead, old[n])
  redis.call('HDEL', calls, 'info:' .. old[n], 'args:' .. old[n])
end
redis.call('PEXPIRE', dead, ${QUEUED_CALLS_KEPT})
redis.call('PEXPIRE', calls, ${QUEUED_CALLS_KEPT})`;

/**
 * Lua: ends the queued call \`id\`, if the lease \`token\` has taken it. A server that is out of memory refuses HSET and ZADD, but not after a
 * ZREM or HDEL of the same script: so one of these comes first.
 *
 * needs: queue, calls, dead, id, token, outcome
 * leaves: -
 */
const END = /* lua */ `${INFO}
if taken == token and outcome == 'completed' then
  redis.call('ZREM', queue, id)
  redis.call('HDEL', calls, 'info:' .. id, 'args:' .. id)
elseif taken == token and (outcome == 'failed' or outcome == 'timed-out') then
  taken = outcome${BURY}
elseif taken == token then
  redis.call('ZREM', queue, '-')
  taken = '-'${NOTE}
end`;

/**
 * Tries the commands of the other scripts on unused keys, and leaves nothing there.
 *
 * KEYS: queue, calls
 * ARGV: -
 *
 * Returns the commands that the user may not run. Ignores any other failure.
 */
export const PROBE_QUEUED_CALLS = script(/* lua */ `${TRY}
try('ZSCORE', KEYS[1], 'probe')
try('ZRANGE', KEYS[1], 0, 0)
try('ZADD', KEYS[1], 1, 'probe')
try('ZREM', KEYS[1], 'probe')
try('HDEL', KEYS[2], 'probe')
redis.pcall('DEL', KEYS[1])
return denied`);

/**
 * Keeps a queued call.
 *
 * KEYS: queue, calls
 * ARGV: id, job, key, args, priority, max, redeliver
 *
 * The key is '' if it has none, otherwise it begins with '='.
 * What is kept of one that becomes one with another one: see mergedArguments().
 *
 * Returns its place, how many calls it stands for besides the first, and the id under which it is kept, with a 1 behind it if there was no
 * other; or 0 if there is no room.
 */
export const ENQUEUE = script(/* lua */ `
local queue, calls = KEYS[1], KEYS[2]
local slot = 'key:' .. ARGV[2] .. '\\n' .. ARGV[3]
local id = ARGV[1]
if not redis.call('ZSCORE', queue, id) and ARGV[3] ~= '' then id = redis.call('HGET', calls, slot) or id end
local score = redis.call('ZSCORE', queue, id)
if score then
  if id ~= ARGV[1] then${INFO}
    merged = merged + 1${NOTE}
    local person = string.match(redis.call('HGET', calls, 'args:' .. id) or '', '^{"by":.-,"args":')
    local args = person and person .. (string.match(ARGV[4], '^{"by":.-,"args":(.*)}$') or ARGV[4]) .. '}' or ARGV[4]
    redis.call('HSET', calls, 'args:' .. id, args)
  end
  return { score, string.match(redis.call('HGET', calls, 'info:' .. id), '^%d+ %d+ (%d+)'), id }
end
if #redis.call('ZRANGE', queue, ARGV[6] - 1, ARGV[6] - 1) > 0 then return 0 end
local t = redis.call('TIME')
local micros = t[1] * 1000000 + t[2]
local place = string.format('%.0f', micros - ARGV[5] * ${STEP_OF_PRIORITY})
local rest, came = ARGV[2] .. '\\n' .. ARGV[3], string.format('%.0f', (micros - micros % 1000) / 1000)
id = ARGV[1]
local only = #redis.call('ZRANGE', queue, 0, 0) == 0 and 1 or 0
redis.call('ZADD', queue, place, id)
redis.call('HSET', calls, 'args:' .. id, ARGV[4],
  'info:' .. id, table.concat({ 0, came, 0, ARGV[7], '-', place, rest }, ' '))
if ARGV[3] ~= '' then redis.call('HSET', calls, slot, id) end
redis.call('PEXPIRE', queue, ${QUEUED_CALLS_KEPT})
redis.call('PEXPIRE', calls, ${QUEUED_CALLS_KEPT})
return { place, 0, id, only }`);

/**
 * Ends the queued call of a lease, and takes the next one for it, under a new fencing token. A client may send the script twice. The second
 * time the lock has that fencing token, and nothing changes.
 *
 * KEYS: lock, state, line, queue, calls, dead
 * ARGV: token, fence, holder, id, outcome, takes...
 *
 * The fence is the lease's fencing token. The id is that of its queued call, '' if it has none. What it takes is a job and how long the
 * lease lives for it, ms, in turn.
 *
 * Returns { 0, buried } if the lease is over; { 1, buried, place of the first queued call or '' } if there is nothing to take, a place if
 * a call in line stands before that; { 2, buried, fencing token, id, delivery, when it came, merged, job and key, args }. Buried are the
 * queued calls that were over their limit, four fields each: id, delivery, job and key, reason.
 */
export const NEXT = script(/* lua */ `
local lock, state, line, queue, calls, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local token, id, outcome = ARGV[1], ARGV[4], ARGV[5]
local current, lease, buried = redis.call('GET', lock), token .. ' ' .. ARGV[2], {}
local held, newer = string.match(current or '', '^(.*) (%d+)$')
if held == token and tonumber(newer) > tonumber(ARGV[2]) then
  local found = redis.call('ZRANGE', queue, 0, -1)
  for n = 1, #found do
    id = found[n]${INFO}
    if taken == token then
      return { 2, buried, newer, id, delivery, came, merged, rest, redis.call('HGET', calls, 'args:' .. id) }
    end
  end
  return { 0, buried }
end
if id ~= '' then${END}
end
if current ~= lease then return { 0, buried } end
local first = redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')[2]
for round = 0, 99 do
  local found = redis.call('ZRANGE', queue, round * 100, round * 100 + 99)
  if #found == 0 then return { 1, buried, '' } end
  for n = 1, #found do
    id = found[n]${INFO}
    local job, ttl = string.match(rest or '', '^([^\\n]*)\\n'), nil
    for a = 6, #ARGV, 2 do
      if ARGV[a] == job then ttl = ARGV[a + 1] end
    end
    if not rest then redis.call('ZREM', queue, id) end
    if ttl and taken ~= token and tonumber(delivery) > tonumber(redeliver) then
      taken = 'interrupted'${BURY}
      buried[#buried + 1] = { id, delivery, rest, taken }
    elseif ttl and first and tonumber(first) < tonumber(place) then
      return { 1, buried, place }
    elseif ttl then
      if taken ~= token then
        taken = token
        delivery = delivery + 1${NOTE}
        if redis.call('HGET', calls, 'key:' .. rest) == id then redis.call('HDEL', calls, 'key:' .. rest) end
      end
      local last = tonumber(redis.call('HGET', state, 'fence') or 0)
      local t = redis.call('TIME')
      local fence = math.max(last + 1, t[1] * 1000000 + t[2])
      fence = string.format('%.0f', fence)
      redis.call('SET', lock, token .. ' ' .. fence, 'PX', ttl)
      redis.call('HSET', state, 'token', token, 'fence', fence, 'holder', ARGV[3], 'of', fence .. ' ' .. job)
      return { 2, buried, fence, id, delivery, came, merged, rest, redis.call('HGET', calls, 'args:' .. id) }
    end
  end
end
return { 1, buried, '' }`);

/**
 * Ends the queued call of a lease that is released.
 *
 * KEYS: queue, calls, dead
 * ARGV: id, token, outcome
 *
 * Returns 0.
 */
export const END_QUEUED_CALL = script(/* lua */ `
local queue, calls, dead = KEYS[1], KEYS[2], KEYS[3]
local id, token, outcome = ARGV[1], ARGV[2], ARGV[3]${END}
return 0`);

/** How many queued calls of a lock one look goes through, which blocks Redis for a millisecond or two. The next look goes on behind them. */
export const PEEKED_AT_ONCE = 1_000;

/**
 * Whether a lock has queued calls of some jobs, and is free, or no call in line has the priority of the first of them.
 *
 * KEYS: lock, line, queue, calls
 * ARGV: from, jobs...
 *
 * The look begins at the place `from` of the queue.
 *
 * Returns the place of the first one, 0 if no further worker is needed, -1 if there may be one behind those that it has gone through, or ''
 * if there are no queued calls at all.
 */
export const PEEK = script(/* lua */ `
local lock, line, queue, calls = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local from = tonumber(ARGV[1])
local found = redis.call('ZRANGE', queue, from, from + ${PEEKED_AT_ONCE - 1})
if #found == 0 then return from == 0 and '' or 0 end
local first = redis.call('GET', lock) and redis.call('ZRANGE', line, 0, 0, 'WITHSCORES')[2]
for n = 1, #found do
  local id = found[n]${INFO}
  for a = 2, #ARGV do
    if string.match(rest or '', '^([^\\n]*)\\n') == ARGV[a] then
      if first and tonumber(first) - tonumber(place) < ${STEP_OF_PRIORITY / 2} then return 0 end
      return place
    end
  end
end
return #found == ${PEEKED_AT_ONCE} and -1 or 0`);

/**
 * The queued calls and dead letters of a lock, for people.
 *
 * KEYS: queue, calls, dead
 * ARGV: -
 *
 * Returns how many there are, and its dead letters, newest first, three fields each: id, what is known of it, when it became one.
 */
export const SEE_QUEUED_CALLS = leaseScript(
  /* lua */ `
local queue, calls, dead = KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
local letters, found = {}, redis.call('ZRANGE', dead, 0, -1, 'WITHSCORES')
for n = #found, 1, -2 do
  letters[#letters + 1] = { found[n - 1], redis.call('HGET', calls, 'info:' .. found[n - 1]) or '', found[n] }
end
return { #redis.call('ZRANGE', queue, 0, -1), letters }`,
  OF_QUEUED_CALLS,
);

/**
 * Puts the dead letters of a lock back.
 *
 * KEYS: queue, calls, dead
 * ARGV: id
 *
 * The id is that of one dead letter, or '' for all.
 *
 * Returns how many it put back.
 */
export const REDELIVER = script(/* lua */ `
local queue, calls, dead = KEYS[1], KEYS[2], KEYS[3]
local found = ARGV[1] == '' and redis.call('ZRANGE', dead, 0, -1) or redis.call('ZSCORE', dead, ARGV[1]) and { ARGV[1] } or {}
for n = 1, #found do
  local id = found[n]${INFO}
  if rest then
    delivery, taken = 0, '-'${NOTE}
    redis.call('ZADD', queue, place, id)
  end
  redis.call('ZREM', dead, id)
end
if #found > 0 then
  redis.call('PEXPIRE', queue, ${QUEUED_CALLS_KEPT})
  redis.call('PEXPIRE', calls, ${QUEUED_CALLS_KEPT})
end
return #found`);
