import { DEFAULT_KEY_PREFIX, hashTag } from './keys.js';

/**
 * The rights of the Redis user of an application, as ACL SETUSER takes them. AUTH and HELLO need none. `+info` is for ioredis, which asks a
 * server whether it is ready and who is master.
 */
export const ACL_COMMANDS: readonly string[] = (
  '+evalsha +eval +get +mget +set +del +pexpire +pttl +hget +hmget +hset +hdel +hgetall +zadd +zrange +zrem +zrank +zscore +time +info ' +
  '+scan +publish +subscribe +unsubscribe'
).split(' ');

/** What every error about a missing right ends with. */
export const RIGHTS =
  '`npx nestjs-scheduler-lock acl` prints the rights that the user needs (docs/stores/redis.md).';

/** The keys for which to give the rights. */
export interface AclOptions {
  readonly user?: string | undefined;
  /** The store's `keyPrefix`. */
  readonly keyPrefix?: string | undefined;
}

/** All rights of an application, for a new user. */
export function aclText({ user = '<user>', keyPrefix = DEFAULT_KEY_PREFIX }: AclOptions): string {
  const prefix = pattern(keyPrefix);
  // Where the key of a lock has no hash tag, the others have one around it.
  const keys = [`~${prefix}:*`, ...(hashTag(keyPrefix) === undefined ? [`~{${prefix}:*`] : [])];
  // The channels are for hints to calls in line.
  const all = [...keys, `&${prefix}:wake:*`, ...ACL_COMMANDS];
  return [
    '# Run the last line in redis-cli, with a password instead of <password>.',
    '# Add +cluster|slots on a Cluster, +select for a database with a number, and the keys that the option `key` makes.',
    '# Redis 6.0 has no rights for channels: leave out resetchannels, and what begins with &.',
    ['ACL SETUSER', user, 'on ><password> resetchannels', ...all].join(' '),
  ].join('\n');
}

/** A text in a pattern. No pattern can hold a blank, so any character may stand there. */
const pattern = (text: string): string => text.replaceAll(/[\\*?[\]]/g, '\\$&').replaceAll(/\s/g, '?');
