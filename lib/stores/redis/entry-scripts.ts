import { OF_ENTRIES } from './keys.js';
import { TRY } from './probe.js';
import { HOUR_MS, leaseScript, script } from './script.js';

/*
 * How entries are kept, and written; entry-looks.ts reads them.
 *
 * Two keys exist only while a lock has entries, beside those of script.ts: a hash, and a sorted set of all entries by their places. A word is
 * a JSON text without blanks, or '-' for none.
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

/**
 * Lua: reads an entry.
 *
 * needs: stored
 * leaves: ends, oldVersion, oldSlot, oldKind, oldJob
 */
const READ = /* lua */ `
local ends, at, seat, oldVersion, oldSlot, oldKind, oldJob = string.match(
  stored or '', '^([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ')`;

/**
 * Lua: deletes an entry, first from the sorted set: a server that is out of memory refuses HSET and ZADD, but not after a ZREM or HDEL of
 * the same script. A script that has nothing to delete removes '-' from the sorted set, where nothing has that name.
 *
 * needs: entries, order, id, oldSlot, oldKind, oldJob
 * leaves: -
 */
const REMOVE = /* lua */ `
redis.call('ZREM', order, oldKind .. ' ' .. oldJob .. ' ' .. id)
redis.call('HDEL', entries, id, 'slot ' .. oldSlot)
local ofKind, ofJob = 'count ' .. oldKind, 'count ' .. oldKind .. ' ' .. oldJob
local counts = redis.call('HMGET', entries, ofKind, ofJob)
redis.call('HSET', entries, ofKind, counts[1] - 1, ofJob, counts[2] - 1)
if counts[1] == '1' and #redis.call('ZRANGE', order, 0, 0) == 0 then redis.call('DEL', entries) end`;

/**
 * Lua: deletes the entries whose time is over.
 *
 * needs: entries, order, now
 * leaves: -
 */
const CLEAN = /* lua */ `
local members, first = redis.call('ZRANGE', order, 0, -1), nil
for n = 1, #members do
  local id = string.match(members[n], '([^ ]+)$')
  local stored = redis.call('HGET', entries, id)${READ}
  if ends and tonumber(ends) > now then
    first = math.min(first or tonumber(ends), tonumber(ends))
  elseif ends then${REMOVE}
  end
end
if first then
  redis.call('ZREM', order, '-')
  redis.call('HSET', entries, 'earliest', string.format('%.3f', first))
end`;

/**
 * Lua: reads what a write has to know.
 *
 * needs: entries, id, slot, kind, of
 * leaves: s
 */
const LOOK = /* lua */ `
s = redis.call('HMGET', entries, id, 'slot ' .. slot, 'earliest', 'lives', 'newest', 'count ' .. kind, 'count ' .. of)`;

/** Both keys live so much longer than they have to, ms: so most entries need not prolong them. */
const SPARE = HOUR_MS;

/**
 * Writes an entry over what it names.
 *
 * KEYS: entries, order
 * ARGV: id, over, version, kind, slot, job, keep, place, body
 *
 * All but the last three are words. What it is written over are words, with blanks between them, '-' for none; or '*'. The place is '' for
 * that of the time.
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
local t, of, s = redis.call('TIME'), kind .. ' ' .. job, nil
local now = t[1] * 1000 + t[2] / 1000${LOOK}
if s[3] and tonumber(s[3]) <= now then${CLEAN}${LOOK}
end
local stored = s[1]${READ}
if over ~= '*' and not string.find(' ' .. over .. ' ', ' ' .. (oldVersion or '-') .. ' ', 1, true) then return 0 end
if slot ~= '-' and s[2] and s[2] ~= id then return 0 end
local till, facts = now + keep, {}
if ends and oldKind .. ' ' .. oldJob == of then
  redis.call('ZREM', order, '-')
  if oldSlot ~= slot and oldSlot ~= '-' then redis.call('HDEL', entries, 'slot ' .. oldSlot) end
else
  if ends then${REMOVE}${LOOK}
  end
  facts = { 'count ' .. kind, (s[6] or 0) + 1, 'count ' .. of, (s[7] or 0) + 1 }
  if not s[7] then
    facts[5], facts[6] = 'jobs ' .. kind, (redis.call('HGET', entries, 'jobs ' .. kind) or '') .. ' ' .. job
  end
end
if place == '' then
  place = string.format('%.0f', math.max(t[1] * 1000000 + t[2], (s[5] or 0) + 1))
  facts[#facts + 1], facts[#facts + 2] = 'newest', place
end
if not s[3] or tonumber(s[3]) > till then
  facts[#facts + 1], facts[#facts + 2] = 'earliest', string.format('%.3f', till)
end
local prolongs = not s[4] or tonumber(s[4]) < till
if prolongs then facts[#facts + 1], facts[#facts + 2] = 'lives', string.format('%.0f', till + ${SPARE}) end
if slot ~= '-' then facts[#facts + 1], facts[#facts + 2] = 'slot ' .. slot, id end
redis.call('HSET', entries, id,
  string.format('%.3f %.3f %s %s %s %s ', till, now, place, version, slot, of) .. body, unpack(facts))
if not s[3] then redis.call('DEL', order) end
redis.call('ZADD', order, place, of .. ' ' .. id)
if prolongs then
  redis.call('PEXPIRE', entries, math.ceil(keep) + ${SPARE})
  redis.call('PEXPIRE', order, math.ceil(keep) + ${SPARE})
end
return s[3] and 1 or 2`,
  OF_ENTRIES,
);

/**
 * Deletes an entry that is as it was seen.
 *
 * KEYS: entries, order
 * ARGV: id, version
 *
 * Both are words.
 *
 * Returns 1 if it was deleted, or 0.
 */
export const DROP = leaseScript(
  /* lua */ `
local entries, order = KEYS[k + 1], KEYS[k + 2]
local id, version = ARGV[i], ARGV[i + 1]
local stored = redis.call('HGET', entries, id)${READ}
if oldVersion ~= version then return 0 end
local t = redis.call('TIME')
if tonumber(ends) <= t[1] * 1000 + t[2] / 1000 then return 0 end${REMOVE}
return 1`,
  OF_ENTRIES,
);

/**
 * Tries what these scripts, and those of entry-looks.ts and queued-index.ts, need besides locks, on unused keys, and leaves nothing there.
 *
 * KEYS: entries, order
 * ARGV: -
 *
 * Returns the commands that the user may not run. Ignores any other failure.
 */
export const PROBE_ENTRIES = script(/* lua */ `${TRY}
try('HDEL', KEYS[1], 'probe')
try('ZADD', KEYS[2], 1, 'probe')
try('ZRANGE', KEYS[2], 0, 0)
try('ZREM', KEYS[2], 'probe')
try('ZSCORE', KEYS[2], 'probe')
redis.pcall('DEL', KEYS[1], KEYS[2])
return denied`);
