import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { hold, startApp } from './support/app.js';
import { faultSuite } from './support/suite.js';

/* The failover of a managed Redis: its name leads to the new primary, and the old one stays up, read-only, with all its connections. */

faultSuite();

let old: LocalRedis;
let next: LocalRedis;
/** Where the name leads. */
let target: { host: string; port: number };
let name: TcpProxy;
beforeEach(async () => {
  old = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  next = await startRedis({ args: ['--replicaof', old.host, String(old.port)] });
  target = { host: old.host, port: old.port };
  name = await startProxy(target);
});
afterEach(async () => {
  await name.stop();
  await Promise.all([old.stop(), next.stop()]);
});

async function failOver(): Promise<void> {
  await next.command('REPLICAOF', 'NO', 'ONE');
  await old.command('REPLICAOF', next.host, next.port);
  target.port = next.port;
}

async function ofIoredis() {
  const client = new Redis(name.url, { disconnectTimeout: 100 });
  client.on('error', () => undefined);
  return { client, close: () => client.disconnect() };
}

async function ofNodeRedis() {
  const client = createClient({ url: name.url, disableOfflineQueue: true });
  client.on('error', () => undefined);
  await client.connect();
  return { client, close: () => client.destroy() };
}

test.each([
  ['ioredis', ofIoredis],
  ['node-redis', ofNodeRedis],
])(
  'a client of %s leaves a primary that has become read-only, and a running job keeps its lease',
  async (_kind, open) => {
    const { client, close } = await open();
    const app = await startApp({ connection: client, ttl: '1m', heartbeat: 200 });
    const { end } = await hold(app, 'job');
    await until(async () => (await next.command('EXISTS', 'scheduler:job:lock')) === 1);
    await failOver();
    const before = app.heard('renewed', 'job').length;
    await app.event('renewed', 'job', before + 2);
    expect(await app.locks.run('another', () => 'ran')).toMatchObject({ ran: true });
    await end();
    expect(app.heard('lost')).toEqual([]);
    expect(app.heard('released', 'job')).toMatchObject([{ confirmed: true }]);
    await app.close();
    close();
  },
);
