import { describe, expect, test } from '@jest/globals';
import { SchedulerLockService } from '../../../lib/index.js';
import type { HistoryEntry } from '../../../lib/contract/history-store.js';
import { until } from '../../support/until.js';
import { gate } from '../app.js';
import { ANNA, BOB, useFleet } from './control-kit.js';
import type { QueuedCallFleet } from './queued-call-stores.js';

/** What a pause promises that has to wait, or ends by itself, on one store. */
export function pauseCases(name: string, open: () => Promise<QueuedCallFleet>): void {
  describe(`on ${name}`, () => {
    const { start, store } = useFleet(open);

    test('a pause is in force at once, names the run that goes on, and waits for its end if it is asked to', async () => {
      const hold = gate();
      const { app, control, insight, ran, byHand, lock } = await start(() => hold.opened);
      const run = byHand();
      await until(() => ran.length === 1);
      const locks = app.get(SchedulerLockService);
      const waiter = locks.run('invoices', { wait: '1m', priority: 99 }, () =>
        Promise.reject(new Error('it ran under the pause')),
      );
      await until(() => app.events.some(({ type }) => type === 'waiting'));
      const { fencingToken } = ran[0] ?? {};
      const running = { holder: locks.instanceId, fencingToken };
      expect(await control.pause({ lock: 'invoices', ...ANNA })).toMatchObject({ result: 'paused', running });
      expect(await lock()).toMatchObject({ state: 'held', fencingToken, paused: ANNA });
      expect(await waiter).toMatchObject({ ran: false, reason: 'paused' });
      expect(await insight.job('Invoices.send')).toMatchObject({ status: 'running', paused: ANNA });
      await control.resume({ lock: 'invoices', ...BOB });
      const behind: (string | undefined)[] = [];
      const onWaiting = (holder?: string): void => void behind.push(holder);
      const short = await control.pause({ lock: 'invoices', ...ANNA, wait: '300ms', onWaiting });
      expect(short).toMatchObject({ result: 'paused', running });
      await control.resume({ lock: 'invoices', ...BOB });
      const pausing = control.pause({ lock: 'invoices', ...ANNA, wait: '1h', onWaiting });
      await until(() => behind.length === 2);
      hold.open();
      await run;
      expect(await pausing).not.toHaveProperty('running');
      expect(behind).toEqual([locks.instanceId, locks.instanceId]);
    });

    test('a pause is an entry of the history once it is in force, with all of its reason, and so is its end', async () => {
      const { control, insight } = await start();
      const reason = 'é'.repeat(200);
      await control.pause({ lock: 'invoices', ...ANNA, reason });
      const kept = async (): Promise<HistoryEntry[]> => {
        const other = store();
        await other.init?.();
        const entries = await other.history?.entries({ name: 'invoices', limit: 9 });
        if (other.close !== undefined && name !== 'memory') await other.close();
        return entries ?? [];
      };
      const act = { action: 'pause', actor: ANNA.actor, reason };
      expect(await kept()).toMatchObject([{ by: act }]);
      const inForce = { ...act, until: expect.any(Number) };
      expect(await insight.controls({ lock: 'invoices' })).toEqual([expect.objectContaining(inForce)]);
      expect(await insight.job('Invoices.send')).toMatchObject({ status: 'paused' });
      expect(await insight.runs({ lock: 'invoices' })).toEqual([]);
      await control.resume({ lock: 'invoices', ...BOB });
      expect(await kept()).toMatchObject([{ by: { action: 'resume' } }, { by: act }]);
      expect(await insight.controls({ lock: 'invoices' })).toMatchObject([{ action: 'resume', ...BOB }, act]);
      expect(await insight.runs({ lock: 'invoices' })).toEqual([]);
    });

    test('a pause that has run out is over, and is no interrupted run', async () => {
      const { app, control, insight, ran, byHand } = await start();
      await control.pause({ lock: 'invoices', ...ANNA, for: '1s' });
      await until(async () => {
        await byHand();
        return ran.length === 1;
      });
      expect(app.events.filter(({ type }) => type === 'interrupted')).toEqual([]);
      await until(async () => (await insight.job('Invoices.send'))?.status === 'ok');
      expect(await insight.controls({ lock: 'invoices' })).toMatchObject([{ action: 'pause', ...ANNA }]);
    });

    test('a pause counts no fencing token, and breaking the run before it ends no pause', async () => {
      const { control, insight, ran, byHand } = await start();
      await byHand();
      const { fencingToken = 0 } = ran[0] ?? {};
      await control.pause({ lock: 'invoices', ...ANNA });
      expect(await control.break({ lock: 'invoices', fencingToken, ...ANNA })).toEqual({
        result: 'gone',
        lock: 'invoices',
      });
      expect(await insight.job('Invoices.send')).toMatchObject({ status: 'paused' });
      expect(await control.resume({ lock: 'invoices', ...BOB })).toMatchObject({ result: 'resumed' });
    });
  });
}
