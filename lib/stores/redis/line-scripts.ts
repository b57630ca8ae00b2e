import { RETENTION, STEP_OF_PRIORITY } from '../../contract/allowances.js';
import { OF_LINE } from './keys.js';
import { KEEP, leaseScript } from './script.js';
import { CALL, GRANT, KEEP_ONCE, LOST, PAUSING, START } from './acquire-script.js';

// The layout of the keys, and the rules of all these scripts: see script.ts.

/** How long the keys of a line are kept after the last call has entered it, ms: longer than any call waits. */
const KEPT = 7_200_000;
/** How much later than the last wait a line ends, ms: each ask of a call tells the end of its wait a little differently. */
const SLACK = 1_000;

/**
 * Lua: firstIn(line, who, now): token and channel of the first in line, nil if nobody is. Removes calls whose time is over, and those of
 * processes that did not come when they were called, a thousand at most: the one behind them counts as the first, as it is.
 */
const FIRST = /* lua */ `
local function firstIn(line, who, now)
  for round = 0, 10 do
    local found = redis.call('ZRANGE', line, 0, round > 0 and 99 or 0)
    if #found == 0 then return nil end
    for n = 1, #found do
      local ends, channel = string.match(redis.call('HGET', who, found[n]) or '', '^(%d+) (.+)$')
      if ends and tonumber(ends) > now and not redis.call('HGET', who, 'p:' .. channel) then return found[n] .. ' ' .. channel end
      redis.call('ZREM', line, found[n])
      redis.call('HDEL', who, found[n])
    end
  end
  local head = redis.call('ZRANGE', line, 0, 0)[1]
  return head and head .. ' ' .. (string.match(redis.call('HGET', who, head) or '', '^%d+ (.+)$') or '-')
end`;

/**
 * Takes the lock for a call that waits if its turn has come. If not, it stands in line from then on.
 *
 * KEYS: lock, state, line, who
 * ARGV: token, ttl, holder, job, spec, channel, limit, priority, place, forgotten, history?, through?
 *
 * The first five and the last two are those of ACQUIRE. The channel is that of its process. The limit is how long the call waits, in
 * ms. The place is the one that the call had, or ''. If everything about the lock is forgotten, nobody gets it for `forgotten` ms ('' or a
 * number).
 *
 * Returns what ACQUIRE does. A refusal has, after x and y: the call's place in line, and how many calls are before it. A refusal
 * for another reason than a taken lock has neither: then the call stands in line only if it did before.
 */
