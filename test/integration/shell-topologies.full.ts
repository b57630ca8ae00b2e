import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { RedisLockStore, type RedisLockStoreOptions } from '../../lib/stores/redis/index.js';
import { startRedisCluster, startRedisSentinel } from '../faults/support/redis-topologies.js';
import { shell } from '../support/shell.js';
import { JOB, tell } from './support/shell.js';

/* A Cluster and a Sentinel have no URL: the shell is led there by `--config`, a module as the application has it. */

const IOREDIS = pathToFileURL(createRequire(import.meta.url).resolve('ioredis')).href;
const KEY = { text: '(name) => `jobs:{${name}}`', of: (name: string): string => `jobs:{${name}}` };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shell-config-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Tells a store of a job by one client of the application, and asks the shell, which has its own. */
async function expectSeen(
  client: Redis | Cluster,
  options: RedisLockStoreOptions,
  config: string,
): Promise<void> {
  try {
    await tell(new RedisLockStore(client, options));
  } finally {
    client.disconnect();
  }
  const file = join(folder, 'locks.mjs');
  await writeFile(file, config);
  const asked = async (command: string): Promise<string> => {
    const { code, out, err } = await shell('', command, '--config', file);
    expect({ code, err }).toEqual({ code: command === 'status' ? 1 : 0, err: '' });
    return out;
  };
  expect(await asked('status')).toMatch(/RefreshJobs\.refresh +failing /);
  expect(await asked('runs')).toMatch(new RegExp(`${JOB} +failed`));
  expect(await asked('locks')).toMatch(/RefreshJobs\.refresh +free /);
}

test('--config leads to a Redis Cluster, with a key that the application makes by a function', async () => {
  const cluster = await startRedisCluster();
  try {
    const nodes = JSON.stringify(cluster.nodes);
    await expectSeen(
      new Cluster(cluster.nodes),
      { key: KEY.of },
      `import { Cluster } from '${IOREDIS}';\nexport default { connection: new Cluster(${nodes}), key: ${KEY.text} };`,
    );
  } finally {
    await cluster.stop();
  }
});

test('--config leads to a Redis behind Sentinel, also after a failover', async () => {
  const { name, sentinels, master, replica, stop } = await startRedisSentinel();
  try {
    const options = { sentinels, name };
    const config = `export default { connection: ${JSON.stringify(options)} };`;
    await expectSeen(new Redis(options), {}, config);
    await master.kill();
    const client = new Redis(options);
    // A client of Sentinel waits until there is a master again.
    expect(await client.set('written', 'after the failover')).toBe('OK');
    client.disconnect();
    expect(String(await replica.command('INFO', 'replication'))).toContain('role:master');
    const { code, out } = await shell('', 'locks', '--config', join(folder, 'locks.mjs'));
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining(JOB) });
  } finally {
    await stop();
  }
});
