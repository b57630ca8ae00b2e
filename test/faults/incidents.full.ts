import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { CronTime } from 'cron';
import { Insight, type Why } from '../../lib/index.js';
import type { MissEntry } from '../../lib/contract/history-store.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { tickFinder } from '../../lib/schedule/tick-finder.js';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { type Instance, startTickInstance, type TickJob } from './support/instance.js';
import { faultSuite } from './support/suite.js';

/*
 * Five incidents of a fleet of three processes, and the sentence that a person reads who asks why the job did not run.
 */

faultSuite();

const NAMES = ['api-1', 'api-2', 'api-3'];
const WATCHED = { insight: { beat: '1s' }, overdue: '2s' } as const;

let server: LocalRedis;
let proxy: TcpProxy;
let store: RedisLockStore;
let insight: Insight;

beforeAll(async () => {
  server = await startRedis();
  proxy = await startProxy({ host: '127.0.0.1', port: server.port });
  store = new RedisLockStore(server.url);
  await store.init();
  insight = new Insight(store, { ticks: tickFinder(() => CronTime) });
});
beforeEach(() => server.command('FLUSHALL'));
afterAll(async () => {
  await store.close();
  await proxy.stop();
  await server.stop();
});

/** Three processes with one job; its lease lives for 1.5 s if they die. */
const fleet = (job: TickJob, connection = server.url): Promise<Instance[]> =>
  Promise.all(
    NAMES.map((instanceId) =>
      startTickInstance({ store: { connection }, instanceId, ttl: 1_500, heartbeat: 300, ...WATCHED }, job),
    ),
  );

/** The ticks that all three have told to be missed for this reason. */
async function missedByAll(reason: string): Promise<number | undefined> {
  const entries = await store.history.entries({ name: 'nightly', limit: 100 });
  const misses = entries.filter(
    (entry): entry is MissEntry => entry.type === 'miss' && entry.reason === reason,
  );
  return misses
    .map(({ tick }) => tick)
    .find((tick) =>
      NAMES.every((name) => misses.some((miss) => miss.tick === tick && miss.instance === name)),
    );
}

const isUp = (): Promise<unknown> => until(async () => (await insight.instances()).length === NAMES.length);
const utc = (time: number): string => new Date(time).toISOString().slice(11, 19);

test('the store was away', async () => {
  const instances = await fleet({ expression: '*/2 * * * * *', quick: true }, proxy.url);
  await isUp();
  await until(async () => (await insight.runs()).length >= 2);
  await proxy.refuse();
  // Two ticks at least that nobody could start.
  await until(() =>
    instances.every(
      (one) => one.heard('event:skipped').filter(({ reason }) => reason === 'store-unavailable').length >= 2,
    ),
  );
  await proxy.refuse(false);
  const tick = Number(await until(() => missedByAll('store-unavailable')));
  const why = await insight.why('nightly', tick);
  expect(why).toMatchObject({ cause: 'store-away', tick });
  expect((why as Extract<Why, { cause: 'store-away' }>).instances).toHaveLength(3);
  expect(why.sentence).toContain(`the store was away`);
});

test('the instance that ran it was killed', async () => {
  const [first, ...others] = await fleet({ expression: '0 0 1 1 *' });
  await isUp();
  await first?.fire();
  const [{ tick = 0 } = {}] = (first as Instance).heard('job-started') as { tick?: number }[];
  expect(await insight.why('nightly')).toMatchObject({ cause: 'running' });
  await first?.kill();
  await until(async () => (await insight.why('nightly', tick)).cause === 'interrupted');
  const why = await insight.why('nightly', tick);
  expect(why).toMatchObject({ tick, run: { instance: 'api-1', outcome: 'interrupted' } });
  expect(await insight.job('nightly')).toMatchObject({ status: 'interrupted', attention: true });
  // The next run writes it down.
  await others[0]?.fire();
  expect(await insight.runs({ bad: true })).toMatchObject([
    { instance: 'api-1', outcome: 'interrupted', tick },
  ]);
});

test('an earlier run of the job was still going on', async () => {
  const instances = await fleet({ expression: '*/2 * * * * *' });
  await isUp();
  const holder = await until(() => instances.find((one) => one.heard('job-started').length > 0));
  const [{ tick = 0 } = {}] = holder.heard('job-started') as { tick?: number }[];
  await until(async () => (await insight.job('nightly'))?.status === 'overrun');
  await until(() => Date.now() > tick + 4_500);
  await holder.endJob();
  // The record of the run follows its release.
  await until(async () =>
    (await insight.runs()).some((run) => run.tick === tick && run.endedAt !== undefined),
  );
  const why = await insight.why('nightly', tick + 2_000);
  expect(why).toMatchObject({ cause: 'overrun', tick: tick + 2_000, run: { tick } });
  expect(why.sentence).toContain(utc(tick));
});

test('the schedule counts in another time zone', async () => {
  // Somebody expects it at this very minute in Kolkata, and the fleet counts in UTC.
  await fleet({ expression: '0 12 * * *', timeZone: 'UTC', quick: true });
  await isUp();
  const noon = Date.UTC(2026, 10, 20, 12) - 5.5 * 3_600_000;
  const why = await insight.why('nightly', noon);
  expect(why).toMatchObject({
    cause: 'not-a-tick',
    schedules: [{ schedule: '0 12 * * *', timeZone: 'UTC', instances: expect.arrayContaining(NAMES) }],
  });
  expect(why.sentence).toContain('0 12 * * *');
});

test('all instances were down', async () => {
  const instances = await fleet({ expression: '* * * * * *', quick: true });
  await isUp();
  await until(async () => (await insight.runs()).length > 0);
  await Promise.all(instances.map((one) => one.kill()));
  // Of a tick that came later: the last run before it may have been killed as well.
  const tick = Math.ceil(Date.now() / 1_000) * 1_000 + 2_000;
  const why = await until(async () => {
    const answer = await insight.why('nightly', tick);
    return answer.cause === 'no-instance' ? answer : undefined;
  });
  expect(why.sentence).toMatch(/no instance/i);
  // Its last run was killed, or the first tick that they missed is overdue when its grace is over.
  const job = await until(async () => {
    const view = await insight.job('nightly');
    return view?.attention === true ? view : undefined;
  });
  expect(job.instances).toEqual([]);
});
