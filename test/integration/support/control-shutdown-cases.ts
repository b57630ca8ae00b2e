import { describe, expect, test } from '@jest/globals';
import { LockNotAcquiredError, SchedulerLockControl, type SchedulerLockInsight } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { gate, startApp } from '../app.js';
import { ANNA, BOB, useFleet } from './control-kit.js';
import type { QueuedCallFleet } from './queued-call-stores.js';

/** What switches promise whose application closes meanwhile, on one store. */
export function controlShutdownCases(name: string, open: () => Promise<QueuedCallFleet>): void {
  describe(`at a shutdown, on ${name}`, () => {
    const { start, store, fleetLocks } = useFleet(open);
    const RUN = { job: 'Invoices.send', wait: '60s', ...BOB } as const;

    /** An instance that has no job. */
    async function office(shutdownTimeout = 25_000) {
      const app = await startApp([], { store: store(), shutdownTimeout });
      return { app, control: app.get(SchedulerLockControl) };
    }

    test('pauses that wait leave the line, and reject', async () => {
      const hold = gate();
      const { ran, byHand, lock } = await start(() => hold.opened);
      const run = byHand();
      await until(() => ran.length === 1);
      const { app, control } = await office();
      const pauses = [];
      for (let waiting = 0; waiting < 2; waiting++) {
        const told = gate();
        pauses.push(control.pause({ lock: 'invoices', ...ANNA, onWaiting: told.open }));
        await told.opened;
      }
      await until(async () => (await lock())?.line?.length === 1);
      const settled = Promise.allSettled(pauses);
      await app.close();
      const reason = { name: LockNotAcquiredError.name, lock: 'invoices', reason: 'shutting-down' };
      expect(await settled).toMatchObject(pauses.map(() => ({ status: 'rejected', reason })));
      expect((await lock())?.line).toBeUndefined();
      hold.open();
      await run;
      await byHand();
      expect(ran).toHaveLength(2);
    });

    /** The start of a run is on record: a database may write it some time after the grant. */
    const onRecord = (instance: SchedulerLockInsight): Promise<unknown> =>
      until(async () =>
        (await instance.controls({ lock: 'invoices' })).some(({ action }) => action === 'run'),
      );

    test('nobody waits for the end of a run any more', async () => {
      const hold = gate();
      const { insight } = await start(() => hold.opened);
      const { app, control } = await office();
      const run = control.runNow(RUN);
      await onRecord(insight);
      await app.close();
      expect(await run).toMatchObject({ result: 'started' });
      expect(await run).not.toHaveProperty('outcome');
      hold.open();
    });

    test('a pause that was lifted for a run comes back behind the run that the shutdown waits for', async () => {
      const hold = gate();
      const { app, control, ran } = await start(() => hold.opened);
      await control.pause({ lock: 'invoices', ...ANNA });
      const run = control.runNow({ ...RUN, throughPause: true });
      await until(() => ran.length === 1);
      const closed = app.close();
      hold.open();
      expect(await run).toMatchObject({ result: 'started', outcome: 'completed', pausedAgain: true });
      await closed;
      expect(await fleetLocks()).toMatchObject([{ holder: expect.stringContaining('by anna@ops') }]);
    });

    test('a pause that cannot come back in that time does not stay in line', async () => {
      const hold = gate();
      const { control: other, insight, lock } = await start(() => hold.opened);
      await other.pause({ lock: 'invoices', ...ANNA });
      const { app, control } = await office(300);
      const run = control.runNow({ ...RUN, throughPause: true });
      await onRecord(insight);
      expect((await lock())?.line).toHaveLength(1);
      await app.close();
      expect(await run).toMatchObject({ result: 'started', pausedAgain: false });
      expect((await lock())?.line).toBeUndefined();
      hold.open();
    });
  });
}
