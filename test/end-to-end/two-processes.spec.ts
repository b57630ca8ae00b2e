import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  expectEachTickOnce,
  type Instance,
  type InstanceOptions,
  startInstance,
  startTickInstance,
} from '../faults/support/instance.js';
import { faultSuite } from '../faults/support/suite.js';
import { until } from '../support/until.js';
import { PLACES, type Place } from './places.js';

/*
 * What the README promises of a fleet, seen from outside: two processes that load the built package. Each promise once; what
 * else can befall a fleet is in test/faults.
 */

faultSuite();

/** Of the leases that are to run out, ms. */
const TTL = 1_500;
/** Of those that are not, however busy the machine is. */
const LONG = '1h';

describe.each(PLACES)('on %s', (_name, open) => {
  let place: Place;
  let where: Pick<InstanceOptions, 'store' | 'keyPrefix'>;
  // A PostgreSQL that is compiled to WebAssembly takes long to begin on a busy machine.
  beforeAll(async () => {
    place = await open();
  }, 120_000);
  beforeEach(() => {
    where = place.empty();
  });
  afterAll(() => place?.stop());

  const start = (instanceId: string, ttl: string | number): Promise<Instance> =>
    startInstance({ ...where, instanceId, ttl: ttl as number, insight: false });
  /** Two instances of one job, which is fired at the same dates on both. */
  const startTicking = (options: Partial<InstanceOptions>, job: Parameters<typeof startTickInstance>[1]) =>
    Promise.all(
      ['first', 'second'].map((instanceId) =>
        startTickInstance({ ...where, instanceId, insight: false, ...options }, job),
      ),
    );

  test('a job whose instance is killed runs on the other one when the lease is over, with a greater fencing token', async () => {
    const [first, second] = await Promise.all([start('first', TTL), start('second', LONG)]);
    const fence = await first.takeOver();
    await first.next('event:renewed');
    await first.kill();
    expect(await second.takeOver()).toBeGreaterThan(fence);
    // Until then it was refused.
    expect(second.heard('event:skipped')[0]).toMatchObject({ reason: 'held', holder: 'first' });
  });

  test('an instance that shuts down gives its lease back, and the other one need not wait for the ttl', async () => {
    const [first, second] = await Promise.all([start('first', LONG), start('second', LONG)]);
    const fence = await first.takeOver();
    expect(await second.fire()).toBe(false);
    await first.close();
    expect(await second.takeOver()).toBeGreaterThan(fence);
  });

  test('each tick of a cron job runs on one of the two', async () => {
    const fleet = await startTicking({ ttl: LONG }, { expression: '* * * * * *', quick: true });
    await expectEachTickOnce(fleet);
  });

  test('with `rerun`, the tick whose instance is killed runs again on the other one', async () => {
    // Once a year, and not now: it is fired by hand, as the tick of its last date.
    const fleet = await startTicking({ ttl: TTL, rerun: 1 }, { expression: '0 0 1 1 *' });
    const [first, second] = fleet as [Instance, Instance];
    // At its start each has looked for a tick to run again, and found none.
    await Promise.all(fleet.map((instance) => instance.next('event:skipped')));
    expect(await first.fire()).toBe(true);
    const tick = first.heard('job-started')[0]?.['tick'];
    expect(tick).toEqual(expect.any(Number));
    await until(
      async () => !(await second.fire()) && second.heard('event:skipped').at(-1)?.['reason'] === 'held',
      {
        message: 'the other one to see that the tick runs',
      },
    );
    await first.kill();
    expect(await second.next('job-started')).toMatchObject({ tick, attempt: 2 });
  });
});
