import { INSTANCES_KEPT, MAX_INSTANCES, UNUSED_LIST } from '../../contract/history-store.js';
import { TRY } from './probe.js';
import { OF_BAD, OF_HISTORY, OF_RUNS } from './keys.js';
import { leaseScript, script } from './script.js';

/*
 * Two streams beside the state of a lock: `<state>:runs` has the runs that completed, `<state>:bad` has all other entries, so that a job
 * that runs each second does not push last night's failure out. An entry has the field `run`, or the fields `miss` and `tick`; its id is
 * the time when it was kept. Redis trims the streams by whole nodes, so they have some entries more.
 *
 * No script of a lock writes here: the records of runs follow a moment later, many with one command. So of two records of a run, that of
 * the release which ended the lease may be written last, and who reads them finds out which one counts.
 *
 * Instances are in a hash, by their ids; a sorted set has the time when each was last seen. Each list of jobs is a key of its own, which
 * expires by itself: soon after the last instance with this list has sent another one.
 */

/**
 * Lua: the lease before has ended by itself: puts what is known of that lease into \`lost\`. If its job was not noted, it may be the job
 * that starts now.
 *
 * needs: state, last, job
 * leaves: lost
 */
export const LOST = /* lua */ `
local s = redis.call('HMGET', state, 'token', 'holder', 'of')
local fence = string.format('%.0f', last)
local noted, of = string.match(s[3] or '', '^(%d+) (.+)$')
if noted ~= fence then of = job end
local r = redis.call('HMGET', state, 'by:' .. of, 'job:' .. of)
local started = r[1] == s[1]
local tick, tries = string.match(started and r[2] or '', '^(%d+) (%d+) ')
lost = { fence, s[2] or '', (started or noted == fence) and of or '', tick or '', tries or '' }`;

/**
 * Keeps the entry of a run that has ended, or of one whose lease has ended by itself.
 *
 * KEYS: stream
 * ARGV: entry, count, age
 *
 * The stream is that of the runs that completed. The age is in ms.
 *
 * Returns 0.
 */
export const RECORD_RUN = leaseScript(
  /* lua */ `
local stream = KEYS[k + 1]
redis.call('XADD', stream, 'MAXLEN', '~', ARGV[i + 1], '*', 'run', ARGV[i])
redis.call('PEXPIRE', stream, ARGV[i + 2])
return 0`,
  OF_RUNS,
);

/** Keeps a record in the stream of all runs that did not complete. */
export const RECORD_BAD = { ...RECORD_RUN, keys: OF_BAD };

/** For how many locks at once: each may have some hundred entries, and nothing else goes on at the server meanwhile. */
const HISTORIES = 10;

/**
 * The newest entries of a lock.
 *
 * KEYS: runs, bad
 * ARGV: most, worst, run, wrong
 *
 * The first two arguments say how many at most of each, the others are the ids of the newest entries that the caller knows, or ''. This
 * library only changes a stream by an entry with a new id, which trims the stream, too. What a person deletes with XDEL or XTRIM, a process
 * that has read it shows until the next entry; DEL shows at once.
 *
 * Returns for each stream its entries, newest first, or 0 if the caller knows them; and ms until the stream expires: as long as its newest
 * entry is kept.
 */
export const ENTRIES = leaseScript(
  /* lua */ `
local runs, bad = KEYS[k + 1], KEYS[k + 2]
local most, worst, run, wrong = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
local ended = run ~= '' and redis.call('XREVRANGE', runs, '+', '-', 'COUNT', 1)[1]
local noted = wrong ~= '' and redis.call('XREVRANGE', bad, '+', '-', 'COUNT', 1)[1]
return {
  ended and ended[1] == run and 0 or redis.call('XREVRANGE', runs, '+', '-', 'COUNT', most), redis.call('PTTL', runs),
  noted and noted[1] == wrong and 0 or redis.call('XREVRANGE', bad, '+', '-', 'COUNT', worst), redis.call('PTTL', bad)
}`,
  OF_HISTORY,
  HISTORIES,
);

/**
 * Keeps that a tick was missed, unless it or a newer one was started, or a run of the job goes on.
 *
 * KEYS: lock, state, bad
 * ARGV: job, tick, grace, entry, count, age, late
 *
 * An interval was missed if it has been due for more than the grace, in ms; the tick is when it was due, unless the state knows that time.
 * The age is in ms. If late is not '', the entry is kept even if a newer tick was started.
 *
 * Returns { 1 missed or 0, 1 first to note it or 0, tick }. The field 'missed:<job>' of the state has the newest tick that was missed.
 */
export const MISS = script(/* lua */ `
local lock, state, bad = KEYS[1], KEYS[2], KEYS[3]
local job, tick, grace = ARGV[1], ARGV[2], ARGV[3]
local s = redis.call('HMGET', state, 'job:' .. job, 'of', 'token', 'fence', 'missed:' .. job)
local t = redis.call('TIME')
local last = string.match(s[1] or '', '^(%d+) ')
local due = string.match(s[1] or '', '^next (%d+) ')
if due then
  tick = due
  if tick + grace >= t[1] * 1000 + t[2] / 1000 then return { 0, 0, tick } end
elseif last == tick then
  return { 0, 0, tick }
end
local newer = last and tonumber(last) > tonumber(tick)
local runs = s[2] and s[4] and s[2] == s[4] .. ' ' .. job
local current = redis.call('GET', lock)
local over = newer or (runs and s[3] and (current == s[3] .. ' ' .. s[4] or current == s[3]))
if over and not (newer and ARGV[7] ~= '') then return { 0, 0, tick } end
redis.call('XADD', bad, 'MAXLEN', '~', ARGV[5], '*', 'miss', ARGV[4], 'tick', tick)
redis.call('PEXPIRE', bad, ARGV[6])
if over then return { 0, 0, tick } end
if tonumber(s[5] or 0) >= tonumber(tick) then return { 1, 0, tick } end
redis.call('HSET', state, 'missed:' .. job, tick)
if redis.call('PTTL', state) < 0 then redis.call('PEXPIRE', state, ARGV[6]) end
return { 1, 1, tick }`);

