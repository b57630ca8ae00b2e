import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { SchedulerRegistry } from '@nestjs/schedule';
import {
  type AcquiredLock,
  MemoryLockStore,
  SchedulerLeader,
  SchedulerLockService,
} from '../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../lib/contract/lock-store.js';
import { closeApps, gate, startApp, type TestApp } from './app.js';
import { JOB_TTL, NightlyFleet, SPREAD } from './leader-clock.js';
import { elected } from './leader-support.js';
import { fireAndWait, request, runIn, skipped } from './tick-support.js';

afterEach(closeApps);

/** How long the lease that is in the way lives on after the tick, ms. */
const LEFT = 1_500;
/** How long after the election the tick comes, ms: a lease of the last leader can be in its way, or no more. */
const SOON = 1_000;
const LATER = JOB_TTL + 1_000;

interface Refused {
  readonly app: TestApp;
  readonly fleet: NightlyFleet;
  /** Lets the time pass in which a lease in the way ends, and a refused tick is asked for again. */
  readonly over: () => Promise<void>;
}

/**
 * An instance that leads, and whose job is refused when its date comes.
 *
 * @param occupy takes the lock of the job
 * @param after how long after the election the date comes, ms
 */
async function refused(
  occupy: (fleet: NightlyFleet, app: TestApp) => Promise<unknown> = (fleet) => fleet.die(LEFT),
  { after = SOON, Store = MemoryLockStore } = {},
): Promise<Refused> {
  const fleet = new NightlyFleet(after, Store);
  const app = await fleet.start();
  await elected(app);
  await occupy(fleet, app);
  await fleet.clock.advance(after);
  await fireAndWait(app, 'nightly');
  expect(fleet.runs).toEqual([]);
  return { app, fleet, over: () => fleet.clock.advance(LEFT + SPREAD) };
}

describe('soon after the election, a tick of the leader that is refused by a lease', () => {
  test('runs when that has ended, once', async () => {
    const { app, fleet, over } = await refused();
    expect(skipped(app)).toMatchObject([{ reason: 'held', callTick: fleet.tick, holder: 'gone' }]);
    await over();
    expect(fleet.runs).toEqual([fleet.tick]);
  });

  test('runs, too, where it was not for the job itself: for another job of the lock, say', async () => {
    const { app, fleet, over } = await refused((one) => one.die(LEFT, { job: 'other', tick: one.tick }));
    expect(skipped(app)).toMatchObject([{ reason: 'held', callTick: fleet.tick, holder: 'gone' }]);
    await over();
    expect(fleet.runs).toEqual([fleet.tick]);
  });

  test('does not run where another instance was faster', async () => {
    class Racing extends MemoryLockStore {
      #ran: Promise<unknown> | undefined;
      override async acquire(lease: AcquireRequest): Promise<AcquireResult> {
        const [state] = (await this.inspect()).filter(({ name }) => name === 'nightly');
        if (lease.name === 'nightly' && lease.holder !== 'gone' && state?.state === 'free')
          await (this.#ran ??= runIn(this, request('nightly', lease.tick ?? 0)));
        return super.acquire(lease);
      }
    }
    const { app, fleet, over } = await refused(undefined, { Store: Racing });
    await over();
    expect(skipped(app)).toMatchObject([{ reason: 'held' }, { reason: 'already-ran', tick: fleet.tick }]);
    expect(fleet.runs).toEqual([]);
  });

  test.each<[string, (registry: SchedulerRegistry) => unknown]>([
    ['stopped', (registry) => registry.getCronJob('nightly').stop()],
    ['deleted', (registry) => registry.deleteCronJob('nightly')],
  ])('does not run if its job was %s meanwhile', async (_, act) => {
    const { app, fleet, over } = await refused();
    await act(app.get(SchedulerRegistry));
    await over();
    expect(fleet.runs).toEqual([]);
    expect(skipped(app)).toHaveLength(1);
  });

  test('does not run if this instance was revoked meanwhile', async () => {
    const { app, fleet, over } = await refused();
    await app.get(SchedulerLeader).resign();
    await over();
    expect(skipped(app)).toHaveLength(2);
    expect(skipped(app)[1]).toMatchObject({ reason: 'not-leader', callTick: fleet.tick });
    expect(fleet.runs).toEqual([]);
  });
});

describe('later, a tick of the leader is skipped', () => {
  test('while its job runs in this very process', async () => {
    const job = gate();
    const occupy = async (_: NightlyFleet, app: TestApp): Promise<void> => {
      const began = gate();
      void app.get(SchedulerLockService).run('nightly', () => (began.open(), job.opened));
      await began.opened;
    };
    const { app, fleet, over } = await refused(occupy, { after: LATER });
    job.open();
    await over();
    expect(skipped(app)).toMatchObject([{ reason: 'held', callTick: fleet.tick }]);
    expect(fleet.runs).toEqual([]);
  });

  test('while somebody has its lock elsewhere', async () => {
    let lock: AcquiredLock | undefined;
    const occupy = async ({ store, clock }: NightlyFleet): Promise<void> => {
      const other = await startApp([], { store, clock, instanceId: 'other' });
      lock = await other.get(SchedulerLockService).acquire('nightly', { ttl: LEFT });
    };
    const { app, fleet, over } = await refused(occupy, { after: LATER });
    await lock?.release();
    await over();
    expect(skipped(app)).toMatchObject([{ reason: 'held', callTick: fleet.tick, holder: 'other' }]);
    expect(fleet.runs).toEqual([]);
  });
});
