import { createHash } from 'node:crypto';

/** A Lua script and the digest under which Redis caches it. */
export interface Script {
  readonly lua: string;
  readonly sha: string;
}

/** What is done for a lease, as a script for one and as a script for many. */
export interface LeaseScript {
  readonly one: Script;
  readonly many: Script;
}

/** A script of its own. */
export const script = (lua: string): Script => ({ lua, sha: createHash('sha1').update(lua).digest('hex') });

/** A script for one lease: see {@link leaseScript}. */
export const scriptForOne = (body: string): Script =>
  script(/* lua */ `local lock, state, i, width = KEYS[1], KEYS[2], 1, #ARGV${body}`);

/**
 * The same for one lease and for many. Arguments at the end that no lease of a call needs are left out.
 *
 * @param body Lua that returns what it answers; `lock` and `state` are the keys, `ARGV[i]` is the first argument, and
 *   `width` says how many there are
 *
 * Of many, each lease is judged alone: what fails answers { 'error', message }. A replica refuses all. The script for
 * one makes no function, which would cost more than any of its commands.
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
