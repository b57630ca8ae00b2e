import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type LocalRedis, startRedis } from '../support/local-redis.js';
import { startProxy, type TcpProxy } from './proxy/tcp-proxy.js';
import { until } from '../support/until.js';
import { job, startApp, type TestApp } from './support/app.js';
import { look } from './support/redis-view.js';
import { faultSuite } from './support/suite.js';

/*
 * A Redis that has lost its last writes, not all of them: what it knows of a lock is that of an earlier lease.
 */

faultSuite();

const JOB = 'Jobs.nightly';
const TICK = 1_760_000_000_000;

let server: LocalRedis;
let replica: LocalRedis | undefined;
/** The way of the applications to whichever server is the master. */
let proxy: TcpProxy;
const master = { host: '', port: 0 };

beforeEach(async () => {
  server = await startRedis();
  Object.assign(master, { host: server.host, port: server.port });
  proxy = await startProxy(master);
});
afterEach(async () => {
  await proxy.stop();
  await server.stop();
  await replica?.stop();
  replica = undefined;
});

const start = (instanceId: string): Promise<TestApp> =>
  startApp({ connection: proxy.url, ttl: '1m', heartbeat: 100, instanceId });

/** Runs a tick of the job, which ends at once; answers why it did not. Tries again while there is no connection. */
function run(app: TestApp, tick: number): Promise<string> {
  return until(async () => {
    const result = await app.locks.run('job', { job: JOB, tick }, () => 'ran');
    if (result.ran) return result.value;
    return result.reason !== 'store-unavailable' && result.reason;
  });
}

/** Takes a Redis back to what it was; answers with the server that has the locks then. */
type SetBack = () => Promise<LocalRedis>;

/** A snapshot, from which it is started again. */
async function snapshot(): Promise<SetBack> {
  await server.command('SAVE');
  return async () => {
    await server.kill();
    await server.restart();
    return server;
  };
}

/** A replica that hears nothing of the master any more, and is promoted when that is gone. */
async function laggingReplica(): Promise<SetBack> {
  const other = await startRedis({ args: ['--replicaof', server.host, String(server.port)] });
  replica = other;
  await until(
    async () =>
      /master_link_status:up/.test(String(await other.command('INFO', 'replication'))) &&
      (await look(other, 'job')).fence === (await look(server, 'job')).fence,
    { message: 'the replica to know the lease' },
  );
  await other.command('REPLICAOF', 'NO', 'ONE');
  return async () => {
    await server.kill();
    Object.assign(master, { host: other.host, port: other.port });
    return other;
  };
}

/** What the run of `tick` needs to be followed to its end. */
interface LiveRun {
  readonly holder: TestApp;
  readonly other: TestApp;
  readonly live: Promise<unknown>;
  readonly end: () => void;
  readonly tick: number;
}

/** The Redis is set back, and the live lease is restored, with its tick. Returns its fencing token. */
async function keepsItsLease({ holder, other, live, end, tick }: LiveRun, setBack: SetBack): Promise<number> {
  const { token, fence } = await look(server, 'job');
  const now = await setBack();
  await until(() => holder.heard('renewed', 'job').some(({ restored }) => restored === true), {
    message: 'the lease to be restored',
  });
  expect(await look(now, 'job')).toEqual({ token, fence, ended: false });
  expect(await run(other, tick + 1)).toBe('held');
  end();
  expect(await live).toMatchObject({ ran: true });
  expect(holder.heard('lost')).toEqual([]);
  await until(async () => (await look(now, 'job')).ended);
  expect(await run(other, tick)).toBe('already-ran');
  expect(await run(other, tick + 1)).toBe('ran');
  return fence;
}

test.each([
  ['restarts from an old snapshot', snapshot],
  ['is replaced by a replica that missed the last writes', laggingReplica],
])('a Redis that %s gets a live lease back, over an earlier one, with its tick', async (_, prepare) => {
  const [holder, other] = await Promise.all([start('holder'), start('other')]);
  expect(await run(holder, TICK)).toBe('ran');
  const setBack = await prepare();
  // What will be lost: a lease that has ended, and one that lives on.
  expect(await run(other, TICK + 1)).toBe('ran');
  const { body, started, end } = job();
  const live = holder.locks.run('job', { job: JOB, tick: TICK + 2 }, body);
  await started;
  await holder.event('renewed', 'job');
  const fence = await keepsItsLease({ holder, other, live, end, tick: TICK + 2 }, setBack);
  const { fencingToken } = other.heard('acquired', 'job').at(-1) ?? {};
  expect(fencingToken).toBeGreaterThan(fence);
});

test.each([
  ['restarts from a snapshot', snapshot],
  ['is replaced by a replica', laggingReplica],
])(
  'a Redis that %s of when an older lease was live gets the live one back, with its tick',
  async (_, prepare) => {
    const [former, holder, other] = await Promise.all([start('former'), start('holder'), start('other')]);
    const older = job();
    const ran = former.locks.run('job', { job: JOB, tick: TICK }, older.body);
    await older.started;
    const setBack = await prepare();
    older.end();
    await ran;
    const { body, started, end } = job();
    const live = holder.locks.run('job', { job: JOB, tick: TICK + 1 }, body);
    await started;
    await keepsItsLease({ holder, other, live, end, tick: TICK + 1 }, setBack);
  },
);

test('a Redis that is set back to when an older lease was live has a free lock when the live one ends', async () => {
  const [holder, other] = [
    await startApp({ connection: proxy.url, ttl: '1m', instanceId: 'holder' }),
    await start('other'),
  ];
  const older = job();
  const ran = holder.locks.run('job', { job: JOB, tick: TICK }, older.body);
  await older.started;
  const setBack = await snapshot();
  older.end();
  await ran;
  const { body, started, end } = job();
  const live = holder.locks.run('job', { job: JOB, tick: TICK + 1 }, body);
  await started;
  const { fence } = await look(server, 'job');
  await setBack();
  end();
  await live;
  await until(async () => (await look(server, 'job')).fence === fence, { message: 'the end to be recorded' });
  expect(await look(server, 'job')).toEqual({ token: null, fence, ended: true });
  expect(await run(other, TICK + 2)).toBe('ran');
});

test('a Redis that restarts from an old snapshot gets no lease back that ends before the next renewal', async () => {
  const holder = await startApp({ connection: proxy.url, ttl: '1m', instanceId: 'holder' });
  expect(await run(holder, TICK)).toBe('ran');
  const setBack = await snapshot();
  const { body, started, end } = job();
  const live = holder.locks.run('job', { job: JOB, tick: TICK + 1 }, body);
  await started;
  const { token, fence } = await look(server, 'job');
  await setBack();
  expect((await look(server, 'job')).fence).toBeLessThan(fence);
  end();
  await live;
  await until(async () => (await look(server, 'job')).fence === fence, { message: 'the end to be recorded' });
  expect(await look(server, 'job')).toEqual({ token: null, fence, ended: true });
  expect(await server.command('HGET', '{scheduler:job:lock}:state', 'token')).toBe(
    String(token).split(' ')[0],
  );
});
