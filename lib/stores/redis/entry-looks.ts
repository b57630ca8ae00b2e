import { OF_QUEUE } from './keys.js';
import { leaseScript } from './script.js';

// Looks at entries, which change nothing: see entry-scripts.ts for what the keys hold.

/** How many entries one look goes through at most, which blocks Redis for a millisecond or less. The next look goes on behind them. */
export const LOOKED_AT_ONCE = 1_000;
/** After so many bytes a look ends, too: the dates of an instance with 500 jobs are 14 kB. */
const BYTES = 250_000;

/**
 * Reads entries in the order of their places.
 *
 * KEYS: entries, order
 * ARGV: from, most, newest, before, bare, kinds, jobs, skip
 *
 * It begins behind so many entries, and answers so many at most. The third and fifth are '1' or ''; `before` is a place or ''. Kinds and jobs
 * are words with blanks before, between and behind them, or '*'. Steps that double lead the newest past those that are not before. The first
 * ones that fit, so many, are left out: if the time of none is over, without a look at them.
 *
 * Returns the time, ms; how many entries it has gone through, '' if these were all; how many are still to be left out; and of each entry
 * the id and what is stored.
 */
export const LIST = leaseScript(
  /* lua */ `
local entries, order = KEYS[k + 1], KEYS[k + 2]
local from, most, newest, before, bare = tonumber(ARGV[i]), tonumber(ARGV[i + 1]), ARGV[i + 2], tonumber(ARGV[i + 3]), ARGV[i + 4]
local kinds, jobs, skip = ARGV[i + 5], ARGV[i + 6], tonumber(ARGV[i + 7])
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local passes = skip > 0 and tonumber(redis.call('HGET', entries, 'earliest') or 0) > now
local step = before and newest ~= '' and 1 or 0
while step > 0 do
  local score = redis.call('ZRANGE', order, -from - step, -from - step, 'WITHSCORES')[2]
  local isBehind = score and tonumber(score) >= before
  if isBehind then from = from + step end
  step = isBehind and step * 2 or math.floor(step / 2)
end
local bytes, all, seen, size, done = 0, { string.format('%.3f', now), '', 0 }, from, math.min(most + skip, skip > 0 and 100 or 8), false
local ofKinds = kinds == '*' and math.huge or 0
for kind in string.gmatch(kinds == '*' and '' or kinds, '[^ ]+') do
  ofKinds = ofKinds + (redis.call('HGET', entries, 'count ' .. kind) or 0)
end
done = ofKinds == 0
while not done and seen - from < ${LOOKED_AT_ONCE} do
  local first, last = seen, seen + size - 1
  if newest ~= '' then first, last = -last - 1, -first - 1 end
  -- Scores are dear to read.
  local found = before and redis.call('ZRANGE', order, first, last, 'WITHSCORES') or redis.call('ZRANGE', order, first, last)
  local width = before and 2 or 1
  local count = #found / width
  for step = 1, count do
    local n = (newest ~= '' and count - step or step - 1) * width
    local kind, job, id = string.match(found[n + 1], '^([^ ]+) ([^ ]+) ([^ ]+)$')
    local isOfKind = kinds == '*' or string.find(kinds, ' ' .. kind .. ' ', 1, true)
    if isOfKind then ofKinds = ofKinds - 1 end
    local fits = isOfKind and (jobs == '*' or string.find(jobs, ' ' .. job .. ' ', 1, true))
      and (not before or tonumber(found[n + 2]) < before)
    local isPassed = fits and passes and skip > 0
    local stored = fits and not isPassed and redis.call('HGET', entries, id)
    local isThere = stored and tonumber(string.match(stored, '^[^ ]+')) > now
    if isPassed or (isThere and skip > 0) then
      skip = skip - 1
    elseif isThere then
      all[#all + 1] = id
      all[#all + 1] = bare == '' and stored or string.match(stored, '^[^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ [^ ]+ ')
      bytes = bytes + #all[#all]
      if #all == 2 * most + 3 then return all end
      if bytes > ${BYTES} then
        all[2], all[3] = tostring(seen + step), skip
        return all
      end
    end
  end
  seen, done, size = seen + count, count < size or ofKinds <= 0, 100
end
if not done then all[2], all[3] = tostring(seen), skip end
return all`,
  [],
  OF_QUEUE,
);

