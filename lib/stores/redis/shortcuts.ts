import { NO_WAITING } from './readiness.js';
import { runScript, valuesOf } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { isYes } from './replies.js';
import { script } from './script.js';

/** One command for many lock keys, which answers most calls at a fraction of the cost of their own script. */
export interface Shortcut {
  /**
   * @param args the arguments of each call; all have the same ttl
   * @returns an answer for each key
   */
  ask(
    connection: RedisConnection,
    keys: readonly string[],
    args: readonly (readonly string[])[],
  ): Promise<readonly unknown[]>;
  /** Turns the answer for the key of a call into the answer of the call's own script; `undefined`: that script has to run. */
  reply(answer: unknown, args: readonly string[]): unknown;
  /** From how many calls on it is worthwhile. */
  readonly least: number;
}

/**
 * Refuses attempts at locks that are taken, if nobody needs more than the reason. At the full hour every instance of a fleet tries
 * to take the locks of all its jobs, and nearly all attempts are refused.
 */
export const LOOK_FIRST: Shortcut = {
  ask: (connection, keys) => valuesOf(connection, keys, NO_WAITING),
  // As the script answers. The token that has the lock is granted it again.
  reply: (value, [token]) =>
    typeof value === 'string' && value !== token && !value.startsWith(`${token} `)
      ? [value.startsWith('ended:') ? 'cooling-down' : 'held', '', -2]
      : undefined,
  least: 2,
};

/**
 * Renews leases that have their locks. Looks at nothing else: see EXTEND for the others.
 *
 * KEYS: lock...
 * ARGV: ttl, lease...
 *
 * The ttl is in ms. A lease is what its lock holds: '<token> <fencing token>'.
 *
 * Returns a list, per lease: 1 renewed, 0 not.
 */
export const RENEW = script(/* lua */ `
local ttl, values = ARGV[1], redis.call('MGET', unpack(KEYS))
local renewed = {}
for n = 1, #KEYS do
  renewed[n] = values[n] == ARGV[n + 1] and redis.call('PEXPIRE', KEYS[n], ttl) or 0
end
return renewed`);

/** Renews leases that need nothing but a renewal. */
export const SHORT_RENEWAL: Shortcut = {
  ask: async (connection, keys, args) => {
    const [[, ttl = ''] = []] = args;
    const leases = args.map(([token, , fence]) => `${token} ${fence}`);
    return (await runScript(
      connection,
      RENEW,
      keys.length,
      [...keys, ttl, ...leases],
      NO_WAITING,
    )) as unknown[];
  },
  reply: (renewed) => (isYes(renewed) ? 1 : undefined),
  least: 1,
};
