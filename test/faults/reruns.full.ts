import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { startApp } from './support/app.js';
import { type Instance, type InstanceOptions, startTickInstance } from './support/instance.js';
import { faultSuite } from './support/suite.js';
import { type EmptyStore, type TickServer, tickStores } from './support/tick-stores.js';

faultSuite();

const TTL = 1_500;
const DAY = 86_400_000;

/** A tick half a minute ago, and the expression (UTC) that has it each day. */
function daily() {
  const tick = Math.trunc(Date.now() / 1_000) * 1_000 - 30_000;
  const date = new Date(tick);
  return { tick, expression: `${date.getUTCSeconds()} ${date.getUTCMinutes()} ${date.getUTCHours()} * * *` };
}

const attempts = (instances: readonly Instance[]): unknown[] =>
  instances.flatMap((instance) => instance.heard('job-started').map(({ attempt }) => attempt));

/** Whether the instance was refused because the run of this tick has ended, or may not be repeated. */
const refusedFor = (instance: Instance, tick: number, finished: boolean): boolean =>
  instance
    .heard('event:skipped')
    .some(
      (event) =>
        event['reason'] === 'already-ran' && event['tick'] === tick && event['finished'] === finished,
    );

/** Fires the job; answers whether another instance was running this tick. A busy machine may not answer in time. */
async function seesItRun(instance: Instance, tick: number): Promise<boolean> {
  await instance.fire();
  const refusal = instance.heard('event:skipped').at(-1);
  return refusal?.['reason'] === 'held' && refusal['tick'] === tick;
}

const runs = (instance: Instance): boolean => instance.heard('job-started').length > 0;

describe.each(tickStores)('with $name', ({ name, start }) => {
  let server: TickServer;
  let store: EmptyStore;
  beforeAll(async () => {
    server = await start();
  });
  beforeEach(async () => {
    store = await server.empty();
  });
  afterAll(() => server?.stop());

  /** Starts instances, and waits until each has looked for something to run again and found nothing. */
  async function startIdle(
    count: number,
    options: Partial<InstanceOptions>,
    job: Parameters<typeof startTickInstance>[1],
  ): Promise<Instance[]> {
    const all = Array.from({ length: count }, () =>
      startTickInstance({ store: store.address, ttl: TTL, ...options }, job),
    );
    const instances = await Promise.all(all);
    await Promise.all(instances.map((instance) => instance.next('event:skipped')));
    return instances;
  }

  test('the tick of a holder that was killed in the middle of its run is run again by exactly one other', async () => {
    const { tick, expression } = daily();
    const [holder, ...others] = await startIdle(3, { rerun: 1 }, { expression });
    expect(await holder?.fire()).toBe(true);
    for (const other of others) await until(() => seesItRun(other, tick));
    await holder?.kill();
    const next = await until(() => others.find(runs), { message: 'another instance to run the tick again' });
    expect(next.heard('job-started')).toMatchObject([{ tick, attempt: 2 }]);
    expect(await next.endJob()).toMatchObject({ outcome: 'completed', tick, attempt: 2 });
    const last = others.find((other) => other !== next);
    await until(() => last !== undefined && refusedFor(last, tick, true));
    expect(attempts(others)).toEqual([2]);
  });

  test('a tick that came while all instances were down is run once by those that start, and not by the next ones', async () => {
    const { tick, expression } = daily();
    const before = await startApp(store.options);
    await before.locks.run('nightly', { job: 'nightly', tick: tick - DAY }, () => undefined);
    await before.close();
    const options: InstanceOptions = { store: store.address, ttl: TTL, catchUp: '1h' };
    const instances = await Promise.all([1, 2, 3].map(() => startTickInstance(options, { expression })));
    const one = await until(() => instances.find(runs));
    expect(one.heard('job-started')).toMatchObject([{ tick, attempt: 1 }]);
    await one.endJob();
    await Promise.all(
      instances.filter((instance) => instance !== one).map((each) => each.next('event:skipped')),
    );
    expect(attempts(instances)).toEqual([1]);
    await Promise.all(instances.map((instance) => instance.kill()));
    const [restarted] = await startIdle(1, { catchUp: '1h' }, { expression });
    expect(refusedFor(restarted as Instance, tick, true)).toBe(true);
  });

  if (name !== 'Redis') return;

  // What is left for the processes once a store counts attempts, which the contract holds for each.

  test('a job that kills its process is run again once over three instances with rerun 1, not once by each', async () => {
    const { tick, expression } = daily();
    const instances = await startIdle(3, { rerun: 1, ttl: 500 }, { expression, deadly: true });
    const alive = (): Instance[] => instances.filter(({ running }) => running);
    await until(async () => {
      // As often as it is fired, or watched: one that dies does not answer.
      await Promise.all(alive().map((instance) => instance.fire().catch(() => undefined)));
      return alive().length === 1 && alive().every((instance) => refusedFor(instance, tick, false));
    });
    expect(attempts(instances).toSorted()).toEqual([1, 2]);
    // Nor by one that is started after it.
    const [late] = await startIdle(1, { rerun: 1, ttl: 500 }, { expression, deadly: true });
    expect(late?.heard('event:skipped')).toMatchObject([{ reason: 'already-ran', tick, finished: false }]);
    for (const instance of instances.filter(({ running }) => !running)) await instance.kill();
  });

  test('a job that was orphaned while no other instance was up is run again by the next one to start', async () => {
    const { tick, expression } = daily();
    const [only] = await startIdle(1, { rerun: 1 }, { expression });
    expect(await only?.fire()).toBe(true);
    await only?.kill();
    // Before the lease has expired as well as after it.
    const next = await startTickInstance({ store: store.address, ttl: TTL, rerun: 1 }, { expression });
    await until(() => runs(next));
    expect(next.heard('job-started')).toMatchObject([{ tick, attempt: 2 }]);
    await next.endJob();
  });
});
