import { NOTHING_RAN } from '../../contract/allowances.js';
import { CALL } from './acquire-script.js';
import { SEEN } from './extend-script.js';
import { KEEP, leaseScript } from './script.js';

/**
 * Releases a lease and records it as ended, so that no late renewal restores it.
 *
 * KEYS: lock, state
 * ARGV: token, fence, outcome?, job?, stay?, holder?, retry?
 *
 * The outcome is '' for a run without a tick that completed. Only for a lock that stays taken there are stay, in ms, and the holder. Retry is for
 * a tick that failed: in how many ms it may be tried again.
 *
 * Returns 1 released, 2 the lease had ended before, 0 the lock is free, -1 another lease has it. If the server forgot the lease,
 * its end is recorded all the same, over nothing or an older lease, which loses the lock: the state of a newer one is not touched.
 * Not so for an acquire whose grant was never answered (fencing token 0): it can never be restored, and its end could hide a live
 * lease. It stands for any lease of its token.
 *
 * The start of an abandoned lease is taken back, even if another holder has or had the lock since, unless its job was started again
 * or its run has ended.
 *
 * A server that is out of memory refuses HSET and SET, but not after a DEL or PEXPIRE of the same script. Then those come first, so
 * that the lock becomes free all the same.
 */
export const RELEASE = leaseScript(
  /* lua */ `
local token, fence, outcome = ARGV[i], ARGV[i + 1], width > 2 and ARGV[i + 2] or ''
local current, lease = redis.call('GET', lock), token .. ' ' .. fence
if outcome == '' then
  outcome = 'completed'
  local added = current == lease and redis.pcall('HSET', state, 'since', '')
  if added == 0 then
    redis.call('DEL', lock)
    return 1
  end
  local head = added == 1 and redis.call('HGET', state, 'line')
  if head then
    redis.call('DEL', lock)
    call(lock, state, head)
    return 1
  end
  if type(added) == 'table' and not string.find(added.err, 'OOM', 1, true) then error(added.err, 0) end
end
local job, stay = width > 3 and ARGV[i + 3] or '', width > 4 and ARGV[i + 4] or ''
local record = 'job:' .. job
if width > 6 and ARGV[i + 6] ~= '' then
  local t = redis.call('TIME')
  outcome = string.format('%s@%.0f', outcome, t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[i + 6])
end
if current == lease and outcome == 'completed' and stay == '' then
  local s = redis.call('HMGET', state, 'by:' .. job, record, 'line')
  if s[1] == token and s[2] then
    local head = s[3]
    redis.call('DEL', lock)
    redis.call('HSET', state, 'since', '', record, (string.gsub(s[2], '^(%d+ %d+) %- ', '%1 completed ')))
    if head then call(lock, state, head) end
    return 1
  end
end
local s = redis.call('HMGET', state, 'token', 'since', 'fence', 'kept', 'by:' .. job, record, 'before:' .. job, 'line')
local found, older, held = current, nil, nil
older, held, current = seen(current, s[1], s[3], fence)
if fence == '0' and held == token then lease = current end
local newest = s[1] == token and s[3] and (s[3] == fence or fence == '0')
if newest and s[2] == '' and current ~= lease then return 2 end
local head, freed = s[8], current ~= found or (current == lease and stay == '')
if freed then redis.call('DEL', lock) end
if freed and head then call(lock, state, head) end
if current == lease and stay ~= '' then
  redis.call('PEXPIRE', lock, stay)
  redis.call('SET', lock, 'ended:' .. token, 'PX', stay)
end
local started, ended = s[5] == token and s[6], nil
if started and outcome == '${NOTHING_RAN}' and not string.find(started, '^%d+ %d+ %a') then
  redis.call('HSET', state, record, s[7] or '', 'by:' .. job, '')
elseif started then
  ended = string.gsub(started, '^(%d+ %d+) %- ', '%1 ' .. outcome .. ' ')
end
if newest and ended then
  redis.call('HSET', state, 'since', '', record, ended)
elseif newest then
  redis.call('HSET', state, 'since', '')
elseif current == lease or (not current and fence ~= '0') then
  if older or not s[3] then
    redis.call('HSET', state, 'token', token, 'fence', fence, 'holder', width > 5 and ARGV[i + 5] or '', 'since', '')
    keep(state, s[4], redis.call('TIME')[1] * 1000, tonumber(stay) or 0, false, 0)
  end
end
return current == lease and 1 or current and -1 or 0`,
  [KEEP, CALL, SEEN],
);
