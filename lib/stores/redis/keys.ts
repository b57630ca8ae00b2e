import { SchedulerLockConfigError } from '../../errors.js';

/** The part of a key that decides its Cluster slot: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags */
export function hashTag(key: string): string | undefined {
  const open = key.indexOf('{');
  const close = open < 0 ? -1 : key.indexOf('}', open + 1);
  return close > open + 1 ? key.slice(open + 1, close) : undefined;
}

/**
 * The key of a lock's state, such that both share a Cluster slot, also under the client's own `keyPrefix` (which
 * the client puts before every key it is given).
 *
 * @throws SchedulerLockConfigError for a lock key that no state key can share a slot with
 */
export function stateKey(lockKey: string, clientPrefix: string): string {
  const stored = clientPrefix + lockKey;
  if (hashTag(stored) !== undefined) return `${lockKey}:state`;
  // A brace that is no part of a tag would end, or begin, the one that is put around the key.
  if (stored.includes('}') || clientPrefix.includes('{')) {
    throw new SchedulerLockConfigError([
      `the Redis key "${stored}" holds a brace that makes no hash tag, so its state cannot be kept in the same ` +
        'Cluster slot. Change `key` or `keyPrefix`: either no braces, or one tag such as "{app}:locks".',
    ]);
  }
  return `{${stored}}:state`;
}
