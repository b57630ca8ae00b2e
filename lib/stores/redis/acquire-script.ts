import { CALLED, INTERRUPTED, INTERVAL_ALLOWANCE } from '../../contract/allowances.js';
import { HOUR_MS, KEEP, leaseScript, RETENTION_SLACK_MS } from './script.js';

// The layout of the keys, and the rules of all these scripts: see script.ts.

/**
 * Lua: start(spec, before, now): whether the job may start now, judged by its last start. Returns a refusal, or nil, the record of this
 * start, the attempt, and the schedule of the last start if it was another one. The rules are those of all stores; an interval counts on
 * this server's clock.
 */
export const START = /* lua */ `
local function ms(n) return string.format('%.0f', n) end
local function start(spec, before, now)
  local tick, skew, interval, rerun, only, schedule = string.match(spec, '^(%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')
  if tick ~= '-' then
    local last, tries, outcome, earlier = string.match(before, '^(%d+) (%d+) (%S+) (.*)$')
    if skew ~= '-' and tonumber(tick) > now + skew then return { 'clock-skew', '', -2, ms(now), '' } end
    local retry = last == tick and string.match(outcome, '^failed@(%d+)$')
    local again = last == tick and (outcome == '-' or outcome == '${INTERRUPTED}') and tonumber(tries) <= (tonumber(rerun) or 0)
      or retry and tonumber(retry) <= now
    if last and tonumber(last) >= tonumber(tick) and not again then
      return { 'already-ran', '', retry and retry - now or -2, last, outcome }
    end
    if not again and (only == 'interrupted' or (only == 'known' and not last)) then return { 'already-ran', '', -2, '', '' } end
    local attempt = again and tries + 1 or 1
    return nil, tick .. ' ' .. attempt .. ' - ' .. schedule, attempt, earlier and earlier ~= '' and earlier ~= schedule and earlier
  end
  local due, length = string.match(before, '^next (%d+) (%d+)$')
  due = due and due - length + interval or 0
  if due - now > interval * ${1 + INTERVAL_ALLOWANCE} then due = 0 end
  local wait = due - interval * ${INTERVAL_ALLOWANCE} - now
  if wait > 0 then return { 'already-ran', '', math.ceil(wait), '', '' } end
  return nil, 'next ' .. ms(math.max(due, now) + interval) .. ' ' .. interval, 1
end`;

/** Lua: pausing(field, before): the refusal of a lock that is paused, if it is: with the pause in the place of the holder. */
export const PAUSING = /* lua */ `
local function pausing(field, before)
  if not field then return nil end
  local t = redis.call('TIME')
  local left = tonumber(string.match(field, '^%d+')) - t[1] * 1000 - math.floor(t[2] / 1000)
  if left <= 0 then return nil end
  local tick, outcome = string.match(before or '', '^(%d+) %d+ (%S+) ')
  return { 'paused', field, left, tick or '', outcome or '' }
end`;

/**
 * Lua: lost(state, job, last): what is known of the lease before, with the fencing token `last`, which has ended by itself. If its job was
 * not noted, it may be the job that starts now.
 */
export const LOST = /* lua */ `
local function lost(state, job, last)
  local s = redis.call('HMGET', state, 'token', 'holder', 'of')
  local fence = string.format('%.0f', last)
  local noted, of = string.match(s[3] or '', '^(%d+) (.+)$')
  if noted ~= fence then of = job end
  local r = redis.call('HMGET', state, 'by:' .. of, 'job:' .. of)
  local started = r[1] == s[1]
  local tick, tries = string.match(started and r[2] or '', '^(%d+) (%d+) ')
  return { fence, s[2] or '', (started or noted == fence) and of or '', tick or '', tries or '' }
end`;

/**
 * Lua: grant(state, token, digits, holder, seconds, job, started, before, history): records a new lease, and its start, if there is one, over
 * the one before.
 */
