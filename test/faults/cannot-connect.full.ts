import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Redis as Redis5 } from 'ioredis5';
import type { RedisConnectionSource } from '../../lib/index.js';
import { freePort, LOOPBACK } from '../support/machine.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { logged, startApp } from './support/app.js';
import { type Certificate, selfSigned } from './support/certificate.js';
import { faultSuite } from './support/suite.js';

faultSuite();

let certificate: Certificate;
let redis: LocalRedis;
let tlsPort: number;
const clients: { disconnect(): void }[] = [];

beforeAll(async () => {
  certificate = await selfSigned();
  tlsPort = await freePort();
  const { certFile, keyFile } = certificate;
  redis = await startRedis({
    args: `--tls-port ${tlsPort} --tls-cert-file ${certFile} --tls-key-file ${keyFile} --tls-ca-cert-file ${certFile} --tls-auth-clients no`.split(
      ' ',
    ),
  });
});
afterEach(() => {
  for (const client of clients.splice(0)) client.disconnect();
});
afterAll(async () => {
  await redis?.stop();
  await certificate?.remove();
});

type Kind = [kind: string, connect: (port: number, more?: object) => RedisConnectionSource];
const kept = <Client extends { disconnect(): void; on(event: string, listener: () => void): unknown }>(
  client: Client,
): Client => {
  client.on('error', () => undefined);
  clients.push(client);
  return client;
};
const OPTIONS = { disconnectTimeout: 100 };
const KINDS: Kind[] = [
  ['the client of the library', (port, more) => ({ host: LOOPBACK, port, ...more })],
  ["a client of the user's", (port, more) => kept(new Redis({ host: LOOPBACK, port, ...OPTIONS, ...more }))],
  ['a client of ioredis 5', (port, more) => kept(new Redis5({ host: LOOPBACK, port, ...OPTIONS, ...more }))],
];

/** What an application says that starts with this connection, and then wants to run a job. */
async function said(connection: RedisConnectionSource): Promise<string> {
  try {
    const app = await startApp({ connection, ttl: '1m' });
    await app.locks.run('job', () => 'ran');
  } catch (error) {
    return String(error);
  }
  const [line = '', ...others] = logged();
  expect(others).toEqual([]);
  return line;
}

const SIGNED = 'Give yours: `tls: { ca }` in the options, or the file in NODE_EXTRA_CA_CERTS.';

describe.each(KINDS)('why %s cannot be used is said at the start:', (_kind, connect) => {
  test('a replica, which may not be written to', async () => {
    const replica = await startRedis({ args: ['--replicaof', redis.host, String(redis.port)] });
    try {
      const line = await said(connect(replica.port));
      expect(line).toMatch(/^error: The lock store is not available: .*READONLY/);
      expect(line).toContain(
        'This server is a read-only replica: connect to the primary, or through Sentinel',
      );
    } finally {
      await replica.stop();
    }
  });

  test('a certificate that no known authority has signed', async () => {
    const line = await said(connect(tlsPort, { tls: {} }));
    expect(line).toMatch(/^error: The lock store is not available: .*: (Error: )?self-signed certificate\. /);
    expect(line).toContain(SIGNED);
  });

  test('a certificate for another name', async () => {
    const tls = { ca: certificate.cert, servername: 'redis.example.org' };
    expect(await said(connect(tlsPort, { tls }))).toMatch(
      /does not match certificate's altnames.* or give `tls: \{ servername \}` in the options\.$/,
    );
  });

  test('a host that there is not', async () => {
    expect(await said(connect(6379, { host: 'no-such-host.invalid' }))).toMatch(
      /Redis cannot be reached: .*ENOTFOUND no-such-host\.invalid\.$/,
    );
  });
});

test('why the client of the library has no connection any more is said when that is so', async () => {
  const [[, connect]] = KINDS as [Kind];
  const server = await startRedis();
  try {
    const app = await startApp({ connection: connect(server.port), ttl: '1m', insight: false });
    expect(await app.locks.run('job', () => 'ran')).toMatchObject({ ran: true });
    await server.kill();
    const words: string[] = [];
    const told = async (text: string): Promise<boolean> => {
      const result = await app.locks.run('job', () => 'ran');
      if (!result.ran) words.push(String(result.error));
      return words.at(-1)?.includes(text) === true;
    };
    await until(() => told('ECONNREFUSED'), { message: () => `the reason, not ${words.at(-1)}` });
    expect(logged(/not available/)).toEqual([expect.stringMatching(/^error: .*ECONNREFUSED/)]);
  } finally {
    await server.stop();
  }
});
