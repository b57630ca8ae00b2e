import { script } from './script.js';

/**
 * Tries the commands of the other scripts on unused keys, and leaves nothing there. A permission that is missing
 * only in the middle of a script would leave half a grant.
 *
 * KEYS  1 lock  2 state, of a lock that does not exist
 *
 * Returns the commands that the user may not run. Ignores any other failure.
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
try('HGET', KEYS[2], 'token')
try('HMGET', KEYS[2], 'token')
try('PEXPIRE', KEYS[2], 1000)
if not try('DEL', KEYS[1], KEYS[2]) then return denied end
try('SET', KEYS[1], 'probe', 'PX', 1000)
try('HSET', KEYS[2], 'token', 'probe')
redis.pcall('DEL', KEYS[1], KEYS[2])
return denied`);
