import { describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { SchedulerLock } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { ANNA, BOB, controlled, skips, useFleet } from './control-kit.js';
import type { QueuedCallFleet } from './queued-call-stores.js';

/** What a run through a pause promises, on one store. */
export function throughPauseCases(name: string, open: () => Promise<QueuedCallFleet>): void {
  describe(`through a pause, on ${name}`, () => {
    const { start, elsewhere } = useFleet(open);
    const THROUGH = { job: 'Invoices.send', throughPause: true, wait: '60s', ...BOB } as const;

    test('a job runs once, and the pause stays', async () => {
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
      expect(job?.paused?.until).toBe(paused.result === 'paused' ? paused.pause.until : 0);
      await app.fire('send');
      await until(() => skips(app).length > 0);
      expect(ran).toHaveLength(1);
    });

    test('where the job is, it is a call by hand through the pause', async () => {
      const { app, control, insight, ran } = await start();
      await control.pause({ lock: 'invoices', ...ANNA });
      const request = { job: 'Invoices.send', throughPause: true, wait: '60s', ...BOB } as const;
      expect(await control.runNow(request)).toMatchObject({ result: 'started', outcome: 'completed' });
      expect(ran).toHaveLength(1);
      expect(await insight.job('Invoices.send')).toMatchObject({ status: 'paused', paused: ANNA });
      expect(controlled(app)).toEqual(['pause by anna@ops', 'run by bob']);
    });

    test('of two runs through one pause each runs once, and the pause stays', async () => {
      const { control, insight, ran } = await start();
      await control.pause({ lock: 'invoices', ...ANNA });
      const shells = [await elsewhere(), await elsewhere()];
      const results = await Promise.all(shells.map((shell) => shell.runNow(THROUGH)));
      await until(async () => (await insight.job('Invoices.send'))?.status === 'paused');
      expect(results.map(({ result }) => result)).toEqual(['started', 'started']);
      expect(ran).toHaveLength(2);
      expect((await insight.job('Invoices.send'))?.paused).toMatchObject(ANNA);
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
      expect(await shell.runNow(THROUGH)).toMatchObject({ result: 'started', outcome: 'completed' });
      expect(ran).toHaveLength(1);
      expect(app.get(Receipts).ran).toBe(0);
      expect(await insight.job('Invoices.send')).toMatchObject({ status: 'paused' });
      await control.resume({ lock: 'invoices', ...BOB });
      await until(() => app.get(Receipts).ran === 1);
      expect(controlled(app)).toEqual(['pause by anna@ops', 'run by bob', 'resume by bob']);
    });
  });
}
