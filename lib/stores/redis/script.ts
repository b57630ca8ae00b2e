import { createHash } from 'node:crypto';
import { RETENTION, TICK_RETENTION } from '../../contract/allowances.js';
import { type KeysOf, OF_LOCK } from './keys.js';

/*
 * What the scripts have in common
 *
 * Each lock has two keys. The lock key is a plain string that holds '<token> <fencing token>' of its lease, so every client
 * which follows the recipe of https://redis.io/docs/latest/commands/set/ ("Patterns": SET NX PX, compare and delete) excludes us
 * and is excluded. The fencing token is there because queued calls of one lock have leases with one token: a late command of one lease
 * must not touch the next. The recipe writes the token alone, so the token is enough to know the owner of a lock. If the lock stays taken
 * after its lease, the key holds 'ended:' and the token. The state key is a hash with the data that a plain string cannot hold. It always
 * names the newest lease:
 *
 *   token    of the newest lease          fence   its fencing token        holder  its instance id
 *   since    when it was granted, s, or '' once it was released: no field of its own, as each lease writes this one
 *   kept     until when the hash is kept, epoch ms
 *   paused   '<until, epoch ms> <since> <id> <who and why, JSON>' of a pause
 *   job:<job>  a job's last start: '<tick> <attempt> <outcome> <schedule>', outcome '-' until it has
 *            ended, 'failed@<epoch ms>' if it may be tried again from then on; or 'next <ms> <interval>'
 *   by:<job>      token of the lease that has recorded that start
 *   before:<job>  the record that it has overwritten, restored if nothing ran
 *   line     '<token> <channel>' of the first in line, while calls wait: so a release knows which call to call
 *   ends     the latest end of any wait since the line began, and a second more, epoch ms; also of calls that have left, or died
 *   turn     token of the call that is called, until it comes; '-' before it if it did not, and the calls behind it may
 *   began    `since`, moved here while calls wait: a release finds no `since`, which costs nothing where nobody waits
 *   of       '<fencing token> <job>' of the newest lease whose run is remembered
 *
 * While the lock is reserved for the first in line, the lock key holds 'next:' and its token; 'next:-' if it is reserved for any of
 * them. Two more keys exist only while calls wait: a sorted set of their tokens by place, and a hash that has, for a token,
 * '<until when it waits, epoch ms> <channel>', and under 'p:<channel>' a 1 if that process did not come when it was called.
 *
 * Scripts keep fields that they do not know. Commands that can fail (on a key of the wrong type, say) come before the
 * first write: a script that fails has changed nothing. Times are those of the server (TIME).
 *
 * What several scripts do is a Lua function with arguments, whose text stands before theirs: that costs 1 of the 90 µs that a
 * lease and its release take. The header of a script names its keys and arguments in order.
 *
 * Every redis.call() and every field of a hash adds to the cost of each run: scripts read and write nothing that they
 * can do without.
 */

export const HOUR_MS = 3_600_000;
/**
 * How much longer than necessary the state is kept, so that most leases need not prolong it. The time that the first
 * lease of an hour adds is enough for the leases that follow within the hour and last for one more hour at most.
 */
export const RETENTION_SLACK_MS = 2 * HOUR_MS;

/**
 * Lua: keep(state, kept, now, ttl, ticks, spare): makes the state outlive a lease of `ttl` from `now` on. Changes nothing if `kept`, until
 * when the state is kept now, reaches `spare` ms beyond that.
 */
export const KEEP = /* lua */ `
local function keep(state, kept, now, ttl, ticks, spare)
  local last = now + ttl + (ticks and ${TICK_RETENTION} or ${RETENTION})
  if last + spare <= (tonumber(kept or 0) or 0) then return end
  redis.call('HSET', state, 'kept', string.format('%.0f', last + ${RETENTION_SLACK_MS}))
  redis.call('PEXPIRE', state, string.format('%.0f', last + ${RETENTION_SLACK_MS} - now))
end`;

/** A Lua script and the digest under which Redis caches it. */
export interface Script {
  readonly lua: string;
  readonly sha: string;
}

/** One operation on leases, or one look at locks, as a script for one of them and as a script for many. */
export interface LeaseScript {
  readonly one: Script;
  readonly many: Script;
  /** The keys that it takes for each lease. */
  readonly keys: KeysOf;
  /** For how many leases at most it runs at once. */
  readonly most: number;
}

/**
 * The most leases for one run of a script, which blocks Redis for less than a millisecond: a lease that is granted with a tick takes it
 * 12 µs.
 */
const MAX_BATCH = 50;

/** Makes a script that stands alone. */
export const script = (lua: string): Script => ({ lua, sha: createHash('sha1').update(lua).digest('hex') });

/**
 * Makes the same script for one lease and for many. The header of the body lists keys and arguments of one lease. On a Cluster all
 * keys are in one slot. Trailing arguments (`name?`) are left out if they would be '' for all leases of the call.
 *
 * @param body Lua that returns the answer for one lease; `lock` and `state` are its first keys, `KEYS[k + 3]` is the third, `ARGV[i]` is
 *   the first argument, and `width` is the number of arguments per lease
 * @param functions Lua functions that the body calls, in an order in which each finds those that it calls
 * @param keys those of a lease
 *
 * The script for many judges each lease alone: a lease that fails answers { 'error', message }. A replica refuses all
 * of them.
 *
 * For many leases, an argument that is the same for all of them is sent once: the first argument has a 1 for each common argument, and a
 * 0 for each that differs. The common ones follow, then those of each lease. {@link argumentsForMany} makes them.
 */
export const leaseScript = (
  body: string,
  functions: readonly string[] = [],
  keys = OF_LOCK,
  most = MAX_BATCH,
): LeaseScript => ({
  keys,
  most,
  one: script(/* lua */ `${functions.join('')}
local lock, state, i, width, k = KEYS[1], KEYS[2], 1, #ARGV, 0${body}`),
  many: script(/* lua */ `${functions.join('')}
local given, width, at, own = ARGV, #ARGV[1], 2, {}
local ARGV = {}
for n = 1, width do
  if string.byte(given[1], n) == 49 then
    ARGV[n] = given[at]
    at = at + 1
  else
    own[#own + 1] = n
  end
end
local function judge(lock, state, i, k)${body}
end
local replies = {}
for lease = 1, #KEYS / ${keys.count} do
  for n = 1, #own do ARGV[own[n]] = given[at + n - 1] end
  at = at + #own
  local k = (lease - 1) * ${keys.count}
  local ok, reply = pcall(judge, KEYS[k + 1], KEYS[k + 2], 1, k)
  local message = not ok and (type(reply) == 'table' and reply.err or tostring(reply))
  if message and string.find(message, 'READONLY', 1, true) then return redis.error_reply(message) end
  replies[lease] = ok and reply or { 'error', message }
end
return replies`),
});

/**
 * The arguments of a script for many.
 *
 * @param leases the arguments of each
 */
export function argumentsForMany(leases: readonly (readonly string[])[]): string[] {
  const [first = []] = leases;
  let width = 0;
  for (const args of leases) width = Math.max(width, args.length);
  const own: number[] = [];
  const common: string[] = [];
  let mask = '';
  for (let n = 0; n < width; n++) {
    const value = first[n] ?? '';
    const isCommon = leases.every((args) => (args[n] ?? '') === value);
    mask += isCommon ? '1' : '0';
    if (isCommon) common.push(value);
    else own.push(n);
  }
  const all = [mask, ...common];
  for (const args of leases) for (const n of own) all.push(args[n] ?? '');
  return all;
}