/** A list of the entries of one lock alone: it may have to go through many. */
export const WALK = { ...LIST, most: 1 };

/**
 * Reads entries by their ids, or by what is in slots.
 *
 * KEYS: entries
 * ARGV: fields
 *
 * The ids are words, a slot is 'slot' and a word behind it. Line feeds are between them.
 *
 * Returns the same as LIST, in any order.
 */
export const FIND = leaseScript(
  /* lua */ `
local entries = KEYS[k + 1]
local t = redis.call('TIME')
local all = { string.format('%.3f', t[1] * 1000 + t[2] / 1000), '', 0 }
for field in string.gmatch(ARGV[i], '[^\\n]+') do
  local id = string.sub(field, 1, 5) == 'slot ' and redis.call('HGET', entries, field) or field
  local stored = redis.call('HGET', entries, id)
  if stored then
    all[#all + 1] = id
    all[#all + 1] = stored
  end
end
return all`,
  [],
  OF_QUEUE,
);

/** How many locks one command counts, and how many entries of a lock it goes through: less than a millisecond. */
const [COUNTED_AT_ONCE, LOOKED_AT] = [10, 100];

/**
 * Counts the entries of kinds.
 *
 * KEYS: entries, order
 * ARGV: kinds, byJob
 *
 * The kinds are words with blanks before, between and behind them. If byJob is not '', they are counted by their jobs, too.
 *
 * Returns 1, and of each kind that there is the kind, how many there are, place and job of the first, and, if asked, each job and how many are
 * for it, with blanks between; 0 if there are none; 2 if only a list can tell: the time of some may be over, or many others stand before the
 * first.
 */
export const SUM = leaseScript(
  /* lua */ `
local entries, order = KEYS[k + 1], KEYS[k + 2]
local kinds, byJob = ARGV[i], ARGV[i + 1] ~= ''
local all, counts, missing = { 1 }, {}, 0
for kind in string.gmatch(kinds, '[^ ]+') do
  local count = redis.call('HGET', entries, 'count ' .. kind)
  if count and count ~= '0' then
    counts[kind] = count
    missing = missing + 1
  end
end
if missing == 0 then return { 0 } end
local t = redis.call('TIME')
if tonumber(redis.call('HGET', entries, 'earliest') or 0) <= t[1] * 1000 + t[2] / 1000 then return { 2 } end
local at, size = 0, 8
while missing > 0 do
  if at >= ${LOOKED_AT} then return { 2 } end
  local found = redis.call('ZRANGE', order, at, at + size - 1, 'WITHSCORES')
  for n = 1, #found, 2 do
    local kind, job = string.match(found[n], '^([^ ]+) ([^ ]+) ')
    if counts[kind] then
      local jobs = {}
      for each in string.gmatch(byJob and redis.call('HGET', entries, 'jobs ' .. kind) or '', '[^ ]+') do
        local count = redis.call('HGET', entries, 'count ' .. kind .. ' ' .. each)
        if count ~= '0' then jobs[#jobs + 1] = each .. ' ' .. count end
      end
      all[#all + 1], all[#all + 2], all[#all + 3] = kind, counts[kind], found[n + 1]
      all[#all + 1], all[#all + 2] = job, table.concat(jobs, ' ')
      counts[kind] = nil
      missing = missing - 1
    end
  end
  if #found < 2 * size then break end
  at, size = at + size, 100
end
return all`,
  [],
  OF_QUEUE,
  COUNTED_AT_ONCE,
);
