import { createHash } from 'node:crypto';

/** A Lua script and the digest under which Redis caches it. */
export interface Script {
  readonly lua: string;
  readonly sha: string;
}

/** One operation on leases, as a script for one lease and as a script for many. */
export interface LeaseScript {
  readonly one: Script;
  readonly many: Script;
}

/** Makes a script that stands alone. */
export const script = (lua: string): Script => ({ lua, sha: createHash('sha1').update(lua).digest('hex') });

/** Makes a script for one lease: see {@link leaseScript}. */
export const scriptForOne = (body: string): Script =>
  script(/* lua */ `local lock, state, i, width = KEYS[1], KEYS[2], 1, #ARGV${body}`);

/**
 * Makes the same script for one lease and for many. Trailing arguments that no lease of a call needs are left out.
 *
 * @param body Lua that returns the answer for one lease; `lock` and `state` are the keys, `ARGV[i]` is the first
 *   argument, and `width` is the number of arguments per lease
 *
 * The script for many judges each lease alone: a lease that fails answers { 'error', message }. A replica refuses all
 * of them. The script for one defines no function, which would cost more than any of its commands.
 */
export const leaseScript = (body: string): LeaseScript => ({
  one: scriptForOne(body),
  many: script(/* lua */ `
local width = #ARGV / (#KEYS / 2)
local function judge(lock, state, i)${body}
end
local replies = {}
for lease = 1, #KEYS / 2 do
  local ok, reply = pcall(judge, KEYS[lease * 2 - 1], KEYS[lease * 2], (lease - 1) * width + 1)
  local message = not ok and (type(reply) == 'table' and reply.err or tostring(reply))
  if message and string.find(message, 'READONLY', 1, true) then return redis.error_reply(message) end
  replies[lease] = ok and reply or { 'error', message }
end
return replies`),
});
