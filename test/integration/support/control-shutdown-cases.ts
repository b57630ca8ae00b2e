import { describe, expect, test } from '@jest/globals';
import { SchedulerLockControl, type SchedulerLockInsight } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { gate, startApp } from '../app.js';
import { ANNA, BOB, useFleet } from './control-kit.js';
import type { QueuedCallFleet } from './queued-call-stores.js';

/** What switches promise whose application closes meanwhile, on one store. */
export function controlShutdownCases(name: string, open: () => Promise<QueuedCallFleet>): void {
  describe(`at a shutdown, on ${name}`, () => {
    const { start, store } = useFleet(open);
    const RUN = { job: 'Invoices.send', wait: '60s', ...BOB } as const;

    /** An instance that has no job. */
    async function office() {
      const app = await startApp([], { store: store() });
      return { app, control: app.get(SchedulerLockControl) };
    }

    test('a pause that waits for the end of a run is in force, and waits no longer', async () => {
      const hold = gate();
      const { ran, byHand, lock } = await start(() => hold.opened);
      const run = byHand();
      await until(() => ran.length === 1);
      const { app, control } = await office();
      const told = gate();
      const pausing = control.pause({ lock: 'invoices', ...ANNA, wait: '1h', onWaiting: told.open });
      await told.opened;
      await app.close();
      expect(await pausing).toMatchObject({ result: 'paused', running: expect.anything() });
      expect(await lock()).toMatchObject({ paused: ANNA });
      hold.open();
      await run;
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
  });
}