export const GRANT = /* lua */ `
local function grant(state, token, digits, holder, seconds, job, started, before, history)
  local of = history and digits .. ' ' .. job
  if started and of then
    redis.call('HSET', state, 'token', token, 'fence', digits, 'holder', holder, 'since', seconds, 'of', of,
      'job:' .. job, started, 'by:' .. job, token, 'before:' .. job, before)
  elseif started then
    redis.call('HSET', state, 'token', token, 'fence', digits, 'holder', holder, 'since', seconds,
      'job:' .. job, started, 'by:' .. job, token, 'before:' .. job, before)
  elseif of then
    redis.call('HSET', state, 'token', token, 'fence', digits, 'holder', holder, 'since', seconds, 'of', of)
  else
    redis.call('HSET', state, 'token', token, 'fence', digits, 'holder', holder, 'since', seconds)
  end
end`;

/**
 * Lua: keepOnce(state, kept, now, ttl, ticks, last, micros): has a lease prolong the state if it is the first of its hour, long, or has a
 * start.
 */
export const KEEP_ONCE = /* lua */ `
local function keepOnce(state, kept, now, ttl, ticks, last, micros)
  local hour = ${HOUR_MS * 1_000}
  if ticks or not last or last - last % hour ~= micros - micros % hour or ttl * 1000 > hour then
    keep(state, kept or redis.call('HGET', state, 'kept'), now, ttl, ticks, ticks and 0 or ${RETENTION_SLACK_MS})
  end
end`;

/**
 * Lua: call(lock, state, head): calls the first in line: reserves the lock for it, and sends a hint to its process. No failure matters, as
 * the lock is free already: then that call finds out later. If every wait in this line is over, forgets the line.
 */
export const CALL = /* lua */ `
local function call(lock, state, head)
  local ends = redis.call('HGET', state, 'ends')
  if ends and tonumber(ends) < redis.call('TIME')[1] * 1000 then
    redis.pcall('HDEL', state, 'line', 'turn', 'ends')
  else
    local first, channel = string.match(head, '^(%S+) (.+)$')
    redis.pcall('SET', lock, 'next:' .. first, 'PX', ${CALLED})
    redis.pcall('HSET', state, 'turn', first)
    redis.pcall('PUBLISH', channel, first)
  end
end`;

/**
 * Takes a lock that is free, if its job may start now, and if nobody stands in line.
 *
 * KEYS: lock, state
 * ARGV: token, ttl, holder, job?, spec?, brief?, history?, through?
 *
 * The ttl is in ms. The spec of a start is '<tick> <how far it may lie in the future, ms> <interval, ms> <reruns> <known or
 * interrupted> <schedule>', each '-' if not given; '' for a call without a start. If brief is not '', nobody needs the holder and the
 * times of a refusal because the lock is taken. If history is not '', the store remembers the run. If through is not '', the
 * call goes through a pause.
 *
 * Returns the fencing token (integer) for a grant, also when this token was granted before (a client that re-sends the command
 * after a broken connection must not be refused by its own lease).
 * Returns { '', fencing token, attempt, schedule of the last start or '', before? } for a grant with more facts. The last one is
 * the lease before, if it has ended by itself: { fencing token, holder or '', job or '', tick or '', attempt or '' }.
 * Returns { reason, holder or '', ms until another try may succeed or < 0, x, y } for a refusal: x is the store's time for
 * 'clock-skew', otherwise x and y are the job's last tick and its outcome ('-': none yet), or '' or left out.
 *
 * The first lease of each hour prolongs the state; the last fencing token shows whether a lease is the first. Long leases and
 * starts of jobs prolong it as well, as far as they need it.
 *
 * Fencing token = max(last + 1, TIME in microseconds): it grows even over a server that lost its data. Refused beyond 2^53 - 1,
 * where doubles (Lua's and JavaScript's) lose the last digit. Up to there, Redis writes a number argument of redis.call() with all
 * of its digits. As text, they are put together from TIME where that is possible: formatting a number takes three times as long.
 */
