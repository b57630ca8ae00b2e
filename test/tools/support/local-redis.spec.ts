import { afterEach, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { freePort, isAlive } from '../../support/machine.js';
import { guardedPids } from '../../support/child.js';
import { startRedis, type LocalRedis, type StartRedisOptions } from '../../support/local-redis.js';
import { until } from '../../support/until.js';

const started: LocalRedis[] = [];

async function start(options?: StartRedisOptions): Promise<LocalRedis> {
  const server = await startRedis(options);
  started.push(server);
  return server;
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
});

test('servers have ports of their own and answer at once', async () => {
  const servers = await Promise.all([start(), start(), start()]);
  expect(new Set(servers.map(({ port }) => port)).size).toBe(3);
  for (const server of servers) await expect(server.command('PING')).resolves.toBe('PONG');
});

test('stop ends the process and leaves no folder', async () => {
  const server = await start();
  const { pid, dir } = server;
  expect(guardedPids()).toContain(pid);
  await server.stop();
  expect(isAlive(pid)).toBe(false);
  expect(existsSync(dir)).toBe(false);
  expect(guardedPids()).toEqual([]);
  await server.stop();
});

test('a frozen server is stopped, too', async () => {
  const server = await start();
  server.pause();
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
});

test('by default a restart loses the data and keeps the port', async () => {
  const server = await start();
  await server.command('SET', 'key', 'value');
  const { pid, port } = server;
  await server.restart();
  expect(server.pid).not.toBe(pid);
  expect(server.port).toBe(port);
  await expect(server.command('GET', 'key')).resolves.toBeNull();
});

test('a persistent server keeps its data over a kill, unless it shall come back empty', async () => {
  const server = await start({ persistent: true });
  await server.command('SET', 'key', 'value');
  await server.kill();
  expect(server.running).toBe(false);
  await server.restart();
  await expect(server.command('GET', 'key')).resolves.toBe('value');
  await server.restart({ empty: true });
  await expect(server.command('GET', 'key')).resolves.toBeNull();
});

test('a paused server answers once it is resumed', async () => {
  const server = await start();
  server.pause();
  let answer: unknown;
  const asked = server.command('PING').then((pong) => (answer = pong));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(answer).toBeUndefined();
  server.resume();
  await asked;
  await until(() => answer === 'PONG');
});

test('options reach the server', async () => {
  const server = await start({ args: ['--maxmemory', '5mb'] });
  expect(JSON.stringify(await server.command('CONFIG', 'GET', 'maxmemory'))).toContain('5242880');
});

test('a server that does not come up shows its log', async () => {
  await expect(start({ args: ['--no-such-option', '1'] })).rejects.toThrow(/Bad directive/);
});

test('a given port that is taken is an error, even if a stranger there accepts and says nothing', async () => {
  const port = await freePort();
  const sockets: Socket[] = [];
  const squatter = createServer((socket) => sockets.push(socket)).listen(port, '127.0.0.1');
  await once(squatter, 'listening');
  await expect(start({ port })).rejects.toThrow(/address already in use/i);
  squatter.close();
  sockets.forEach((socket) => socket.destroy());
});
