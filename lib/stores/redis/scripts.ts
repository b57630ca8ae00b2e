import { createHash } from 'node:crypto';

/** A Lua script and the digest under which Redis caches it. */
export interface Script {
  readonly lua: string;
  readonly sha: string;
}

const script = (lua: string): Script => ({ lua, sha: createHash('sha1').update(lua).digest('hex') });

/*
 * What the scripts have in common
 *
 * Each lock has two keys. The lock key is a plain string that holds the token, so that every client which follows
 * the recipe of https://redis.io/docs/latest/commands/set/ ("Patterns": SET NX PX, compare and delete) excludes us
 * and is excluded. The state key is a hash with what a plain string cannot hold; it always names the newest lease:
 *
 *   token    of the newest lease          fence   its fencing token        holder  its instance id
 *   since    when it was granted, ms      ended   when it ended, ms, or ''  outcome how the last one ended
 *   job, tick, attempt                    what ran under it, '' if not given
 *   ticks    '1' once a lease had a tick
 *   job:<job>  what is known of a job's last start: '<tick> <attempt> <outcome> <schedule>', outcome '-' until it has
 *            ended, or 'next <ms> <interval>'
 *   record   the field of the newest lease's job, or '' if its start is not kept
 *   undo     what the newest lease has overwritten there, to be taken back if nothing ran
 *
 * Fields that a script does not know are kept. Reads and checks come before the first write: a script that fails
 * (a key of the wrong type, say) has changed nothing. Times are those of the server (TIME).
 */

/** How long the state outlives the lease: a day, so that fencing tokens and holders stay known overnight. */
const STATE_RETENTION_MS = 86_400_000;
/** The same once a tick was recorded: 400 days, so that a yearly job still knows its last run. */
const TICK_RETENTION_MS = 34_560_000_000;

/** Lua: milliseconds that the state is kept for, from a lease of `ttl` on. */
const KEEP = /* lua */ `
local function keep(ttl, ticks)
  return string.format('%.0f', ttl + (ticks == '1' and ${TICK_RETENTION_MS} or ${STATE_RETENTION_MS}))
end`;

/**
 * Lua: whether a job may start now, judged by its last start (`kept`), and what to keep of this one. Returns a
 * refusal or nil, the new record ('' for none), the attempt, and the schedule of the last start if it was another one.
 *
 * A tick is refused if it, or a newer one, was started, unless that run was interrupted and `rerun` allows another; or
 * if it lies too far in the future of this server's clock. With `only` = 'known' it is refused if the job never
 * started before, with 'interrupted' unless it was started and interrupted. An interval counts from its last start
 * on this server's clock, with 10 % of allowance for late timers.
 */
const START = /* lua */ `
local function start(kept, now, tick, skew, schedule, interval, rerun, only)
  local ms = function(n) return string.format('%.0f', n) end
  local last, attempt, outcome, other = string.match(kept or '', '^(%d+) (%d+) (%S+) (.*)$')
  if tick ~= '' then
    if skew ~= '' and tonumber(tick) > now + skew then return { 'clock-skew', '', -2, ms(now), '' } end
    local again = last == tick and (outcome == '-' or outcome == 'aborted') and tonumber(attempt) <= (tonumber(rerun) or 0)
    if last and tonumber(last) >= tonumber(tick) and not again then return { 'already-ran', '', -2, last, outcome } end
    if not again and (only == 'interrupted' or (only == 'known' and not last)) then return { 'already-ran', '', -2, '', '' } end
    attempt = again and attempt + 1 or 1
    return nil, tick .. ' ' .. attempt .. ' - ' .. schedule, attempt, other and other ~= '' and other ~= schedule and other
  end
  local due, before = string.match(kept or '', '^next (%d+) (%d+)$')
  due = due and due - before + interval or 0
  local wait = due - interval / 10 - now
  if wait > 0 then return { 'already-ran', '', math.ceil(wait), '', '' } end
  return nil, 'next ' .. ms(math.max(due, now) + interval) .. ' ' .. interval, 1
end`;

