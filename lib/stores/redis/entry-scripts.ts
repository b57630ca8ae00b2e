import { OF_QUEUE } from './keys.js';
import { HOUR_MS, leaseScript } from './script.js';

/*
 * How entries are kept, and written; entry-looks.ts reads them.
 *
 * Two keys exist only while a lock has entries, beside those of script.ts: a hash, and a sorted set of all entries by their places. Queued
 * calls have two such keys, and histories two others, so that neither looks through the other. A word is a JSON text without blanks, or
 * '-' for none.
 *
 *   <id>                  '<until, ms> <written, ms> <place> <version> <slot> <kind> <job> <body>': words but for the numbers and the body
 *   slot <slot>           the id of the entry that is in this slot
 *   count <kind>          how many entries of a kind there are
 *   count <kind> <job>    how many of these are for a job
 *   jobs <kind>           the jobs of which there were any, each with a blank before it
 *   newest                the greatest place that was drawn here
 *   earliest              no entry's time is over before this, ms
 *   lives                 until when both keys are kept, ms
 *
 * The sorted set has '<kind> <job> <id>' for each entry, so that a look finds those of a kind without reading the others.
 */

/** Lua: parse(stored): until, written, place, version, slot, kind and job of an entry; nil if there is none. */
export const PARSE = /* lua */ `
local function parse(stored)
  return string.match(stored or '', '^([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ')
end`;

/**
 * Lua: remove(entries, order, gone): deletes entries, each { id, slot, kind, job }, first from the sorted set: a server that is out of
 * memory refuses HSET and ZADD, but not after a ZREM or HDEL of the same script. A script that has nothing to delete removes '-' from the
 * sorted set, where nothing has that name.
 */
const REMOVE = /* lua */ `
local function remove(entries, order, gone)
  local members, fields, counts = {}, {}, {}
  for n = 1, #gone do
    local id, slot, kind, job = unpack(gone[n])
    local ofKind, ofJob = 'count ' .. kind, 'count ' .. kind .. ' ' .. job
    members[n] = kind .. ' ' .. job .. ' ' .. id
    fields[#fields + 1] = id
    if slot ~= '-' then fields[#fields + 1] = 'slot ' .. slot end
    counts[ofKind], counts[ofJob] = (counts[ofKind] or 0) + 1, (counts[ofJob] or 0) + 1
  end
  redis.call('ZREM', order, unpack(members))
  redis.call('HDEL', entries, unpack(fields))
  local isLast = false
  for field, count in pairs(counts) do
    local known = redis.call('HGET', entries, field)
    if known then redis.call('HSET', entries, field, known - count) end
    isLast = isLast or (known and known - count <= 0)
  end
  if isLast and #redis.call('ZRANGE', order, 0, 0) == 0 then redis.call('DEL', entries) end
end`;

/** Lua: clean(entries, order, now): deletes the entries whose time is over, a thousand at most. */
const CLEAN = /* lua */ `
local function clean(entries, order, now)
  local members, first, gone = redis.call('ZRANGE', order, 0, -1), nil, {}
  for n = 1, #members do
    local id = string.match(members[n], '([^ ]+)$')
    local ends, at, place, version, slot, kind, job = parse(redis.call('HGET', entries, id))
    if ends and tonumber(ends) <= now and #gone < 1000 then
      gone[#gone + 1] = { id, slot, kind, job }
    elseif ends then
      first = math.min(first or tonumber(ends), tonumber(ends))
    end
  end
  if #gone > 0 then remove(entries, order, gone) end
  if first then
    redis.call('ZREM', order, '-')
    redis.call('HSET', entries, 'earliest', string.format('%.3f', first))
  end
end`;

/**
 * Lua: lookAt(entries, id, slot, kind, job, most): reads what a write has to know: the entry, the id in the slot, and the fields `earliest`,
 * `lives`, `newest` and both counts. Entries of which there are `most` have no slots, and are not counted by their jobs.
 */
const LOOK = /* lua */ `
local function lookAt(entries, id, slot, kind, job, most)
  if most then
    local s = redis.call('HMGET', entries, id, 'earliest', 'lives', 'newest', 'count ' .. kind)
    return s[1], false, s[2], s[3], s[4], s[5], 0
  end
  local s = redis.call('HMGET', entries, id, 'earliest', 'lives', 'newest', 'count ' .. kind, 'slot ' .. slot,
    'count ' .. kind .. ' ' .. job)
  return s[1], s[6], s[2], s[3], s[4], s[5], s[7]
end`;

/** Lua: trim(entries, order, kind, count): deletes so many of the oldest entries of a kind, if they are among the first thousand. */
const TRIM = /* lua */ `
local function trim(entries, order, kind, count)
  local at, gone = 0, {}
  count = math.min(count, 1000)
  while #gone < count and at < 1000 do
    local found = redis.call('ZRANGE', order, at, at + count - 1)
    for n = 1, #found do
      local each, job, id = string.match(found[n], '^([^ ]+) ([^ ]+) ([^ ]+)$')
      if each == kind and #gone < count then gone[#gone + 1] = { id, '-', kind, job } end
    end
    at = #found < count and 1000 or at + count
  end
  if #gone > 0 then remove(entries, order, gone) end
end`;

