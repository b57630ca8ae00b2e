import { randomUUID } from 'node:crypto';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { RIGHTS } from './acl.js';
import { type LockKeys, OF_HISTORY } from './keys.js';
import type { LeaseCommands } from './lease-commands.js';
import { type Connection, failure, RedisReplyError, runScript } from './redis-client.js';
import { script } from './script.js';

/**
 * Tries the commands of the other scripts on unused keys, and leaves nothing there. A permission that is missing
 * only in the middle of a script would leave half a grant.
 *
 * KEYS: lock, state, entries, order
 * ARGV: -
 *
 * The keys are those of a lock that does not exist.
 *
 * Returns the commands that the user may not run, or the error of a replica. Ignores any other failure.
 */
const PROBE = script(/* lua */ `
local denied = {}
local function try(command, ...)
  local reply = redis.pcall(command, ...)
  local message = type(reply) == 'table' and reply.err or ''
  local refused = string.find(message, 'NOPERM') or string.find(message, 'user executing the script')
    or string.find(message, 'ACL failure in script')
  if refused then denied[#denied + 1] = command end
  return not refused
end
local written = redis.pcall('PEXPIRE', KEYS[2], 1000)
if type(written) == 'table' and string.find(written.err or '', 'READONLY') then return written end
try('TIME')
try('GET', KEYS[1])
try('MGET', KEYS[1])
try('PTTL', KEYS[1])
try('HGET', KEYS[2], 'token')
try('HMGET', KEYS[2], 'token')
try('HGETALL', KEYS[2])
try('HDEL', KEYS[2], 'token')
try('ZRANGE', KEYS[4], 0, 0)
try('ZRANK', KEYS[4], 'probe')
try('ZSCORE', KEYS[4], 'probe')
try('ZREM', KEYS[4], 'probe')
try('PEXPIRE', KEYS[2], 1000)
if not try('DEL', unpack(KEYS)) then return denied end
try('SET', KEYS[1], 'probe', 'PX', 1000)
try('HSET', KEYS[2], 'token', 'probe')
redis.pcall('HSET', KEYS[3], 'probe', 1)
try('ZADD', KEYS[4], 1, 'probe')
redis.pcall('DEL', unpack(KEYS))
return denied`);

/**
 * Checks that the user has the rights that the scripts need, at the keys of a lock, and at those that belong to no lock.
 *
 * @throws SchedulerLockConfigError if a right is missing
 */
export async function checkRights(connection: Connection, commands: LeaseCommands): Promise<void> {
  for (const [lock, state] of unusedKeys(commands)) {
    const keys = [lock, state, ...OF_HISTORY.of([lock, state, '', ''])];
    const denied = await runScript(connection, PROBE, keys.length, keys).catch((error: unknown) => {
      if (!(error instanceof RedisReplyError) || !/NOPERM|NOAUTH|WRONGPASS/.test(error.message))
        throw failure(error);
      throw new SchedulerLockConfigError([
        `connection: Redis refused the lock scripts: ${error.message}. The keys tried were "${keys.join('" and "')}". ${RIGHTS}`,
      ]);
    });
    if (!Array.isArray(denied) || denied.length === 0) continue;
    throw new SchedulerLockConfigError([
      `connection: the Redis user may not run ${denied.join(', ')}, which the lock scripts need. ${RIGHTS}`,
    ]);
  }
}

/** Keys of locks that do not exist: none of locks if a `key` function of the user does not support such a name. */
function unusedKeys(commands: LeaseCommands): LockKeys[] {
  const name = `probe-${randomUUID()}`;
  const unnamed = commands.keysAt(`${commands.unnamed}:${name}`);
  try {
    return [commands.keys(name), unnamed];
  } catch {
    return [unnamed];
  }
}
