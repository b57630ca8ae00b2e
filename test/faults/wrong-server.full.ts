import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import { type RedisConnectionSource, SchedulerLockService } from '../../lib/index.js';
import { closeApps, startApp, startFailure } from '../integration/app.js';
import { type Certificate, selfSigned } from './support/certificate.js';
import { freePort, LOOPBACK } from '../support/machine.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';

jest.setTimeout(60_000);

const INTRO = 'nestjs-scheduler-lock is misconfigured: ';

/** Of ioredis, which keeps a timer for as long after each connection that it ends, and with it the process. */
const OPTIONS = { disconnectTimeout: 100 };

let certificate: Certificate;
let redis: LocalRedis;
let tlsPort: number;
let httpPort: number;
let httpsPort: number;
const servers: Server[] = [];
/** Their connections, those whose handshake fails included: nobody else ends these. */
const accepted = new Set<Socket>();
const clients: { disconnect(): void }[] = [];

/** Starts on a free port. */
async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => accepted.add(socket));
  server.listen(0, LOOPBACK);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  certificate = await selfSigned();
  tlsPort = await freePort();
  const { certFile, keyFile, cert, key } = certificate;
  // Fails, and says so, where Redis was built without TLS.
  redis = await startRedis({
    args: `--databases 4 --tls-port ${tlsPort} --tls-cert-file ${certFile} --tls-key-file ${keyFile} --tls-ca-cert-file ${certFile}`.split(
      ' ',
    ),
  });
  httpPort = await listen(createHttpServer((_, response) => response.end('ok')));
  httpsPort = await listen(createHttpsServer({ cert, key }, (_, response) => response.end('ok')));
});

afterEach(async () => {
  await closeApps();
  for (const client of clients.splice(0)) client.disconnect();
});

afterAll(async () => {
  for (const server of servers) server.close();
  for (const socket of accepted) socket.destroy();
  await redis?.stop();
  await certificate?.remove();
});

const client = <T extends { disconnect(): void; on(event: string, listener: () => void): unknown }>(
  made: T,
): T => {
  made.on('error', () => undefined);
  clients.push(made);
  return made;
};

const hasNoDatabase =
  'connection: Redis refused the number of the database (ERR DB index is out of range). Give one that it has, or none: `keyPrefix` keeps applications apart as well.';

/** What the log says of a start without a connection. */
const HINT =
  / Perhaps only one side uses TLS, or another server has this port: look at host, port, and redis:/;

describe('the start is an outage, with a hint, for', () => {
  test.each<[what: string, source: () => RedisConnectionSource]>([
    ['a URL without TLS of a port with TLS', () => `redis://:secret@${LOOPBACK}:${tlsPort}`],
    ['a client without TLS of a port with TLS', () => client(new Redis(tlsPort, LOOPBACK, OPTIONS))],
    ['a client of ioredis 5 without TLS', () => client(new Redis5(tlsPort, LOOPBACK, OPTIONS))],
    ['a URL with TLS of a port without', () => `rediss://:secret@${LOOPBACK}:${redis.port}`],
    [
      'a client with TLS of a port without',
      () => client(new Redis(`rediss://${LOOPBACK}:${redis.port}`, OPTIONS)),
    ],
    ['a URL of an HTTPS server', () => `redis://${LOOPBACK}:${httpsPort}`],
    ['a URL with TLS of an HTTP server', () => `rediss://${LOOPBACK}:${httpPort}`],
  ])('%s', async (_what, source) => {
    const app = await startApp([], { connection: source() });
    expect(app.logs.own).toContainEqual(expect.stringMatching(HINT));
    expect(app.logs.own.join()).not.toContain('secret');
  });
});

describe('the start is refused for', () => {
  test.each<[what: string, source: () => RedisConnectionSource]>([
    ['a URL with a database that there is not', () => `${redis.url}/9`],
    ['options with a database that there is not', () => ({ port: redis.port, host: LOOPBACK, db: 4 })],
  ])('%s', async (_what, source) => {
    expect(await startFailure(startApp([], { connection: source() }))).toBe(INTRO + hasNoDatabase);
  });
});

describe('the start is not refused', () => {
  test('by the right server', async () => {
    const { cert: ca, cert, key } = certificate;
    for (const connection of [`${redis.url}/3`, { host: LOOPBACK, port: tlsPort, tls: { ca, cert, key } }]) {
      const app = await startApp([], { connection });
      expect(await app.get(SchedulerLockService).run('right', () => 1)).toEqual({ ran: true, value: 1 });
      expect(app.logs.own.filter((line) => !line.startsWith('debug'))).toEqual([]);
    }
  });

  // Whether it is up, who it is, and what it speaks are not known.
  test.each<[what: string, port: () => Promise<number>]>([
    ['that refuses connections', freePort],
    ['that accepts connections and says nothing', () => listen(createServer((socket) => socket.resume()))],
    ['that ends each connection', () => listen(createServer((socket) => socket.end()))],
    ['that resets each connection', () => listen(createServer((socket) => socket.resetAndDestroy()))],
    [
      'that resets each connection when something comes',
      () =>
        listen(
          createServer((socket) =>
            socket.on('error', () => undefined).once('data', () => socket.resetAndDestroy()),
          ),
        ),
    ],
  ])('for a server %s', async (_what, port) => {
    const free = await port();
    for (const scheme of ['redis', 'rediss']) {
      const app = await startApp([], { connection: `${scheme}://${LOOPBACK}:${free}` });
      const result = await app.get(SchedulerLockService).run('away', () => 1);
      expect(result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    }
  });
});

test('a server that comes later without the database is not asked for locks in another', async () => {
  const port = await freePort();
  const app = await startApp([], { connection: `redis://${LOOPBACK}:${port}/9` });
  let late = await startRedis({ port, args: ['--databases', '4'] });
  try {
    const locks = app.get(SchedulerLockService);
    await until(async () => {
      const result = await locks.run('later', () => 1);
      expect(result).toMatchObject({ ran: false, reason: 'store-unavailable' });
      return !result.ran && String(result.error).includes('DB index is out of range');
    });
    expect(await late.command('DBSIZE')).toBe(0);
    await late.stop();
    late = await startRedis({ port });
    await until(async () => (await locks.run('later', () => 1)).ran);
    expect(await late.command('DBSIZE')).toBe(0);
    expect(await late.command('INFO', 'keyspace')).toContain('db9:');
  } finally {
    await late.stop();
  }
});
