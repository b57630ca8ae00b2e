import type { QueueLocks, TakenLock } from '../../rules/entries/queue-locks.js';
import { OF_TURN } from './keys.js';
import { LeaseCalls, type LeaseCommands } from './lease-commands.js';
import { PAUSING } from './acquire-script.js';
import { isYes } from './replies.js';
import { leaseScript } from './script.js';

/** By so much a call that runs queued calls stands behind its place in the line: so the line tells who does. Places are whole numbers. */
const DRAINS = 0.5;

/** The place of a call that runs queued calls, as the line has it. */
export const drainingAt = (place: number): number => Math.floor(place) + DRAINS;

/**
 * Reads whether a lock is taken or paused, and by whom the first hundred calls in its line stand.
 *
 * KEYS: lock, state, waiting
 * ARGV: -
 *
 * Returns whether the lock is paused (1 or ''), the place of the first call in line that only waits, and of the first one that runs
 * queued calls, each '' if there is none, and what the lock key holds, '' if it is free: an answer must not begin with a text of others.
 */
const LOOK_AT_TURN = leaseScript(
  /* lua */ `
local waiting, waits, drains = KEYS[k + 3], '', ''
local paused = pausing(redis.call('HGET', state, 'paused')) and 1 or ''
local found = redis.call('ZRANGE', waiting, 0, 99, 'WITHSCORES')
for n = 2, #found, 2 do
  if tonumber(found[n]) % 1 > 0 then
    if drains == '' then drains = found[n] end
  elseif waits == '' then waits = found[n] end
  if waits ~= '' and drains ~= '' then break end
end
return { paused, waits, drains, redis.call('GET', lock) or '' }`,
  [PAUSING],
  OF_TURN,
);

/**
 * Rule 15: the holder of a live lease goes on with a queued call, under a new fencing token. A client may send the script twice. The second
 * time the lock has that fencing token, and nothing changes. A server that is out of memory refuses SET and HSET, but not after a PEXPIRE of
 * the same script.
 *
 * KEYS: lock, state
 * ARGV: token, fence, holder, job, ttl, through
 *
 * Returns the fencing token, or '' if the lease is over, or the lock paused.
 */
const REGRANT = leaseScript(
  /* lua */ `
local token, fence, holder, job, ttl = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4]
local held, newest = string.match(redis.call('GET', lock) or '', '^(.*) (%d+)$')
if held ~= token or tonumber(newest) < tonumber(fence) then return '' end
if tonumber(newest) > tonumber(fence) then return newest end
local t = redis.call('TIME')
local s = redis.call('HMGET', state, 'fence', 'paused')
if ARGV[i + 5] == '' and pausing(s[2]) then return '' end
local last = tonumber(s[1] or 0)
local next = string.format('%.0f', math.max(last + 1, t[1] * 1000000 + t[2]))
redis.call('PEXPIRE', lock, ttl)
redis.call('SET', lock, token .. ' ' .. next, 'PX', ttl)
redis.call('HSET', state, 'token', token, 'fence', next, 'holder', holder, 'of', next .. ' ' .. job)
return next`,
  [PAUSING],
);

/** The locks in Redis, as queued calls need them. */
export class RedisQueueLocks implements QueueLocks {
  readonly #looks: LeaseCalls<TakenLock | undefined>;
  readonly #regrants: LeaseCalls<number | undefined>;

  constructor(commands: LeaseCommands) {
    this.#looks = new LeaseCalls(commands, LOOK_AT_TURN, readTaken);
    this.#regrants = new LeaseCalls(commands, REGRANT, (reply) => (reply === '' ? undefined : Number(reply)));
  }

  async taken(names: readonly string[]): Promise<ReadonlyMap<string, TakenLock>> {
    const all = await Promise.all(names.map((name) => this.#looks.ask(name, [])));
    return new Map(names.flatMap((name, i) => (all[i] === undefined ? [] : [[name, all[i]]])));
  }

  regrant(...[lease, { job, ttl, through }, limit]: Parameters<QueueLocks['regrant']>) {
    const { name, token, fencingToken, holder } = lease;
    const args = [token, String(fencingToken), holder, job, String(ttl), through ? '1' : ''];
    return this.#regrants.ask(name, args, limit);
  }
}

function readTaken(reply: unknown): TakenLock | undefined {
  const [paused = '', waits = '', drains = '', value = ''] = reply as string[];
  if (value === '' && !isYes(paused)) return undefined;
  const [, token, fence] = /^(.*) (\d+)$/s.exec(value) ?? [];
  return {
    ...(token !== undefined && { lease: { token, fencingToken: Number(fence) } }),
    paused: isYes(paused),
    ...(waits !== '' && { waiting: Number(waits) }),
    ...(drains !== '' && { draining: Math.floor(Number(drains)) }),
  };
}
