/*
 * What the scripts have in common
 *
 * Each lock has two keys. The lock key is a plain string that holds the token, so that every client which follows
 * the recipe of https://redis.io/docs/latest/commands/set/ ("Patterns": SET NX PX, compare and delete) excludes us
 * and is excluded; or, where it is to stay taken after its lease, 'ended:' and the token. The state key is a hash with
 * what a plain string cannot hold; it always names the newest lease:
 *
 *   token    of the newest lease          fence   its fencing token        holder  its instance id
 *   since    when it was granted, s, or '' once it was given back: no field of its own, as each lease writes this one
 *   kept     until when the hash is kept, ms
 *   job:<job>  what is known of a job's last start: '<tick> <attempt> <outcome> <schedule>', outcome '-' until it has
 *            ended, or 'next <ms> <interval>'
 *   start    the newest start that was recorded: '<token> <attempt> job:<job>'
 *   undo     what it has overwritten there, to be taken back if nothing ran
 *
 * Fields that a script does not know are kept. What can fail (on a key of the wrong type, say) comes before the first
 * write: a script that fails has changed nothing. Times are those of the server (TIME).
 *
 * Every redis.call() and every field of a hash is a part of each run's cost: nothing is read or written that can be
 * done without.
 */

export const HOUR_MS = 3_600_000;
/** How long the state outlives the lease: a day, so that fencing tokens and holders stay known overnight. */
const STATE_RETENTION_MS = 24 * HOUR_MS;
/** The same once a tick was recorded: 400 days, so that a yearly job still knows its last run. */
const TICK_RETENTION_MS = 400 * 24 * HOUR_MS;
/**
 * How much longer the state is kept than it has to be, so that most leases need not prolong it. What the first lease of
 * an hour has added is enough for those that follow within it, and last an hour more at most.
 */
export const RETENTION_SLACK_MS = 2 * HOUR_MS;

/**
 * Lua: has the state outlive a lease of `ttl` from `now` on, and by `spare` ms more if it has to be prolonged at all;
 * `kept` says until when it is kept as it is.
 */
export const KEEP = /* lua */ `
local last = now + ttl + (ticks and ${TICK_RETENTION_MS} or ${STATE_RETENTION_MS})
if last + spare > (tonumber(kept or 0) or 0) then
  redis.call('HSET', state, 'kept', string.format('%.0f', last + ${RETENTION_SLACK_MS}))
  redis.call('PEXPIRE', state, string.format('%.0f', last + ${RETENTION_SLACK_MS} - now))
end`;
