import { SchedulerLockConfigError } from '../../base/errors.js';
import type { RedisConnectionOptions } from './connection-options.js';

/**
 * The options of a client of node-redis that only this library uses. It queues nothing.
 *
 * @param target a URL, or options of ioredis for one server: these have a counterpart
 * @throws SchedulerLockConfigError for an option that node-redis does not have
 */
export function nodeRedisOptions(target: string | RedisConnectionOptions, connectTimeout: number): object {
  const socket = {
    connectTimeout,
    reconnectStrategy: (retries: number) =>
      Math.min(50 * 2 ** Math.min(retries, 10), 1_000) + Math.random() * 50,
  };
  const own = { disableOfflineQueue: true, disableClientInfo: true };
  if (typeof target === 'string') {
    const path = URL.canParse(target) ? undefined : target.replace(/\?.*$/, '');
    return path === undefined ? { ...own, url: target, socket } : { ...own, socket: { ...socket, path } };
  }
  const { host = 'localhost', port = 6379, path, family, tls, db, ...more } = target;
  const { username, password, connectionName, ...rest } = more;
  const [other] = Object.entries(rest).find(([, value]) => value !== undefined && value !== null) ?? [];
  if (other !== undefined) {
    throw new SchedulerLockConfigError([
      `connection.${other}: node-redis has no option of this name. If ioredis has it, run: npm install ioredis; otherwise give a client of node-redis.`,
    ]);
  }
  return {
    ...own,
    ...given({ username, password, name: connectionName, database: Number(db ?? 0) }),
    socket: {
      ...socket,
      ...(path ? { path } : { host, port: Number(port), ...given({ family }) }),
      ...(tls ? { ...tls, tls: true } : undefined),
    },
  };
}

/** The options that have a value: node-redis does not treat `undefined` or `null` as its default everywhere. */
const given = (options: object): object =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value));
