import { expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { hold, logged, type TestApp } from './support/app.js';
import { type AppStore, onEachStore, onRedis } from './support/app-stores.js';
import { faultSuite } from './support/suite.js';

faultSuite();

const TICKS = 50;
/** Ticks of as many jobs come at the same moment, more than a pool has connections. */
const JOBS = Array.from({ length: 25 }, (_, index) => `job-${index}`);
/** Of leases here, which outlive every outage. */
const TTL = '1m';

/** Counts the runs of jobs that should not run. */
class Runs {
  count = 0;
  readonly run = (): void => void this.count++;

  /** Fires jobs until there have been 50 ticks; answers with why they were skipped. */
  async ticks(app: TestApp): Promise<Set<string>> {
    const reasons = new Set<string>();
    for (let fired = 0; fired < TICKS; fired += JOBS.length) {
      for (const result of await Promise.all(JOBS.map((name) => app.locks.run(name, this.run))))
        reasons.add(result.ran ? 'ran' : result.reason);
    }
    return reasons;
  }
}

/** An outage of 50 skipped runs has one line at its beginning and one at its end. */
async function twoLines(app: TestApp): Promise<void> {
  await until(async () => (await app.locks.run('afterwards', () => 'ran')).ran);
  await app.event('outage-ended');
  expect(logged().slice(0, 2)).toEqual([
    expect.stringMatching(
      /^error: The lock store is not available: no lock can be taken or renewed until it is\./,
    ),
    expect.stringMatching(/^log: The lock store is available again after .*; 50 runs were skipped$/),
  ]);
  expect(app.heard('outage-ended')[0]).toMatchObject({ skipped: TICKS });
}

/** An application says once that its store was away when it started, and runs its jobs when it is back. */
async function startsWithout(store: AppStore, comeBack: () => Promise<void>): Promise<void> {
  const { app } = await store.startProxied({ ttl: TTL, storeTimeout: 1_000 });
  const runs = new Runs();
  expect(await app.locks.run('job', runs.run)).toMatchObject({ ran: false, reason: 'store-unavailable' });
  await comeBack();
  await until(async () => (await app.locks.run('job', () => 'ran')).ran);
  expect(await store.held()).toEqual([]);
  expect(logged(/not available/)).toEqual([expect.stringMatching(/^error: The lock store is not available/)]);
  expect(runs.count).toBe(0);
}

onEachStore((store) => {
  test('acquires that timed out through 50 ticks of a silent store leave no lock and run no job', async () => {
    const { app, settled } = await store.startProxied({ ttl: TTL, storeTimeout: 1_000, insight: false });
    const runs = new Runs();
    store.proxy.freeze();
    expect(await runs.ticks(app)).toEqual(new Set(['store-unavailable']));
    expect(await store.held()).toEqual([]);
    store.proxy.thaw();
    await settled();
    expect(await store.held()).toEqual([]);
    await twoLines(app);
    expect(runs.count).toBe(0);
    await app.close();
    await settled();
    expect(await store.held()).toEqual([]);
  });

  test('an application that closes while its store is silent does not wait for it to come back', async () => {
    const { app, unanswered } = await store.startProxied({
      ttl: TTL,
      storeTimeout: 500,
      shutdownTimeout: 50,
    });
    const runs = new Runs();
    await hold(app, 'job');
    store.proxy.freeze();
    const run = app.locks.run('other', runs.run);
    await app.close();
    expect(await run).toMatchObject({ ran: false });
    // Nothing has been answered yet.
    expect(unanswered()).toBeGreaterThan(0);
    expect(runs.count).toBe(0);
    store.proxy.thaw();
    await until(() => unanswered() === 0, { message: () => `${unanswered()} calls to be answered` });
    expect(await store.held()).not.toContain('other');
  });

  test('an application starts while its store is away, says so once, makes what it needs, and runs its jobs when it is back', async () => {
    await store.proxy.refuse();
    await startsWithout(store, () => store.proxy.refuse(false));
  });
});

onRedis('with Redis', (store) => {
  test('an application starts while its store is silent, says so once, and runs its jobs when it is over', async () => {
    store.proxy.freeze();
    await startsWithout(store, async () => store.proxy.thaw());
  });

  test('through an outage of 50 ticks on a client that queues, nothing waits in the queue to be run later', async () => {
    const { client, proxy } = store;
    // Beats are sent as soon as the store is back.
    const { app, settled } = await store.startProxied({ ttl: TTL, storeTimeout: 3_000, insight: false });
    const runs = new Runs();
    const down = new Promise((resolve) => client.once('close', resolve));
    await proxy.refuse();
    await down;
    expect(await runs.ticks(app)).toEqual(new Set(['store-unavailable']));
    const requests: string[] = [];
    proxy.onRequest((request) => requests.push(request));
    await proxy.refuse(false);
    await until(() => client.status === 'ready');
    await settled();
    expect(requests.filter((request) => /eval/i.test(request))).toEqual([]);
    expect(await store.held()).toEqual([]);
    await twoLines(app);
    expect(logged()).toHaveLength(2);
    expect(runs.count).toBe(0);
    await app.close();
    expect(await store.held()).toEqual([]);
  });
});
