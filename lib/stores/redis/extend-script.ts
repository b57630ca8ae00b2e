import { KEEP, leaseScript } from './script.js';

// The layout of the keys, and the rules of all scripts: see script.ts.

/**
 * Lua: seen(current, newest, last, fence): the lock as a lease with this fencing token sees it, which the state may know or not: whether the
 * newest lease of the state is an older one, the token that has the lock, and what the lock key counts as. An older lease was over when this
 * one was granted, so if it has the lock, the lock counts as free.
 */
export const SEEN = /* lua */ `
local function seen(current, newest, last, fence)
  local older = (tonumber(last) or math.huge) < tonumber(fence)
  local held = current and (string.match(current, '^(.*) %d+$') or current)
  local isOver = older and newest and current and (held == newest or held == 'ended:' .. newest or string.sub(current, 1, 5) == 'next:')
  return older, held, not isOver and current
end`;

/**
 * Renews a lease, and restores one that the server forgot: if the state neither records that it has ended nor names a newer lease.
 * An older lease, in the state or with the lock, comes from a replica or a snapshot that lacks the last writes.
 *
 * KEYS: lock, state
 * ARGV: token, ttl, fence, holder, start?
 *
 * The ttl is in ms, fence the lease's fencing token. Its start is '<tick>:<attempt>:<job>', '::<job>' without a tick; '' for neither.
 *
 * Returns a list, per lease: 1 renewed, 2 restored, 3 restored though the state still had it as live, 0 expired, { holder or '' } another
 * lease has the lock.
 */
export const EXTEND = leaseScript(
  /* lua */ `
local token, ttl, fence, start = ARGV[i], ARGV[i + 1], ARGV[i + 2], width > 4 and ARGV[i + 4] or ''
local ticks = string.match(start, '^%d') ~= nil
local current = redis.call('GET', lock)
local s = redis.call('HMGET', state, 'token', 'since', 'fence', 'kept', 'holder')
if fence == '0' and s[1] == token then fence = s[3] end
local lease, older, held = token .. ' ' .. fence, nil, nil
older, held, current = seen(current, s[1], s[3], fence)
if fence == '0' and held == token then lease, fence = current, string.match(current, ' (%d+)$') or fence end
if current == 'ended:' .. token then return 0 end
if current and current ~= lease then
  return { s[1] and (held == s[1] or held == 'ended:' .. s[1]) and s[5] or '' }
end
local behind = older or not s[1]
if not current and not behind and (s[1] ~= token or s[3] ~= fence or s[2] == '') then return 0 end
local t = redis.call('TIME')
local now, kept, spare = t[1] * 1000, s[4], 0
if current then redis.call('PEXPIRE', lock, ttl) else redis.call('SET', lock, lease, 'PX', ttl) end
if behind then
  local tick, attempt, job = string.match(start, '^(%d*):(%d*):(.*)$')
  redis.call('HSET', state, 'token', token, 'fence', fence, 'holder', ARGV[i + 3], 'since', t[1])
  if job then redis.call('HSET', state, 'of', fence .. ' ' .. job) end
  -- The start of the lease, unless a newer start of its job is known.
  tick = ticks and tick
  local record = 'job:' .. (job or '')
  local before = tick and redis.call('HGET', state, record) or ''
  local last, tries = string.match(before, '^(%d+) (%d+) ')
  local older = not last or tonumber(last) < tonumber(tick) or (last == tick and tonumber(tries) <= tonumber(attempt))
  if tick and older then
    redis.call('HSET', state, record, tick .. ' ' .. attempt .. ' - ', 'by:' .. job, token, 'before:' .. job, before)
  end
end
keep(state, kept, now, ttl, ticks, spare)
return current and 1 or behind and 2 or 3`,
  [KEEP, SEEN],
);
