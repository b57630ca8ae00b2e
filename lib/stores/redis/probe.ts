import { randomUUID } from 'node:crypto';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { RIGHTS } from './acl.js';
import type { LockKeys } from './keys.js';
import type { LeaseCommands } from './lease-commands.js';
import { type Connection, RedisReplyError, runScript } from './redis-client.js';
import { script } from './script.js';

/**
 * Lua: \`try(command, ...)\` notes in \`denied\` what the user may not run, and returns whether it may. Ignores any other failure.
 */
export const TRY = /* lua */ `
local denied = {}
local function try(command, ...)
  local reply = redis.pcall(command, ...)
  local message = type(reply) == 'table' and reply.err or ''
  local refused = string.find(message, 'NOPERM') or string.find(message, 'user executing the script')
    or string.find(message, 'ACL failure in script')
  if refused then denied[#denied + 1] = command end
  return not refused
end`;

/**
 * Tries the commands of the other scripts on unused keys, and leaves nothing there. A permission that is missing
 * only in the middle of a script would leave half a grant.
 *
 * KEYS: lock, state
 * ARGV: -
 *
 * The keys are those of a lock that does not exist.
 *
 * Returns the commands that the user may not run, or the error of a replica. Ignores any other failure.
 */
const PROBE = script(/* lua */ `${TRY}
local written = redis.pcall('PEXPIRE', KEYS[2], 1000)
if type(written) == 'table' and string.find(written.err or '', 'READONLY') then return written end
try('TIME')
try('GET', KEYS[1])
try('MGET', KEYS[1])
try('PTTL', KEYS[1])
try('HGET', KEYS[2], 'token')
try('HMGET', KEYS[2], 'token')
try('PEXPIRE', KEYS[2], 1000)
if not try('DEL', KEYS[1], KEYS[2]) then return denied end
try('SET', KEYS[1], 'probe', 'PX', 1000)
try('HSET', KEYS[2], 'token', 'probe')
redis.pcall('DEL', KEYS[1], KEYS[2])
return denied`);

/**
 * The keys of a lock that does not exist; `undefined` if a `key` function of the user does not support its name.
 *
 * @param beside the key beside which they are. Absent: those of locks
 */
export function unusedKeys(commands: LeaseCommands, beside?: string): LockKeys | undefined {
  const name = `probe-${randomUUID()}`;
  try {
    return beside === undefined ? commands.keys(name) : commands.keysAt(`${beside}:${name}`);
  } catch {
    return undefined;
  }
}

/**
 * Checks that the user has the rights that the scripts need.
 *
 * @param keys of a lock that does not exist
 * @throws SchedulerLockConfigError if a right is missing
 */
export async function checkRights(
  connection: Connection,
  keys: readonly [lock: string, state: string],
): Promise<void> {
  const denied = await runScript(connection, PROBE, keys.length, keys).catch((error: unknown) => {
    if (!(error instanceof RedisReplyError) || !/NOPERM|NOAUTH|WRONGPASS/.test(error.message)) throw error;
    throw new SchedulerLockConfigError([
      `connection: Redis refused the lock scripts: ${error.message}. The keys tried were "${keys.join('" and "')}". ${RIGHTS}`,
    ]);
  });
  if (!Array.isArray(denied) || denied.length === 0) return;
  throw new SchedulerLockConfigError([
    `connection: the Redis user may not run ${denied.join(', ')}, which the lock scripts need. ${RIGHTS}`,
  ]);
}