/**
 * Takes the lock if it is free, and if its job may start now.
 *
 * KEYS  1 lock  2 state
 * ARGV  1 token  2 ttl, ms  3 holder  4 job or ''  5 tick, epoch ms, or ''  6 how far it may lie in the future, ms, or ''
 *       7 schedule or ''  8 interval, ms, or ''  9 how often a tick may be run again or ''  10 'known', 'interrupted' or ''
 *       (5 to 10 are left out for a call that is neither of a tick nor of an interval)
 *
 * Returns the fencing token (integer) for a grant, also when this token was granted before (a client that re-sends
 * the command after a broken connection must not be refused by its own lease).
 * Returns { '', fencing token, attempt, schedule of the last start or '' } for one that has more to say.
 * Returns { reason, holder or '', ms until it may be worth another try or < 0, x, y } for a refusal: x is the store's time
 * for 'clock-skew', otherwise x and y are the job's last tick and its outcome ('-': none yet), or ''.
 *
 * Fencing token = max(last + 1, TIME in microseconds): it grows even over a server that lost its data. Refused
 * beyond 2^53 - 1, where doubles (Lua's and JavaScript's) lose the last digit.
 */
export const ACQUIRE = script(/* lua */ `${KEEP}
local token, record = redis.call('GET', KEYS[1]), 'job:' .. ARGV[4]
local tick, interval = ARGV[5] or '', ARGV[8] or ''
local s = redis.call('HMGET', KEYS[2], 'token', 'fence', 'holder', 'ended', 'ticks', record, 'attempt')
local ours = token and s[1] == token
local ended = ours and s[4] and s[4] ~= ''
if token and (token ~= ARGV[1] or ended) then
  local last, outcome
  if s[6] then last, outcome = string.match(s[6], '^(%d+) %d+ (%S+) ') end
  return { ended and 'cooling-down' or 'held', ours and s[3] or '', redis.call('PTTL', KEYS[1]), last or '', outcome or '' }
end
local last = tonumber(s[2] or '0') or 0
local again = tonumber(s[7] or '') or 1
if ours then return again > 1 and { '', string.format('%.0f', last), again, '' } or last end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local refusal, started, attempt, other = nil, '', 1
if tick ~= '' or interval ~= '' then
  ${START}
  refusal, started, attempt, other = start(s[6], now, tick, ARGV[6], ARGV[7], interval, ARGV[9], ARGV[10])
  if refusal then return refusal end
end
local fence = math.max(last + 1, t[1] * 1000000 + t[2])
if fence > 9007199254740991 then return redis.error_reply('ERR fencing token of ' .. KEYS[2] .. ' is out of range') end
local ticks = (started ~= '' or s[5] == '1') and '1' or ''
if not token then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
redis.call('HSET', KEYS[2], 'token', ARGV[1], 'fence', string.format('%.0f', fence), 'holder', ARGV[3],
  'since', string.format('%.0f', now), 'ended', '', 'job', ARGV[4], 'tick', tick,
  'attempt', tick ~= '' and attempt or '', 'ticks', ticks, 'record', started ~= '' and record or '')
if started ~= '' then redis.call('HSET', KEYS[2], record, started, 'undo', s[6] or '') end
redis.call('PEXPIRE', KEYS[2], keep(ARGV[2], ticks))
return (other or attempt > 1) and { '', string.format('%.0f', fence), attempt, other or '' } or fence`);

/**
 * Renews leases, and restores those that the server forgot.
 *
 * KEYS  per lease: lock, state (on a cluster all in one slot)
 * ARGV  per lease: token, ttl in ms, fencing token, holder, job or '', tick or '', attempt or ''
 *
 * Returns per lease: 1 renewed, 2 restored, 0 expired, { holder or '' } taken by somebody else,
 * { '', message } not judged because of an error. Each lease is judged alone, hence pcall. A replica refuses all.
 */
