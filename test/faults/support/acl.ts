/*
 * What the Redis user of an application needs, as docs/stores/redis.md lists it, for the default `keyPrefix`.
 */

export { ACL_LOCKS as ACL_COMMANDS, ACL_MORE } from '../../../lib/stores/redis/acl.js';

export const ACL_CHANNELS = '&scheduler:wake:*';
/** Locks, and the state beside each. */
export const ACL_KEYS = ['~scheduler:*', '~{scheduler:*'] as const;
/** What entries need, of queued calls or histories. */
export const ACL_ENTRIES = ['+hdel', '+zadd', '+zrange', '+zrem', '+zscore'] as const;
