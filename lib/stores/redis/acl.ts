import { DEFAULT_KEY_PREFIX, hashTag } from './keys.js';

/*
 * The rights of the Redis user of an application, as ACL SETUSER takes them. AUTH and HELLO need none.
 */

/** `+info` is for ioredis, which asks a server whether it is ready and who is master. */
export const ACL_LOCKS: readonly string[] =
  '+evalsha +eval +get +mget +set +del +pexpire +pttl +hget +hmget +hset +time +info'.split(' ');
/** For all that there is besides: calls that wait, or are queued, histories, and `inspect()`. */
export const ACL_MORE: readonly string[] =
  '+hdel +zadd +zrange +zrem +zrank +zscore +publish +subscribe +unsubscribe +hgetall +scan'.split(' ');

/** What every error about a missing right ends with. */
export const RIGHTS =
  '`npx nestjs-scheduler-lock acl` prints the rights that the user needs (docs/stores/redis.md).';

/** The keys for which to give the rights. */
export interface AclOptions {
  readonly user?: string | undefined;
  /** The store's `keyPrefix`. */
  readonly keyPrefix?: string | undefined;
}

/** All rights that an application may need, for a new user, with what each part is for. */
export function aclText({ user = '<user>', keyPrefix = DEFAULT_KEY_PREFIX }: AclOptions): string {
  const prefix = pattern(keyPrefix);
  // Where the key of a lock has no hash tag, the others have one around it.
  const keys = [`~${prefix}:*`, ...(hashTag(keyPrefix) === undefined ? [`~{${prefix}:*`] : [])];
  // The channels are for hints to calls in line.
  const all = [...keys, `&${prefix}:wake:*`, ...ACL_LOCKS, ...ACL_MORE];
  return [
    '# Run the last line in redis-cli, with a password instead of <password>. It has the rights for all that there is.',
    `# For locks alone: ${[...ACL_LOCKS, ...keys].join(' ')}`,
    '# Add +cluster|slots on a Cluster, +select for a database with a number, and the keys that the option `key` makes.',
    '# Redis 6.0 has no rights for channels: leave out resetchannels, and what begins with &.',
    ['ACL SETUSER', user, 'on ><password> resetchannels', ...all].join(' '),
  ].join('\n');
}

/** A text in a pattern. No pattern can hold a blank, so any character may stand there. */
const pattern = (text: string): string => text.replaceAll(/[\\*?[\]]/g, '\\$&').replaceAll(/\s/g, '?');
