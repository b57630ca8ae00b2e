import { CALLED, INTERRUPTED, INTERVAL_ALLOWANCE } from '../../contract/allowances.js';
import { HOUR_MS, KEEP, leaseScript, RETENTION_SLACK_MS } from './script.js';

// The layout of the keys, and the rules of all these scripts: see script.ts.

/**
 * Lua: answers for a lock that is taken (`current`): a refusal, or, for the token that holds it, the grant again. Goes on only if
 * the token holds the lock but the state is lost.
 *
 * needs: state, job, record, current, token, lock, brief
 * leaves: -
 */
const TAKEN = /* lua */ `
if brief and string.sub(current, 1, #token) ~= token then
  return { string.sub(current, 1, 6) == 'ended:' and 'cooling-down' or 'held', '', -2 }
end
local held = string.match(current, '^(.*) %d+$') or current
local s = redis.call('HMGET', state, 'token', 'holder', 'by:' .. job, 'fence', record)
local ended = s[1] and held == 'ended:' .. s[1]
local ours = ended or s[1] == held
if held ~= token then
  local reason, left = ended and 'cooling-down' or 'held', redis.call('PTTL', lock)
  if not s[5] then return { reason, ours and s[2] or '', left } end
  return { reason, ours and s[2] or '', left, string.match(s[5], '^(%d+) %d+ (%S+) ') }
end
local attempt = s[3] == token and string.match(s[5] or '', '^%d+ (%d+) ') or '1'
if ours and attempt ~= '1' then return { '', s[4], tonumber(attempt), '' } end
if ours then return tonumber(s[4]) end`;

/**
 * Lua: whether the job may start now, judged by its last start (`before`, which the host has read). Returns a refusal, or goes on
 * with the record of this start (`started`), the attempt, and the schedule of the last start if it was another one (`other`).
 *
 * needs: spec, before, now
 * leaves: before, attempt, started, other
 *
 * The rules: see stores/rules.ts. An interval counts on this server's clock.
 */
export const START = /* lua */ `
local ms = function(n) return string.format('%.0f', n) end
local tick, skew, interval, rerun, only, schedule = string.match(spec, '^(%S+) (%S+) (%S+) (%S+) (%S+) (.*)$')
before = before or ''
if tick ~= '-' then
  local last, tries, outcome, earlier = string.match(before, '^(%d+) (%d+) (%S+) (.*)$')
  if skew ~= '-' and tonumber(tick) > now + skew then return { 'clock-skew', '', -2, ms(now), '' } end
  local again = last == tick and (outcome == '-' or outcome == '${INTERRUPTED}') and tonumber(tries) <= (tonumber(rerun) or 0)
  if last and tonumber(last) >= tonumber(tick) and not again then return { 'already-ran', '', -2, last, outcome } end
  if not again and (only == 'interrupted' or (only == 'known' and not last)) then return { 'already-ran', '', -2, '', '' } end
  attempt = again and tries + 1 or 1
  started = tick .. ' ' .. attempt .. ' - ' .. schedule
  other = earlier and earlier ~= '' and earlier ~= schedule and earlier
else
  local due, length = string.match(before, '^next (%d+) (%d+)$')
  due = due and due - length + interval or 0
  if due - now > interval * ${1 + INTERVAL_ALLOWANCE} then due = 0 end
  local wait = due - interval * ${INTERVAL_ALLOWANCE} - now
  if wait > 0 then return { 'already-ran', '', math.ceil(wait), '', '' } end
  started = 'next ' .. ms(math.max(due, now) + interval) .. ' ' .. interval
end`;

/**
 * Lua: the lease before has ended by itself: puts what is known of that lease into \`lost\`. If its job was not noted, it may be the job
 * that starts now.
 *
 * needs: state, last, job
 * leaves: lost
 */
export const LOST = /* lua */ `
local s = redis.call('HMGET', state, 'token', 'holder', 'of')
local fence = string.format('%.0f', last)
local noted, of = string.match(s[3] or '', '^(%d+) (.+)$')
if noted ~= fence then of = job end
local r = redis.call('HMGET', state, 'by:' .. of, 'job:' .. of)
local started = r[1] == s[1]
local tick, tries = string.match(started and r[2] or '', '^(%d+) (%d+) ')
lost = { fence, s[2] or '', (started or noted == fence) and of or '', tick or '', tries or '' }`;

/**
 * Lua: records a new lease, and its start.
 *
 * needs: state, token, digits, holder, t, started, record, job, before, ticks, last, micros, ttl, kept, now, history
 * leaves: kept
 */
