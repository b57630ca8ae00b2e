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

/** The keys for which to give the rights. */
export interface AclOptions {
  readonly user?: string | undefined;
  /** The store's `keyPrefix`. */
  readonly keyPrefix?: string | undefined;
  /** The client's own `keyPrefix`. */
  readonly clientPrefix?: string | undefined;
  /** Whether the option `key` makes the keys of the locks: which ones is not known. */
  readonly ownKeys?: boolean | undefined;
}

/** The keys of locks, and what is beside them. */
function aclKeys({
  keyPrefix = DEFAULT_KEY_PREFIX,
  clientPrefix = '',
  ownKeys = false,
}: AclOptions): string[] {
  const keys = `${pattern(clientPrefix + keyPrefix)}:*`;
  const own = ownKeys ? ['~<your keys>', '~{<your keys>'] : [];
  // Where the key of a lock has no hash tag, the others have one around it.
  const beside = hashTag(clientPrefix + keyPrefix) === undefined ? [`~{${keys}`] : [];
  return [...own, `~${keys}`, ...beside];
}

/** All rights that an application may need, as one command. */
export function aclCommand(options: AclOptions, more: readonly string[] = []): string {
  const { user = '<user>', keyPrefix = DEFAULT_KEY_PREFIX } = options;
  // For hints to calls in line.
  const channels = `&${pattern(keyPrefix)}:wake:*`;
  const all = [...aclKeys(options), channels, ...ACL_LOCKS, ...ACL_MORE];
  return ['ACL SETUSER', user, ...more, ...all].join(' ');
}

/** All rights that an application may need, for a new user, with what each part is for. */
export function aclText(options: AclOptions): string {
  return [
    '# Run the last line in redis-cli, with a password instead of <password>. It has the rights for all that there is.',
    `# For locks alone: ${[...ACL_LOCKS, ...aclKeys(options)].join(' ')}`,
    '# Add +cluster|slots on a Cluster, +select for a database with a number, and the keys that the option `key` makes.',
    '# Redis 6.0 has no rights for channels: leave out resetchannels, and what begins with &.',
    aclCommand(options, ['on', '><password>', 'resetchannels']),
  ].join('\n');
}

/** A text in a pattern. No pattern can hold a blank, so any character may stand there. */
const pattern = (text: string): string => text.replaceAll(/[\\*?[\]]/g, '\\$&').replaceAll(/\s/g, '?');
