import { startRedis } from '../../support/redis-server.js';
import type { ChaosStore } from './store.js';

/** A Redis that has every write on disk before it confirms it. */
export async function redisChaosStore(): Promise<ChaosStore> {
  const server = await startRedis({ persistent: true });
  const { host, port } = server;
  return {
    name: 'redis',
    host,
    port,
    protocol: 'resp',
    ping: () => server.command('PING'),
    crash: () => server.kill(),
    restart: (options) => server.restart(options),
    freeze: () => server.pause(),
    thaw: () => server.resume(),
    flush: () => server.command('FLUSHALL'),
    forgetScripts: () => server.command('SCRIPT', 'FLUSH'),
    close: () => server.stop(),
  };
}