export const GRANT = /* lua */ `
if started then
  redis.call('HSET', state, 'token', token, 'fence', digits, 'holder', holder, 'since', t[1],
    record, started, 'by:' .. job, token, 'before:' .. job, before)
else
  redis.call('HSET', state, 'token', token, 'fence', digits, 'holder', holder, 'since', t[1])
end
if history then redis.call('HSET', state, 'of', digits .. ' ' .. job) end
local hour = ${HOUR_MS * 1_000}
if ticks or not last or last - last % hour ~= micros - micros % hour or ttl * 1000 > hour then
  kept = kept or redis.call('HGET', state, 'kept')
  local spare = ticks and 0 or ${RETENTION_SLACK_MS}${KEEP}
end`;

/**
 * Lua: calls the first in line: reserves the lock for it, and sends a hint to its process. No failure matters, as the lock is free
 * already: then that call finds out later. If every wait in this line is over, forgets the line.
 *
 * needs: head, lock, state
 * leaves: -
 */
export const CALL = /* lua */ `
local ends = redis.call('HGET', state, 'ends')
if ends and tonumber(ends) < redis.call('TIME')[1] * 1000 then
  redis.pcall('HDEL', state, 'line', 'turn', 'ends')
else
  local first, channel = string.match(head, '^(%S+) (.+)$')
  redis.pcall('SET', lock, 'next:' .. first, 'PX', ${CALLED})
  redis.pcall('HSET', state, 'turn', first)
  redis.pcall('PUBLISH', channel, first)
end`;

/**
 * Lua: the lock is free, and calls stand in line: calls the first of them, and refuses this one. If the first was called and did not
 * come, the others have the same time once more, and the next of them that asks removes it. Goes on if none has come then either, or if
 * every wait in this line is over: all of them are dead.
 *
 * needs: head, lock, state, now
 * leaves: -
 */
const IN_LINE = /* lua */ `
  local w = redis.call('HMGET', state, 'turn', 'ends')
  local turn, over = w[1], w[2] and tonumber(w[2]) < now
  if turn == string.match(head, '^%S+') and not over then
    redis.call('SET', lock, 'next:-', 'PX', ${CALLED})
    redis.call('HSET', state, 'turn', '-' .. turn)
    return { 'held', '', ${CALLED} }
  end
  if string.sub(turn or '', 1, 1) ~= '-' and not over then ${CALL}
    return { 'held', '', ${CALLED} }
  end
  redis.call('HDEL', state, 'line', 'turn', 'ends')`;

/**
 * Takes a lock that is free, if its job may start now, and if nobody stands in line.
 *
 * KEYS: lock, state
 * ARGV: token, ttl, holder, job?, spec?, brief?, history?
 *
 * The ttl is in ms. The spec of a start is '<tick> <how far it may lie in the future, ms> <interval, ms> <reruns> <known or
 * interrupted> <schedule>', each '-' if not given; '' for a call without a start. If brief is not '', nobody needs the holder and the
 * times of a refusal because the lock is taken. If history is not '', the store remembers the run.
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
export const ACQUIRE = leaseScript(/* lua */ `
local token, ttl, holder = ARGV[i], ARGV[i + 1], ARGV[i + 2]
local job, spec = width > 3 and ARGV[i + 3] or '', width > 4 and ARGV[i + 4] or ''
local brief, history = width > 5 and ARGV[i + 5] ~= '', width > 6 and ARGV[i + 6] ~= ''
local record = 'job:' .. job
local current = redis.call('GET', lock)
if current then ${TAKEN}
end
local ticks, attempt, last, kept, before, started, other = spec ~= '', 1, nil, nil, nil, nil, nil
local head, since, lost = nil, '', nil
if history then
  local s = redis.call('HMGET', state, 'fence', 'kept', record, 'line', 'since')
  last, kept, before, head, since = s[1], s[2], s[3], s[4], s[5]
elseif ticks then
  local s = redis.call('HMGET', state, 'fence', 'kept', record, 'line')
  last, kept, before, head = s[1], s[2], s[3], s[4]
else
  local s = redis.call('HMGET', state, 'fence', 'line')
  last, head = s[1], s[2]
end
local t = redis.call('TIME')
local micros = t[1] * 1000000 + t[2]
local now, fence = (micros - micros % 1000) / 1000, micros
last = last and tonumber(last)
if last and last >= micros then fence = last + 1 end
if fence > 9007199254740991 then error('fencing token of ' .. state .. ' is out of range', 0) end
if ticks then ${START}
end
if head and not current then ${IN_LINE}
end
if since ~= '' and last and not current then ${LOST}
end
if current then fence = tonumber(string.match(current, ' (%d+)$')) or fence end
local digits = fence == micros and t[1] .. string.sub('00000' .. t[2], -6) or string.format('%.0f', fence)
if not current then redis.call('SET', lock, token .. ' ' .. digits, 'PX', ttl) end${GRANT}
if other or attempt > 1 or lost then return { '', fence, attempt, other or '', lost } end
return fence`);