/** Both keys live so much longer than they have to, ms: so most entries need not prolong them. */
const SPARE = HOUR_MS;

/**
 * Writes an entry over what it names.
 *
 * KEYS: entries, order
 * ARGV: id, over, version, kind, slot, job, keep, place, body, most?
 *
 * The first six are words. What it is written over are words, with blanks between them, '-' for none; or '*'. The place is '' for
 * that of the time. If there are a tenth more of its kind than `most`, which have no slots, the oldest of them go.
 *
 * Without the hash, a sorted set is left over from before the server lost that.
 *
 * Returns 1 if it was written, 2 if the lock had no entries before, or 0.
 */
export const PUT = leaseScript(
  /* lua */ `
local entries, order = KEYS[k + 1], KEYS[k + 2]
local id, over, version, kind, slot, job = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5]
local keep, place, body = ARGV[i + 6], ARGV[i + 7] or '', ARGV[i + 8] or ''
local most = width > 9 and tonumber(ARGV[i + 9])
local of = kind .. ' ' .. job
if not now then
  local t = redis.call('TIME')
  now, micros, moment, stamps = t[1] * 1000 + t[2] / 1000, t[1] * 1000000 + t[2], t[1] .. string.sub('00000' .. t[2], -6), {}
end
local stored, inSlot, earliest, lives, newest, count, ofJob = lookAt(entries, id, slot, kind, job, most)
if earliest and tonumber(earliest) <= now then
  clean(entries, order, now)
  stored, inSlot, earliest, lives, newest, count, ofJob = lookAt(entries, id, slot, kind, job, most)
end
local ends, at, seat, oldVersion, oldSlot, oldKind, oldJob = parse(stored)
local fits = over == '*' or (not ends and string.byte(over) == 45)
if not fits and not string.find(' ' .. over .. ' ', ' ' .. (oldVersion or '-') .. ' ', 1, true) then return 0 end
if inSlot and inSlot ~= id then return 0 end
local isNew = not ends or oldKind .. ' ' .. oldJob ~= of
if not isNew then
  redis.call('ZREM', order, '-')
  if oldSlot ~= slot and oldSlot ~= '-' then redis.call('HDEL', entries, 'slot ' .. oldSlot) end
elseif ends then
  remove(entries, order, { { id, oldSlot, oldKind, oldJob } })
  stored, inSlot, earliest, lives, newest, count, ofJob = lookAt(entries, id, slot, kind, job, most)
end
local till, facts = now + keep, {}
local function note(field, value) facts[#facts + 1], facts[#facts + 2] = field, value end
count = (count or 0) + (isNew and 1 or 0)
if isNew then note('count ' .. kind, count) end
if isNew and not most then note('count ' .. of, (ofJob or 0) + 1) end
if isNew and not ofJob then note('jobs ' .. kind, (redis.call('HGET', entries, 'jobs ' .. kind) or '') .. ' ' .. job) end
if place == '' then
  place = tonumber(newest or 0) < micros and moment or string.format('%.0f', newest + 1)
  note('newest', place)
end
if not earliest or tonumber(earliest) > till then note('earliest', string.format('%.3f', till)) end
local prolongs = not lives or tonumber(lives) < till
if prolongs then note('lives', string.format('%.0f', till + ${SPARE})) end
if slot ~= '-' then note('slot ' .. slot, id) end
stamps[keep] = stamps[keep] or string.format('%.3f %.3f ', till, now)
redis.call('HSET', entries, id, stamps[keep] .. place .. ' ' .. version .. ' ' .. slot .. ' ' .. of .. ' ' .. body, unpack(facts))
if not earliest then redis.call('DEL', order) end
redis.call('ZADD', order, place, of .. ' ' .. id)
if prolongs then
  redis.call('PEXPIRE', entries, math.ceil(keep) + ${SPARE})
  redis.call('PEXPIRE', order, math.ceil(keep) + ${SPARE})
end
if most and isNew and count > most * 1.1 then trim(entries, order, kind, count - most) end
return earliest and 1 or 2`,
  // The time, asked for and written as text once: of fifty entries in one run each asked cost a tenth more.
  ['\nlocal now, micros, moment, stamps', PARSE, REMOVE, CLEAN, LOOK, TRIM],
  OF_QUEUE,
);

/**
 * Deletes those of these entries that are as they were seen.
 *
 * KEYS: entries, order
 * ARGV: seen
 *
 * Of each entry, up to a thousand, its id and its version, words with blanks between them.
 *
 * Returns how many it has deleted.
 */
export const DROP = leaseScript(
  /* lua */ `
local entries, order = KEYS[k + 1], KEYS[k + 2]
local t, gone = redis.call('TIME'), {}
local now = t[1] * 1000 + t[2] / 1000
for id, version in string.gmatch(ARGV[i], '([^ ]+) ([^ ]+)') do
  local ends, at, place, found, slot, kind, job = parse(redis.call('HGET', entries, id))
  if found == version and tonumber(ends) > now then gone[#gone + 1] = { id, slot, kind, job } end
end
if #gone > 0 then remove(entries, order, gone) end
return #gone`,
  [PARSE, REMOVE],
  OF_QUEUE,
);
