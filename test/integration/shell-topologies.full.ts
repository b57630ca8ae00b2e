import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { RedisLockStore, type RedisLockStoreOptions } from '../../lib/stores/redis/index.js';
import { startRedisCluster, startRedisSentinel } from '../faults/support/redis-topologies.js';
import { type Said, shell } from '../support/shell.js';
import { until } from '../support/until.js';
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
  file: string,
  client: Redis | Cluster,
  options: RedisLockStoreOptions,
  config: string,
): Promise<void> {
  try {
    await tell(new RedisLockStore(client, options));
  } finally {
    client.disconnect();
  }
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
    const file = join(folder, 'cluster.mjs');
    await expectSeen(
      file,
      new Cluster(cluster.nodes),
      { key: KEY.of },
      `import { Cluster } from '${IOREDIS}';\nexport const client = new Cluster(${nodes});\nexport default { connection: client, key: ${KEY.text} };`,
    );
    // The shell ends with its process, not with the client of somebody else.
    ((await import(pathToFileURL(file).href)) as { client: Cluster }).client.disconnect();
  } finally {
    await cluster.stop();
  }
});

test('--config leads to a Redis behind Sentinel, also after a failover', async () => {
  const { name, sentinels, master, replica, stop } = await startRedisSentinel();
  try {
    const file = join(folder, 'sentinel.mjs');
    const options = { sentinels, name };
    const config = `export default { connection: ${JSON.stringify(options)} };`;
    await expectSeen(file, new Redis(options), {}, config);
    await master.kill();
    let said: Said | undefined;
    // Until all sentinels agree, the first one that is asked may still name the old master.
    await until(async () => (said = await shell('', 'locks', '--config', file)).code === 0, {
      message: () => `the shell to find the new master; it says: ${JSON.stringify(said)}`,
    });
    expect(said?.out).toContain(JOB);
    expect(String(await replica.command('INFO', 'replication'))).toContain('role:master');
  } finally {
    await stop();
  }
});
