import { Redis } from 'ioredis';
import type { Script } from '../../../lib/stores/redis/script.js';
import { EXTEND } from '../../../lib/stores/redis/extend-script.js';
import { RELEASE } from '../../../lib/stores/redis/release-script.js';
import { ACQUIRE } from '../../../lib/stores/redis/acquire-script.js';
import { RENEW } from '../../../lib/stores/redis/shortcuts.js';
import type { LocalRedis } from '../../support/local-redis.js';

/** The key of a lock under the default prefix, and the one of its state: documented, so not asked of the library. */
export const lockKey = (name: string): string => `scheduler:${name}:lock`;
export const stateKey = (name: string): string => `{${lockKey(name)}}:state`;

/** What the server keeps for a lock, looked at past the library. */
export async function look(server: LocalRedis, name: string) {
  const [token, since, fence] = await Promise.all([
    server.command('GET', lockKey(name)),
    ...['since', 'fence'].map((field) => server.command('HGET', stateKey(name), field)),
  ]);
  return { token, ended: since === '', fence: Number(fence) };
}

/**
 * When the lock expires unless it is renewed, epoch milliseconds of the server's clock, or slightly before: TIME is
 * asked first.
 */
export async function expiry(server: LocalRedis, name: string): Promise<number> {
  const lua = `local t = redis.call('TIME')
return math.floor(t[1] * 1000 + t[2] / 1000) + redis.call('PTTL', KEYS[1])`;
  return Number(await server.command('EVAL', lua, 1, lockKey(name)));
}

/** Requests of the library that run this script, by its digest or by its text. */
export const requestsFor =
  (...scripts: Script[]) =>
  (request: string): boolean =>
    scripts.some(({ sha, lua }) => request.includes(sha) || request.includes(lua));

export const acquires = requestsFor(ACQUIRE.one, ACQUIRE.many);
export const extensions = requestsFor(EXTEND.many, RENEW);
export const releases = requestsFor(RELEASE.one, RELEASE.many);

/** Makes the server know the scripts, so that each call is one request. */
export async function loadScripts(server: LocalRedis): Promise<void> {
  for (const { lua } of [ACQUIRE.one, ACQUIRE.many, EXTEND.many, RENEW, RELEASE.one, RELEASE.many]) {
    await server.command('SCRIPT', 'LOAD', lua);
  }
}

/** Sends a request that went through a proxy once more, as if the network had kept it until now. */
export async function replay(server: LocalRedis, request: string): Promise<unknown> {
  // Arguments are joined by single spaces; none of those replayed here contains one.
  const [command = '', ...args] = request.split(' ');
  return server.command(command, ...args);
}

/** A client as a user makes it: it queues, retries and sends again. */
export function userClient(url: string): Redis {
  const client = new Redis(url);
  client.on('error', () => undefined);
  return client;
}
