import { SchedulerLockConfigError } from '../../errors.js';

/** The part of a key that decides its Cluster slot: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags */
export function hashTag(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : undefined;
}

/**
 * The Redis key of a lock.
 *
 * @param key makes the key; often a function of the user
 * @throws SchedulerLockConfigError if `key` fails, or returns no key
 */
export function lockKey(name: string, key: (name: string) => unknown): string {
  let made: unknown;
  try {
    made = key(name);
  } catch (cause) {
    throw new SchedulerLockConfigError([`key: it failed for the lock "${name}": ${String(cause)}`], {
      cause,
    });
  }
  if (typeof made === 'string' && made !== '') return made;
  throw new SchedulerLockConfigError([
    `key: it gave ${made === '' ? "''" : String(made)} for the lock "${name}". Give a text that is not empty.`,
  ]);
}

const STATE = ':state';

/**
 * Whether a key, prefix included, is or could be the key of a state. Then no lock can have it, even if the lock of that state does
 * not exist. All state keys have a hash tag: that of the lock key, or one around it.
 */
export function isStateKey(stored: string): boolean {
  return stored.endsWith(STATE) && hashTag(stored) !== undefined;
}

/**
 * The key of a lock's state. Both keys share a Cluster slot, also with the client's own `keyPrefix` (which the client puts before
 * every key).
 *
 * @throws SchedulerLockConfigError if the lock key is a state key, or if no state key can share a slot with it
 */
export function stateKey(lockKey: string, clientPrefix: string): string {
  const stored = clientPrefix + lockKey;
  if (isStateKey(stored)) {
    throw new SchedulerLockConfigError([
      `the Redis key "${stored}" is where the state of a lock with the key "${stored.slice(0, -STATE.length)}" is kept. ` +
        'Let `key` end in another way, such as with ":lock", or change the name.',
    ]);
  }
  if (hashTag(stored) !== undefined) return lockKey + STATE;
  // A brace outside of a tag would end, or begin, the tag that goes around the key.
  if (stored.includes('}') || clientPrefix.includes('{')) {
    throw new SchedulerLockConfigError([
      `the Redis key "${stored}" holds a brace that makes no hash tag, so its state cannot be kept in the same ` +
        'Cluster slot. Change `key` or `keyPrefix`: either no braces, or one tag such as "{app}:locks".',
    ]);
  }
  return `{${stored}}${STATE}`;
}