export const EXTEND = script(/* lua */ `${KEEP}
local function extend(lock, state, i)
  local token, ttl = ARGV[i], ARGV[i + 1]
  local current = redis.call('GET', lock)
  local s = redis.call('HMGET', state, 'token', 'fence', 'holder', 'ended', 'ticks')
  local ended = s[1] == token and s[4] and s[4] ~= ''
  if current and current ~= token then return { current == s[1] and s[3] or '' } end
  if ended or (not current and s[1] and s[1] ~= token) then return 0 end
  if current then redis.call('PEXPIRE', lock, ttl) else redis.call('SET', lock, token, 'PX', ttl) end
  local ticks = (ARGV[i + 5] ~= '' or s[5] == '1') and '1' or ''
  if not s[1] or not current then
    local fence = string.format('%.0f', math.max(tonumber(s[2] or '0') or 0, tonumber(ARGV[i + 2])))
    local t = redis.call('TIME')
    redis.call('HSET', state, 'token', token, 'fence', fence, 'holder', ARGV[i + 3], 'ended', '',
      'since', string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000)),
      'job', ARGV[i + 4], 'tick', ARGV[i + 5], 'attempt', ARGV[i + 6], 'ticks', ticks)
    if not s[1] and ARGV[i + 5] ~= '' then
      local record = 'job:' .. ARGV[i + 4]
      redis.call('HSET', state, 'record', record, record, ARGV[i + 5] .. ' ' .. ARGV[i + 6] .. ' - ', 'undo', '')
    end
  end
  redis.call('PEXPIRE', state, keep(ttl, ticks))
  return current and 1 or 2
end
local results = {}
for lease = 1, #KEYS / 2 do
  local ok, result = pcall(extend, KEYS[lease * 2 - 1], KEYS[lease * 2], lease * 7 - 6)
  local message = not ok and (type(result) == 'table' and result.err or tostring(result))
  if message and string.find(message, 'READONLY', 1, true) then return redis.error_reply(message) end
  results[lease] = ok and result or { '', message }
end
return results`);

/**
 * Gives a lease back and records it as ended, so that no late renewal restores it.
 *
 * KEYS  1 lock  2 state
 * ARGV  1 token  2 ms to keep the lock taken, or 0  3 outcome  4 fencing token  5 ttl, ms  6 holder
 *
 * Returns 1 released, 2 the lease had ended before, 0 nobody has the lock, -1 somebody else has it.
 * Where the server forgot the lease, its end is recorded all the same: nobody else's state is touched. Not so for an
 * acquire that nobody saw granted (fencing token 0): it can never be restored, and its end could hide a live lease.
 */
export const RELEASE = script(/* lua */ `${KEEP}
local current = redis.call('GET', KEYS[1])
local s = redis.call('HMGET', KEYS[2], 'token', 'fence', 'ended', 'record', 'undo')
local newest = s[1] == ARGV[1]
if newest and s[3] and s[3] ~= '' then return 2 end
if current == ARGV[1] then
  if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
end
if newest or (not s[1] and (current == ARGV[1] or (not current and ARGV[4] ~= '0'))) then
  local t = redis.call('TIME')
  local ended = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000))
  if newest and s[2] then
    redis.call('HSET', KEYS[2], 'outcome', ARGV[3], 'ended', ended)
  else
    local fence = string.format('%.0f', math.max(tonumber(s[2] or '0') or 0, tonumber(ARGV[4])))
    redis.call('HSET', KEYS[2], 'token', ARGV[1], 'fence', fence, 'holder', ARGV[6], 'outcome', ARGV[3], 'ended', ended)
  end
  if ARGV[3] == 'abandoned' then redis.call('HSET', KEYS[2], 'job', '', 'tick', '', 'attempt', '') end
  if s[4] and s[4] ~= '' then
    local started = redis.call('HMGET', KEYS[2], s[4])[1] or ''
    local ended = ARGV[3] == 'abandoned' and s[5] or string.gsub(started, '^(%d+ %d+) %- ', '%1 ' .. ARGV[3] .. ' ')
    redis.call('HSET', KEYS[2], s[4], ended, 'record', '')
  end
  if not s[1] then redis.call('PEXPIRE', KEYS[2], keep(ARGV[5], '')) end
end
return current == ARGV[1] and 1 or current and -1 or 0`);

/**
 * Tries the commands of the other scripts where nothing else is kept, and leaves nothing there: a permission that is
 * missed only in the middle of a script would leave half a grant.
 *
 * KEYS  1 lock  2 state, of a lock that does not exist
 *
 * Returns the commands that the user may not run. Any other failure is not for this script to judge.
 */
export const PROBE = script(/* lua */ `
local denied = {}
local function try(command, ...)
  local reply = redis.pcall(command, ...)
  local message = type(reply) == 'table' and reply.err or ''
  local refused = string.find(message, 'NOPERM') or string.find(message, 'user executing the script')
  if refused then denied[#denied + 1] = command end
  return not refused
end
try('TIME')
try('GET', KEYS[1])
try('PTTL', KEYS[1])
try('HMGET', KEYS[2], 'token')
try('PEXPIRE', KEYS[2], 1000)
if not try('DEL', KEYS[1], KEYS[2]) then return denied end
try('SET', KEYS[1], 'probe', 'PX', 1000)
try('HSET', KEYS[2], 'token', 'probe')
redis.pcall('DEL', KEYS[1], KEYS[2])
return denied`);
