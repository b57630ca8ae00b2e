import { describe, expect, test } from '@jest/globals';
import { type PauseResult, SchedulerLockService } from '../../../lib/index.js';
import type { HistoryEntry } from '../../../lib/contract/history-store.js';
import { until } from '../../support/until.js';
import { gate } from '../app.js';
import { ANNA, BOB, useFleet } from './control-kit.js';
import type { QueuedCallFleet } from './queued-call-stores.js';

/** What a pause promises that has to wait, or ends by itself, on one store. */
export function pauseCases(name: string, open: () => Promise<QueuedCallFleet>): void {
  describe(`on ${name}`, () => {
    const { start, store } = useFleet(open);

    test('a pause stands behind the run that goes on, before all who wait', async () => {
      const hold = gate();
      const { app, control, ran, byHand } = await start(() => hold.opened);
      const run = byHand();
      await until(() => ran.length === 1);
      const behind: (string | undefined)[] = [];
      const pausing = control.pause({
        lock: 'invoices',
        ...ANNA,
        onWaiting: (holder) => behind.push(holder),
      });
      await until(() => behind.length === 1);
      const waiter = app
        .get(SchedulerLockService)
        .run('invoices', { wait: '1m', priority: 99 }, () =>
          Promise.reject(new Error('it ran before the pause')),
        );
      await until(() => app.events.some(({ type }) => type === 'waiting'));
      hold.open();
      await run;
      expect(await pausing).toMatchObject({ result: 'paused' });
      expect(await waiter).toMatchObject({ ran: false, reason: 'paused' });
      expect(behind).toEqual([app.get(SchedulerLockService).instanceId]);
    });

    test('whoever looks sees who waits in line, and since when: a pause, too', async () => {
      const hold = gate();
      const { app, control, ran, byHand, lock } = await start(() => hold.opened);
      const run = byHand();
      await until(() => ran.length === 1);
      expect((await lock())?.line).toBeUndefined();
      const locks = app.get(SchedulerLockService);
      const waiter = locks.run('invoices', { wait: '1m', priority: 7 }, async () => undefined);
      await until(async () => (await lock())?.line?.length === 1);
      const pausing = control.pause({ lock: 'invoices', ...ANNA });
      await until(async () => (await lock())?.line?.length === 2);
      const { since = Infinity, time = 0, line } = (await lock()) ?? {};
      expect(line).toEqual([
        {
          holder: expect.stringMatching(/^paused until .* by anna@ops: the provider is down: café$/),
          since: expect.any(Number),
          priority: 100,
        },
        { holder: locks.instanceId, since: expect.any(Number), priority: 7 },
      ]);
      const [pause, call] = line ?? [];
      expect(since).toBeLessThanOrEqual(call?.since ?? 0);
      expect(call?.since).toBeLessThanOrEqual(pause?.since ?? 0);
      expect(pause?.since).toBeLessThanOrEqual(time);
      hold.open();
      await run;
      expect(await pausing).toMatchObject({ result: 'paused' });
      await until(async () => (await lock())?.line === undefined);
      expect(await waiter).toMatchObject({ ran: false, reason: 'paused' });
    });

    test('of several pauses in one process one stands in line, and the next one if that gives up', async () => {
      const hold = gate();
      const { control, ran, byHand, lock } = await start(() => hold.opened);
      const run = byHand();
      await until(() => ran.length === 1);
      const abort = new AbortController();
      const waiting: string[] = [];
      const ask = (actor: string, signal?: AbortSignal): Promise<PauseResult> => {
        const onWaiting = (): void => void waiting.push(actor);
        return control.pause({ lock: 'invoices', ...ANNA, actor, onWaiting, ...(signal && { signal }) });
      };
      const inLine = async (): Promise<unknown[]> =>
        (await lock())?.line?.map(({ holder }) => / by (.*?):/.exec(holder ?? '')?.[1]) ?? [];
      const first = ask('first', abort.signal);
      await until(() => waiting.length === 1);
      // One after another: each looks at the store before it waits.
      const others = [ask('second')];
      await until(() => waiting.length === 2);
      others.push(ask('third'));
      await until(() => waiting.length === 3);
      expect(await inLine()).toEqual(['first']);
      abort.abort();
      await expect(first).rejects.toMatchObject({ name: 'AbortError' });
      await until(async () => (await inLine())[0] === 'second');
      expect(await inLine()).toEqual(['second']);
      const impatient = control.pause({ lock: 'invoices', ...ANNA, wait: '300ms' });
      expect(await impatient).toMatchObject({ result: 'held' });
      hold.open();
      await run;
      const pause = { actor: 'second' };
      expect(await Promise.all(others)).toMatchObject([
        { result: 'paused', pause },
        { result: 'paused-already', pause },
      ]);
    });

    test('a pause is an entry of the history once it is granted, with all of its reason, and one after its end', async () => {
      const { control, insight } = await start();
      const reason = 'é'.repeat(200);
      const paused = await control.pause({ lock: 'invoices', ...ANNA, reason });
      const fencingToken = paused.result === 'paused' ? paused.pause.fencingToken : 0;
      const kept = async (): Promise<HistoryEntry[]> => {
        const other = store();
        await other.init?.();
        const entries = await other.history?.entries({ name: 'invoices', limit: 9 });
        if (other.close !== undefined && name !== 'memory') await other.close();
        return entries ?? [];
      };
      const act = { action: 'pause', actor: ANNA.actor, reason };
      expect(await kept()).toMatchObject([{ fencingToken, by: act }]);
      const inForce = { ...act, fencingToken, until: expect.any(Number) };
      expect(await insight.controls({ lock: 'invoices' })).toEqual([expect.objectContaining(inForce)]);
      expect(await insight.job('Invoices.send')).toMatchObject({ status: 'paused' });
      expect(await insight.runs({ lock: 'invoices' })).toEqual([]);
      await control.resume({ lock: 'invoices', ...BOB });
      expect(await kept()).toMatchObject([{ fencingToken, by: { action: 'resume', started: act } }]);
      expect(await insight.controls({ lock: 'invoices' })).toMatchObject([{ action: 'resume', ...BOB }, act]);
      expect(await insight.runs({ lock: 'invoices' })).toEqual([]);
    });

    test('a pause that gives up in line changes nothing', async () => {
      const hold = gate();
      const { control, ran, byHand } = await start(() => hold.opened);
      const run = byHand();
      await until(() => ran.length === 1);
      expect(await control.pause({ lock: 'invoices', ...ANNA, wait: '300ms' })).toMatchObject({
        result: 'held',
      });
      const abort = new AbortController();
      const asked = control.pause({
        lock: 'invoices',
        ...ANNA,
        signal: abort.signal,
        onWaiting: () => abort.abort(),
      });
      await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
      hold.open();
      await run;
      await byHand();
      expect(ran).toHaveLength(2);
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

    test('a pause cannot be broken, only resumed', async () => {
      const { control } = await start();
      const paused = await control.pause({ lock: 'invoices', ...ANNA });
      const fencingToken = paused.result === 'paused' ? paused.pause.fencingToken : 0;
      expect(await control.break({ lock: 'invoices', fencingToken, ...ANNA })).toMatchObject({
        result: 'is-pause',
      });
      expect(await control.resume({ lock: 'invoices', ...BOB })).toMatchObject({ result: 'resumed' });
    });
  });
}
