import { afterEach, expect, test } from '@jest/globals';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { redisCommand, startRedis } from '../../support/local-redis.js';
import { dockerAnswers } from '../../support/machine.js';
import { provideRedis, uniquePrefix } from '../../support/redis-server.js';

const environment = { ...process.env };

afterEach(() => {
  for (const name of ['REDIS_URL', 'DOCKER_HOST', 'TEST_SERVER']) {
    if (environment[name] === undefined) delete process.env[name];
    else process.env[name] = environment[name];
  }
});

test('some Redis is provided', async () => {
  const server = await provideRedis();
  const key = `${uniquePrefix()}key`;
  await redisCommand(server, 'SET', key, 'value', 'PX', 1_000);
  await expect(redisCommand(server.url, 'GET', key)).resolves.toBe('value');
  await server.stop();
});

test('REDIS_URL comes first, and its server is left alone', async () => {
  const own = await startRedis();
  process.env['REDIS_URL'] = own.url;
  const server = await provideRedis();
  expect(server).toMatchObject({ source: 'REDIS_URL', url: own.url, host: own.host, port: own.port });
  await server.stop();
  await expect(own.command('PING')).resolves.toBe('PONG');
  await own.stop();
});

test('a REDIS_URL that leads nowhere is an error, without its password', async () => {
  process.env['REDIS_URL'] = 'redis://:secret@127.0.0.1:1';
  const provided = provideRedis();
  await expect(provided).rejects.toThrow(/REDIS_URL \(127\.0\.0\.1\) does not answer: .*ECONNREFUSED/);
  await expect(provided).rejects.not.toThrow(/secret/);
});

test('a TEST_SERVER that is not known is an error, and no other server is taken for it', async () => {
  process.env['TEST_SERVER'] = 'redis-5';
  process.env['REDIS_URL'] = 'redis://127.0.0.1:1';
  await expect(provideRedis()).rejects.toThrow(/^TEST_SERVER=redis-5: there is redis-6\.2, redis-8, /);
});

test('prefixes are unique', () => {
  expect(uniquePrefix()).not.toBe(uniquePrefix());
});

async function asEngine(listener: RequestListener, look: (host: string) => Promise<void>): Promise<void> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await look(`tcp://127.0.0.1:${(server.address() as AddressInfo).port}`);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

test('a Docker engine is one that answers the ping', async () => {
  const paths: (string | undefined)[] = [];
  await asEngine(
    (request, response) => {
      paths.push(request.url);
      response.end('OK');
    },
    async (host) => expect(await dockerAnswers(host)).toBe(true),
  );
  expect(paths).toEqual(['/_ping']);
});

test('an engine that is not there, or silent, is none', async () => {
  expect(await dockerAnswers('unix:///no/such/docker.sock')).toBe(false);
  expect(await dockerAnswers('tcp://127.0.0.1:1')).toBe(false);
  await asEngine(
    () => undefined,
    async (host) => expect(await dockerAnswers(host)).toBe(false),
  );
});