export const WAIT = leaseScript(
  /* lua */ `
local line, who = KEYS[k + 3], KEYS[k + 4]
local token, ttl, holder, job, spec = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
local channel, limit, priority, place, forgotten = ARGV[i + 5], ARGV[i + 6], ARGV[i + 7], ARGV[i + 8], ARGV[i + 9]
local history = width > 10 and ARGV[i + 10] ~= ''
local through, record = width > 11 and ARGV[i + 11] ~= '', 'job:' .. job
local current = redis.call('GET', lock)
local held = current and (string.match(current, '^(.*) %d+$') or current)
local own = held == token
local s = redis.call('HMGET', state, 'fence', 'kept', record, 'token', 'holder', 'by:' .. job, 'line', 'turn', 'since', 'ends', 'paused')
local last, kept, before, newest, turn = s[1], s[2], s[3], s[4], s[8]
local t = redis.call('TIME')
local micros = t[1] * 1000000 + t[2]
local now, fence = (micros - micros % 1000) / 1000, micros
if own and redis.call('PTTL', lock) < tonumber(ttl) then redis.call('PEXPIRE', lock, ttl) end
if own and newest == token then
  local attempt = s[6] == token and string.match(before or '', '^%d+ (%d+) ') or '1'
  return { '', last, tonumber(attempt), '' }
end
local paused = not through and not own and pausing(s[11], before)
if paused then return paused end
local reserved = current and string.sub(current, 1, 5) == 'next:'
local open = not current or current == 'next:-'
turn = string.match(turn or '', '^%-?(.+)$')
if open and turn then
  -- It did not come in time, so it is out of line, and so is its process until that process asks.
  local process = string.match(redis.call('HGET', who, turn) or '', '^%d+ (.+)$')
  if process then redis.call('HSET', who, 'p:' .. process, 1) end
  redis.call('ZREM', line, turn)
  redis.call('HDEL', who, turn)
end
redis.call('HDEL', who, 'p:' .. channel)
last = last and tonumber(last)
if last and last >= micros then fence = last + 1 end
if fence > 9007199254740991 then error('fencing token of ' .. state .. ' is out of range', 0) end
local ticks, attempt, started, other = spec ~= '', 1, nil, nil
if ticks then
  local refusal
  before = before or ''
  refusal, started, attempt, other = start(spec, before, now)
  if refusal then return refusal end
end
if place == '' then place = string.format('%.0f', micros - priority * ${STEP_OF_PRIORITY}) end
if not redis.call('ZSCORE', line, token) then redis.call('ZADD', line, place, token) end
redis.call('HSET', who, token, string.format('%.0f', now + limit) .. ' ' .. channel)
local head = firstIn(line, who, now)
local comes = open and not (not current and not last and forgotten ~= '') and string.match(head or token, '^%S+') == token
if comes or own or current == 'next:' .. token then
  redis.call('ZREM', line, token)
  redis.call('HDEL', who, token)
  head = firstIn(line, who, now)
  local ended = history and last and s[9] ~= '' and not own and lost(state, job, last) or nil
  if own then fence = tonumber(string.match(current, ' (%d+)$')) or fence end
  local digits = string.format('%.0f', fence)
  if not own then redis.call('SET', lock, token .. ' ' .. digits, 'PX', ttl) end
  grant(state, token, digits, holder, t[1], job, started, before, history)
  keepOnce(state, kept, now, ttl, ticks, last, micros)
  redis.call('HDEL', state, 'line', 'turn')
  if head then
    redis.call('HDEL', state, 'since')
    redis.call('HSET', state, 'began', t[1], 'line', head)
  else redis.call('HDEL', state, 'ends') end
  if other or attempt > 1 or ended then return { '', fence, attempt, other or '', ended } end
  return fence
end
redis.call('PEXPIRE', line, ${KEPT})
redis.call('PEXPIRE', who, ${KEPT})
if head and head ~= s[7] then redis.call('HSET', state, 'line', head) end
if now + limit > (tonumber(s[10] or '') or 0) then
  redis.call('HSET', state, 'ends', string.format('%.0f', now + limit + ${SLACK}))
end
if not kept then redis.call('PEXPIRE', state, ${RETENTION}) end
if s[9] and s[9] ~= '' and not open and not reserved then
  redis.call('HSET', state, 'began', s[9])
  redis.call('HDEL', state, 'since')
end
if head and open and (current or last or forgotten == '') then call(lock, state, head) end
local cooling = current and string.sub(current, 1, 6) == 'ended:'
local ours = newest and (held == newest or held == 'ended:' .. newest)
local left = redis.call('PTTL', lock)
if left == -2 then left = tonumber(forgotten) or 0 end
local tick, outcome = string.match(before or '', '^(%d+) %d+ (%S+) ')
return { cooling and 'cooling-down' or 'held', ours and s[5] or '', left, tick or '', outcome or '',
  redis.call('ZSCORE', line, token), redis.call('ZRANK', line, token) }`,
  [START, PAUSING, LOST, GRANT, KEEP, KEEP_ONCE, CALL, FIRST],
  OF_LINE,
);

/**
 * Takes a call out of line. If the lock is reserved for it, calls the next one.
 *
 * KEYS: lock, state, line, who
 * ARGV: token
 *
 * Returns 0. A lease that the call may have is left to RELEASE.
 */
export const LEAVE = leaseScript(
  /* lua */ `
local token, line, who = ARGV[i], KEYS[k + 3], KEYS[k + 4]
local current = redis.call('GET', lock)
local known = redis.call('HGET', state, 'line')
local now = redis.call('TIME')[1] * 1000
redis.call('ZREM', line, token)
redis.call('HDEL', who, token)
local head = firstIn(line, who, now)
if head and head ~= known then redis.call('HSET', state, 'line', head) end
if known and not head then redis.call('HDEL', state, 'line', 'turn', 'ends') end
if current == 'next:' .. token then
  redis.call('DEL', lock)
  if head then call(lock, state, head) end
end
return 0`,
  [CALL, FIRST],
  OF_LINE,
);
