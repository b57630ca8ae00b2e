import { describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { type LockStore, SchedulerLock, StoreUnavailableError } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { gate } from '../app.js';
import { ANNA, BOB, controlled, skips, useFleet } from './control-kit.js';
import type { QueuedCallFleet } from './queued-call-stores.js';

/** A store that does not answer some calls: as many of these as are left. */
const failing = (
  store: LockStore,
  method: 'acquire' | 'release',
  away: { left: number; failed: number },
): LockStore =>
  new Proxy(store, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (key !== method || away.left === 0) return Reflect.apply(value, target, args);
        away.left--;
        away.failed++;
        return Promise.reject(new StoreUnavailableError('It is away.', { outcome: 'not-applied' }));
      };
    },
  });

/** What a run through a pause promises, on one store. */
export function throughPauseCases(name: string, open: () => Promise<QueuedCallFleet>): void {
  describe(`through a pause, on ${name}`, () => {
    const { start, elsewhere, store } = useFleet(open);
    const THROUGH = { job: 'Invoices.send', throughPause: true, wait: '60s', ...BOB } as const;

    test('a job runs once, and the pause is there again behind it', async () => {
      const { app, control, insight, ran } = await start();
      const paused = await control.pause({ lock: 'invoices', for: '2h', ...ANNA });
      const shell = await elsewhere();
      const request = { job: 'Invoices.send', wait: '60s', ...BOB } as const;
      expect(await shell.runNow(request)).toMatchObject({ result: 'paused', pause: ANNA });
      expect(await shell.runNow({ ...request, throughPause: true })).toMatchObject({
        result: 'started',
        outcome: 'completed',
      });
      expect(ran).toHaveLength(1);
      const job = await insight.job('Invoices.send');
      expect(job).toMatchObject({ status: 'paused', paused: ANNA });
      expect(job?.paused?.until).toBeLessThanOrEqual(
        (paused.result === 'paused' ? paused.pause.until : 0) + 1_000,
      );
      await app.fire('send');
      await until(() => skips(app).length > 0);
      expect(ran).toHaveLength(1);
    });

    test('whoever resumes the job meanwhile keeps the pause from coming back', async () => {
      const hold = gate();
      const { control, insight, ran, lock, byHand } = await start(() => hold.opened);
      await control.pause({ lock: 'invoices', ...ANNA });
      const shell = await elsewhere();
      const run = shell.runNow(THROUGH);
      await until(() => ran.length === 1);
      expect(await control.resume({ job: 'Invoices.send', actor: 'carol' })).toMatchObject({
        result: 'resumed',
        pause: ANNA,
      });
      hold.open();
      expect(await run).toMatchObject({ result: 'started', outcome: 'completed', pausedAgain: false });
      expect(await control.resume({ job: 'Invoices.send', actor: 'carol' })).toMatchObject({
        result: 'not-paused',
      });
      await until(async () => (await lock())?.state === 'free');
      await byHand();
      expect(ran).toHaveLength(2);
      expect((await insight.controls({ lock: 'invoices' })).map(({ actor }) => actor)).toContain('carol');
    });

    test('of two runs through one pause each runs once, and the pause is there again', async () => {
      const { control, insight, ran } = await start();
      await control.pause({ lock: 'invoices', ...ANNA });
      const shells = [await elsewhere(), await elsewhere()];
      const results = await Promise.all(shells.map((shell) => shell.runNow(THROUGH)));
      await until(async () => (await insight.job('Invoices.send'))?.status === 'paused');
      expect(results.map(({ result }) => result)).toEqual(['started', 'started']);
      expect(ran).toHaveLength(2);
      expect((await insight.job('Invoices.send'))?.paused).toMatchObject(ANNA);
    });

    test('a store that is away for a moment does not cost the pause', async () => {
      const hold = gate();
      const { control, insight, ran } = await start(() => hold.opened);
      await control.pause({ lock: 'invoices', ...ANNA });
      const away = { left: 0, failed: 0 };
      const shell = await elsewhere(failing(store(), 'acquire', away));
      const run = shell.runNow(THROUGH);
      await until(() => ran.length === 1);
      away.left = 3;
      await until(() => away.failed === 3);
      hold.open();
      expect(await run).toMatchObject({ result: 'started', pausedAgain: true });
      expect(await insight.job('Invoices.send')).toMatchObject({ status: 'paused', paused: ANNA });
    });

    test('nor does it make the pause of a job stay that somebody has resumed meanwhile', async () => {
      const hold = gate();
      const { control, ran, lock } = await start(() => hold.opened);
      await control.pause({ lock: 'invoices', ...ANNA });
      const away = { left: 0, failed: 0 };
      const shell = await elsewhere(failing(store(), 'release', away));
      const run = shell.runNow(THROUGH);
      await until(() => ran.length === 1);
      expect(await control.resume({ lock: 'invoices', ...BOB })).toMatchObject({ result: 'resumed' });
      away.left = 1;
      hold.open();
      expect(await run).toMatchObject({ result: 'started', pausedAgain: false });
      expect(away.failed).toBe(1);
      await until(async () => (await lock())?.state === 'free');
    });

    test('queued calls of less priority that wait behind the pause do not stop it', async () => {
      @Injectable()
      class Receipts {
        ran = 0;
        @SchedulerLock({ name: 'invoices', onHeld: 'queue', ttl: '3s' })
        async print(): Promise<void> {
          this.ran++;
        }
      }
      const { app, control, insight, ran } = await start(undefined, undefined, [Receipts]);
      await control.pause({ lock: 'invoices', ...ANNA });
      await app.get(Receipts).print();
      await until(() => app.events.some((event) => event.type === 'skipped' && event.reason === 'queued'));
      const shell = await elsewhere();
      expect(await shell.runNow(THROUGH)).toMatchObject({ result: 'started', pausedAgain: true });
      expect(ran).toHaveLength(1);
      expect(app.get(Receipts).ran).toBe(0);
      expect(await insight.job('Invoices.send')).toMatchObject({ status: 'paused' });
      await control.resume({ lock: 'invoices', ...BOB });
      await until(() => app.get(Receipts).ran === 1);
      expect(controlled(app)).toEqual(['pause by anna@ops', 'run by bob', 'resume by bob']);
    });
  });
}
