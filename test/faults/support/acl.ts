/**
 * All that the Redis user of an application needs, as `ACL SETUSER` takes it. `+info` is for ioredis, which asks a
 * server whether it is ready and who is master; AUTH and HELLO need no permission. docs/redis.md lists the same.
 */
export const ACL_COMMANDS = [
  '+evalsha',
  '+eval',
  '+get',
  '+mget',
  '+set',
  '+del',
  '+pexpire',
  '+pttl',
  '+hget',
  '+hmget',
  '+hset',
  '+time',
  '+info',
] as const;

/** What calls that wait need besides, and the channels on which they are called. docs/redis.md lists the same. */
export const ACL_WAIT = '+hdel +zadd +zrange +zrem +zrank +zscore +publish +subscribe +unsubscribe'.split(
  ' ',
);
export const ACL_CHANNELS = '&scheduler:wake:*';

/** What histories need besides. docs/redis.md lists the same. */
export const ACL_HISTORY = ['+xadd', '+xrevrange', '+zadd', '+zrange', '+zrem', '+hdel'] as const;

/** What `inspect()` needs besides. docs/redis.md lists the same. */
export const ACL_INSPECT = ['+scan', '+hgetall'] as const;

/** For the default `keyPrefix`: locks, and the state beside each. */
export const ACL_KEYS = ['~scheduler:*', '~{scheduler:*'] as const;
