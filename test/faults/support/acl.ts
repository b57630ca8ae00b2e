/*
 * What the Redis user of an application needs, as docs/stores/redis.md lists it, for the default `keyPrefix`.
 */

export { ACL_COMMANDS } from '../../../lib/stores/redis/acl.js';

export const ACL_CHANNELS = '&scheduler:wake:*';
/** Locks, and the state beside each. */
export const ACL_KEYS = ['~scheduler:*', '~{scheduler:*'] as const;
