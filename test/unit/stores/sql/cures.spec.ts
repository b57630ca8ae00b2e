import { describe, expect, test } from '@jest/globals';
import { MysqlLockStore } from '../../../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../../../lib/stores/postgres/index.js';

/* Errors of drivers whose cure is known: the message names it. */

const failing = (message: string, code?: string) => ({
  query: () => Promise.reject(Object.assign(new Error(message), code && { code })),
});

const SELF_SIGNED = 'self-signed certificate in certificate chain';

describe.each([
  [
    'PostgreSQL',
    PostgresLockStore,
    'SELF_SIGNED_CERT_IN_CHAIN',
    'Cannot use a pool after calling end on the pool',
  ],
  ['MySQL', MysqlLockStore, 'HANDSHAKE_SSL_ERROR', 'Pool is closed.'],
] as const)('on %s', (_name, Store, code, closed) => {
  const acquire = (error: object) =>
    new Store(error as never).acquire({ name: 'job', token: 'token', ttl: 1_000, holder: 'host' });

  test('a certificate of one’s own stops the start, which says how to give the authority', async () => {
    await expect(new Store(failing(SELF_SIGNED, code)).init()).rejects.toMatchObject({
      code: 'SCHEDULER_LOCK_CONFIG',
      message: expect.stringMatching(/self-signed certificate.*`ssl: \{ ca \}`/),
    });
    await expect(acquire(failing(SELF_SIGNED, code))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      outcome: 'not-applied',
      message: expect.stringContaining('`ssl: { ca }`'),
    });
  });

  test('a certificate for another name is told as such', async () => {
    const other =
      "Hostname/IP does not match certificate's altnames: Host: db. is not in the cert's altnames: DNS:x";
    await expect(acquire(failing(other, code))).rejects.toThrow('connect by the name');
  });

  test('a pool that was closed, as a DataSource made anew does, is told with what to do', async () => {
    await expect(acquire(failing(closed))).rejects.toMatchObject({
      outcome: 'not-applied',
      message: expect.stringContaining('make a new store for a new pool'),
    });
  });
});

test('a pool of pg that waited too short for a database that sleeps is told where to read', async () => {
  const store = new PostgresLockStore(failing('timeout exceeded when trying to connect'));
  await expect(
    store.acquire({ name: 'job', token: 'token', ttl: 1_000, holder: 'host' }),
  ).rejects.toMatchObject({
    outcome: 'not-applied',
    message: expect.stringContaining('sleeps: docs/stores/serverless.md'),
  });
});
