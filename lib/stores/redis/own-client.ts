import type { Clock } from '../../base/clock.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import type { RedisClient, RedisConnectionOptions } from './connection-options.js';
import { loadDriver } from './driver.js';
import type { SubscribingClient } from './hints.js';
import { NodeRedis } from './node-redis.js';

/** A client that this library creates. */
export type OwnRedisClient = RedisClient & SubscribingClient;

/** How long one try to connect may take, ms. */
const CONNECT_LIMIT = 5_000;

/** How long a server may take to close its side of a connection, ms. After that, the client closes it alone. */
const DISCONNECT_LIMIT = 100;

const NEEDS_IOREDIS =
  'connection: options are those of ioredis, which could not be loaded. Run: npm install ioredis, or give a URL or a client of node-redis.';

/** The pause before a client tries to connect again. @param tries how many there have been since the first */
const pause = (tries: number): number => Math.min(50 * 2 ** Math.min(tries, 10), 1_000) + Math.random() * 50;

/** The options of a client of node-redis that only this library uses. It queues nothing. @param target a URL, or a path of a Unix socket */
export function nodeRedisOptions(target: string): object {
  const socket = { connectTimeout: CONNECT_LIMIT, reconnectStrategy: pause };
  const own = { disableOfflineQueue: true, disableClientInfo: true };
  return URL.canParse(target)
    ? { ...own, url: target, socket }
    : { ...own, socket: { ...socket, path: target.replace(/\?.*$/, '') } };
}

/**
 * A client of ioredis, or of node-redis if ioredis is not there: then `connect()` connects it.
 *
 * @throws SchedulerLockConfigError if neither driver can be loaded that can be used for the target
 */
export async function createClient(
  clock: Clock,
  target: string | RedisConnectionOptions,
  more: object = {},
): Promise<OwnRedisClient> {
  const driver = await loadDriver<OwnRedisClient>();
  if ('createClient' in driver) {
    if (typeof target !== 'string') throw new SchedulerLockConfigError([NEEDS_IOREDIS]);
    return new NodeRedis(driver.createClient(nodeRedisOptions(target)), true, clock);
  }
  const { Redis } = driver;
  // Fail fast: no command waits in a queue, and no command is sent twice.
  const options = {
    connectTimeout: CONNECT_LIMIT,
    retryStrategy: (times: number) => pause(times - 1),
    // A right that cannot be given before Redis 7.2, and of which later servers log that it is missing.
    disableClientInfo: true,
    ...(typeof target === 'string' ? undefined : target),
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    enableAutoPipelining: false,
    lazyConnect: false,
    disconnectTimeout: DISCONNECT_LIMIT,
    ...more,
  };
  const client = typeof target === 'string' ? new Redis(target, options) : new Redis(options);
  // Without a listener ioredis prints every failed attempt. The caller of a command gets the relevant errors anyway.
  client.on('error', () => undefined);
  return client;
}

/** Resolves when the client no longer keeps the process alive. */
export async function closeClient(clock: Clock, client: OwnRedisClient): Promise<void> {
  if (client instanceof NodeRedis) return client.disconnect();
  const ended = new Promise<void>((resolve) => client.on('end', () => resolve()));
  const connected = client.status === 'ready' || client.status === 'connect';
  client.disconnect();
  // A live connection ends with an event. Otherwise there is no event, but a timer of ioredis keeps the process alive.
  if (connected) return ended;
  await new Promise<void>((resolve) => clock.setTimer(resolve, DISCONNECT_LIMIT + 10, { keepAlive: true }));
}
