import { startRedis } from '../../support/local-redis.js';
import type { ChaosStore } from './store.js';

/** A Redis that confirms a write only when it is on disk. */
export async function redisChaosStore(env: NodeJS.ProcessEnv): Promise<ChaosStore> {
  const server = await startRedis({ persistent: true, env });
  const { host, port } = server;
  return {
    name: 'redis',
    host,
    port,
    protocol: 'resp',
    ping: () => server.command('PING'),
    crash: () => server.kill(),
    restart: ({ data }) => server.restart({ empty: data === 'lost', old: data === 'old' }),
    snapshot: () => server.snapshot(),
    async time() {
      const [seconds, micros] = (await server.command('TIME')) as string[];
      return Number(seconds) * 1e3 + Number(micros) / 1e3;
    },
    freeze: () => server.pause(),
    thaw: () => server.resume(),
    flush: () => server.command('FLUSHALL'),
    forgetScripts: () => server.command('SCRIPT', 'FLUSH'),
    close: () => server.stop(),
  };
}
