import { asciiJson } from '../../base/wording.js';
import { type NewPause, type Pause, type PausedBy, withoutId } from '../../contract/pause.js';
import { PAUSING } from './acquire-script.js';
import { KEEP, leaseScript } from './script.js';

/**
 * Pauses a lock, unless it is paused.
 *
 * KEYS: lock, state
 * ARGV: id, length, by
 *
 * Returns the pause that is in force: '<until, epoch ms> <since> <id> <who and why, JSON>'.
 */
export const PAUSE = leaseScript(
  /* lua */ `
local s, t = redis.call('HMGET', state, 'paused', 'kept'), redis.call('TIME')
if pausing(s[1]) then return s[1] end
local now, length = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[i + 1])
local paused = string.format('%.0f %.0f ', now + length, now) .. ARGV[i] .. ' ' .. ARGV[i + 2]
redis.call('HSET', state, 'paused', paused)
keep(state, s[2], now, length, false, 0)
return paused`,
  [KEEP, PAUSING],
);

/**
 * Ends a pause.
 *
 * KEYS: lock, state
 * ARGV: id
 *
 * Returns 1, or 0 if this pause is not in force.
 */
export const RESUME = leaseScript(
  /* lua */ `
local paused = redis.call('HGET', state, 'paused')
if not pausing(paused) or string.match(paused, '^%d+ %d+ (%d+) ') ~= ARGV[i] then return 0 end
redis.call('HDEL', state, 'paused')
return 1`,
  [PAUSING],
);

export const pauseArguments = ({ id, length, actor, reason }: NewPause): string[] => [
  String(id),
  String(length),
  asciiJson({ actor, reason }),
];

/** A pause, as a lock has it; `undefined` if the text is none. */
export function readPause(text: string | undefined): Pause | undefined {
  const [, until, since, id, by] = /^(\d+) (\d+) (\d+) (\{.*\})$/s.exec(text ?? '') ?? [];
  if (by === undefined) return undefined;
  const { actor, reason } = JSON.parse(by) as Pick<Pause, 'actor' | 'reason'>;
  const why = reason === undefined ? undefined : { reason };
  return { actor, ...why, since: Number(since), until: Number(until), id: Number(id) };
}

/** A refusal's part of a pause. */
export function pausedBy(text: string): { readonly paused: PausedBy } | undefined {
  const pause = readPause(text);
  return pause && { paused: withoutId(pause) };
}