export const ACQUIRE = leaseScript(
  /* lua */ `
local token, ttl, holder = ARGV[i], ARGV[i + 1], ARGV[i + 2]
local job, spec = width > 3 and ARGV[i + 3] or '', width > 4 and ARGV[i + 4] or ''
local brief, history = width > 5 and ARGV[i + 5] ~= '', width > 6 and ARGV[i + 6] ~= ''
local through, record = width > 7 and ARGV[i + 7] ~= '', 'job:' .. job
local current = redis.call('GET', lock)
if current then
  if brief and string.sub(current, 1, #token) ~= token then
    return { string.sub(current, 1, 6) == 'ended:' and 'cooling-down' or 'held', '', -2 }
  end
  local held = string.match(current, '^(.*) %d+$') or current
  local s = redis.call('HMGET', state, 'token', 'holder', 'by:' .. job, 'fence', record, 'paused')
  local ended = s[1] and held == 'ended:' .. s[1]
  local ours = ended or s[1] == held
  if held ~= token then
    local refusal = not through and pausing(s[6], s[5])
    if refusal then return refusal end
    local reason, left = ended and 'cooling-down' or 'held', redis.call('PTTL', lock)
    if not s[5] then return { reason, ours and s[2] or '', left } end
    return { reason, ours and s[2] or '', left, string.match(s[5], '^(%d+) %d+ (%S+) ') }
  end
  local attempt = s[3] == token and string.match(s[5] or '', '^%d+ (%d+) ') or '1'
  if ours and attempt ~= '1' then return { '', s[4], tonumber(attempt), '' } end
  if ours then return tonumber(s[4]) end
end
local ticks, attempt, last, kept, before, started, other = spec ~= '', 1, nil, nil, nil, nil, nil
local head, since, paused = nil, '', nil
if history then
  local s = redis.call('HMGET', state, 'fence', 'kept', record, 'line', 'since', 'paused')
  last, kept, before, head, since, paused = s[1], s[2], s[3], s[4], s[5], s[6]
elseif ticks then
  local s = redis.call('HMGET', state, 'fence', 'kept', record, 'line', 'paused')
  last, kept, before, head, paused = s[1], s[2], s[3], s[4], s[5]
else
  local s = redis.call('HMGET', state, 'fence', 'line', 'paused')
  last, head, paused = s[1], s[2], s[3]
end
local refused = not through and not current and pausing(paused, before)
if refused then return refused end
local t = redis.call('TIME')
local micros = t[1] * 1000000 + t[2]
local now, fence = (micros - micros % 1000) / 1000, micros
last = last and tonumber(last)
if last and last >= micros then fence = last + 1 end
if fence > 9007199254740991 then error('fencing token of ' .. state .. ' is out of range', 0) end
if ticks then
  local refusal
  before = before or ''
  refusal, started, attempt, other = start(spec, before, now)
  if refusal then return refusal end
end
-- The lock is free, and calls stand in line: calls the first of them, and refuses this one. If the first was called and did not come, the
-- others have the same time once more, and the next of them that asks removes it. Goes on if none has come then either, or if every wait in
-- this line is over: all of them are dead.
if head and not current then
  local w = redis.call('HMGET', state, 'turn', 'ends')
  local turn, over = w[1], w[2] and tonumber(w[2]) < now
  if turn == string.match(head, '^%S+') and not over then
    redis.call('SET', lock, 'next:-', 'PX', ${CALLED})
    redis.call('HSET', state, 'turn', '-' .. turn)
    return { 'held', '', ${CALLED} }
  end
  if string.sub(turn or '', 1, 1) ~= '-' and not over then
    call(lock, state, head)
    return { 'held', '', ${CALLED} }
  end
  redis.call('HDEL', state, 'line', 'turn', 'ends')
end
local ended = since ~= '' and last and not current and lost(state, job, last) or nil
if current then fence = tonumber(string.match(current, ' (%d+)$')) or fence end
local digits = fence == micros and t[1] .. string.sub('00000' .. t[2], -6) or string.format('%.0f', fence)
if not current then redis.call('SET', lock, token .. ' ' .. digits, 'PX', ttl) end
grant(state, token, digits, holder, t[1], job, started, before, history)
keepOnce(state, kept, now, ttl, ticks, last, micros)
if other or attempt > 1 or ended then return { '', fence, attempt, other or '', ended } end
return fence`,
  [START, PAUSING, LOST, GRANT, KEEP, KEEP_ONCE, CALL],
);