/**
 * Notes that a missed tick was reported to people.
 *
 * KEYS: state
 * ARGV: job, tick, age
 *
 * The age is in ms.
 *
 * Returns 1 if nobody had noted this for the tick or a newer one, or 0. The field 'told:<job>' of the state has the newest such tick.
 */
export const TOLD = script(/* lua */ `
local state, field = KEYS[1], 'told:' .. ARGV[1]
if tonumber(redis.call('HGET', state, field) or 0) >= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', state, field, ARGV[2])
if redis.call('PTTL', state) < 0 then redis.call('PEXPIRE', state, ARGV[3]) end
return 1`);

/**
 * Remembers an instance and its list of jobs. Forgets, a few at a time, instances that were not seen for long, or are beyond the limit; and
 * soon the list that this instance had before, unless another one has it.
 *
 * KEYS: instances, seen, list, old
 * ARGV: instance, facts, jobs, had
 *
 * The jobs are '' if the store should know them. `had` is a text that the facts of an instance with the old list contain; '' if the list
 * is the same as before.
 *
 * Returns { time, ms; 1 if the list is known or 0 }.
 */
export const BEAT = script(/* lua */ `
local instances, seen, list, old, had = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[4]
local t = redis.call('TIME')
local now = t[1] * 1000 + (t[2] - t[2] % 1000) / 1000
local known = 1
if ARGV[3] ~= '' then
  redis.call('SET', list, ARGV[3], 'PX', ${INSTANCES_KEPT})
else
  known = redis.call('PEXPIRE', list, ${INSTANCES_KEPT})
end
redis.call('HSET', instances, ARGV[1], ARGV[2])
redis.call('ZADD', seen, now, ARGV[1])
redis.call('PEXPIRE', instances, ${INSTANCES_KEPT})
redis.call('PEXPIRE', seen, ${INSTANCES_KEPT})
if had ~= '' then
  local ids, used = redis.call('ZRANGE', seen, 0, -1), false
  for n = 1, #ids do
    used = used or string.find(redis.call('HGET', instances, ids[n]) or '', had, 1, true)
  end
  if not used then redis.call('PEXPIRE', old, ${UNUSED_LIST}) end
end
local oldest = redis.call('ZRANGE', seen, 0, 9, 'WITHSCORES')
local beyond = #redis.call('ZRANGE', seen, 0, ${-MAX_INSTANCES - 1})
for n = 1, #oldest, 2 do
  if (n + 1) / 2 <= beyond or tonumber(oldest[n + 1]) < now - ${INSTANCES_KEPT} then
    redis.call('ZREM', seen, oldest[n])
    redis.call('HDEL', instances, oldest[n])
  end
end
return { string.format('%.0f', now), known }`);

/**
 * The instances that were seen in the last days.
 *
 * KEYS: seen
 * ARGV: -
 *
 * Returns the time, ms, and two fields for each, newest first: its id, and when it was seen, ms.
 */
export const INSTANCES = script(/* lua */ `
local t = redis.call('TIME')
local now = t[1] * 1000 + (t[2] - t[2] % 1000) / 1000
local found = redis.call('ZRANGE', KEYS[1], ${-MAX_INSTANCES}, -1, 'WITHSCORES')
local all = { string.format('%.0f', now) }
for n = #found, 1, -2 do
  if tonumber(found[n]) > now - ${INSTANCES_KEPT} then
    all[#all + 1] = found[n - 1]
    all[#all + 1] = found[n]
  end
end
return all`);

/**
 * The records of these instances.
 *
 * KEYS: instances
 * ARGV: '1' to leave their dates out or '', instance...
 *
 * Returns the facts of each, or '' if it was forgotten.
 */
export const FACTS = script(/* lua */ `
local all = {}
for n = 2, #ARGV do
  local facts = redis.call('HGET', KEYS[1], ARGV[n]) or ''
  local dates = ARGV[1] ~= '' and string.find(facts, ',"next":[', 1, true)
  all[n - 1] = dates and string.sub(facts, 1, dates - 1) .. ',"next":[],"last":[]}' or facts
end
return all`);

/**
 * Tries what histories need on the unused keys of a lock, and leaves nothing there.
 *
 * KEYS: runs, bad
 * ARGV: -
 *
 * Returns the commands that the user may not run. Ignores any other failure.
 */
export const PROBE_RUNS = script(/* lua */ `${TRY}
try('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
try('XADD', KEYS[2], 'MAXLEN', '~', 1, '*', 'run', 'probe')
redis.pcall('DEL', KEYS[1], KEYS[2])
return denied`);

/**
 * Tries what it takes to remember instances on unused keys, and leaves nothing there.
 *
 * KEYS: instances, seen, list
 * ARGV: -
 *
 * Returns the commands that the user may not run. Ignores any other failure.
 */
export const PROBE_INSTANCES = script(/* lua */ `${TRY}
try('ZADD', KEYS[2], 1, 'probe')
try('ZRANGE', KEYS[2], 0, 0)
try('ZREM', KEYS[2], 'probe')
try('HDEL', KEYS[1], 'probe')
redis.pcall('DEL', KEYS[1], KEYS[2], KEYS[3])
return denied`);
