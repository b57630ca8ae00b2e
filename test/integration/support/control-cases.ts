import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, SchedulerRegistry } from '@nestjs/schedule';
import { currentLock, type LockStore, SchedulerLock, SchedulerLockService } from '../../../lib/index.js';
import { until } from '../../support/until.js';
import { gate } from '../app.js';
import { ANNA, BOB, controlled, skips, useFleet } from './control-kit.js';
import type { QueuedCallFleet } from './queued-call-stores.js';

/** What switches promise, on one store. */
export function controlCases(name: string, open: () => Promise<QueuedCallFleet>): void {
  describe(`on ${name}`, () => {
    const { start, elsewhere, fleetLocks, store } = useFleet(open);

    test('a paused job starts on no instance, and everybody knows who paused it, why and until when', async () => {
      const one = await start();
      const two = await start();
      const { insight } = one;
      const paused = await one.control.pause({ job: 'Invoices.send', for: '30d', ...ANNA });
      expect(paused).toMatchObject({
        result: 'paused',
        pause: { lock: 'invoices', ...ANNA },
        jobs: ['Invoices.send'],
      });
      for (const { app, byHand } of [one, two]) {
        await app.fire('send');
        // The call goes on when that resolves.
        await until(() => skips(app).length === 1);
        await byHand();
        await app.get(SchedulerLockService).run('invoices', () => Promise.reject(new Error('it ran')));
      }
      expect([...one.ran, ...two.ran]).toEqual([]);
      expect(skips(two.app)).toEqual(Array.from({ length: 3 }, () => ['paused', 'anna@ops']));
      const job = await insight.job('Invoices.send');
      expect(job).toMatchObject({ status: 'paused', attention: false, paused: ANNA });
      const days = ((job?.paused?.until ?? 0) - (job?.paused?.since ?? 0)) / 86_400_000;
      expect(days).toBeGreaterThan(29.9);
      expect(days).toBeLessThanOrEqual(30);
      const { sentence, ...why } = await insight.why('Invoices.send');
      expect(why).toMatchObject({ cause: 'paused', pause: ANNA });
      expect(sentence).toMatch(/paused by anna@ops from .* to .* \(the provider is down: café\)\.$/);
      expect(await two.control.pause({ lock: 'invoices', ...BOB, reason: 'me, too' })).toMatchObject({
        result: 'paused-already',
        pause: ANNA,
      });
      expect(await two.lock()).toMatchObject({
        state: 'free',
        paused: ANNA,
      });
      expect(Object.keys((await two.lock()) ?? {})).not.toContain('token');
    });

    test('a resumed job runs again, and its history has what was done, by whom and when', async () => {
      const { app, control, insight, ran, byHand } = await start();
      await control.pause({ job: 'Invoices.send', ...ANNA });
      expect(await control.resume({ job: 'Invoices.send', ...BOB })).toMatchObject({
        result: 'resumed',
        pause: ANNA,
      });
      expect(await control.resume({ lock: 'invoices', ...BOB })).toEqual({
        result: 'not-paused',
        lock: 'invoices',
      });
      await byHand();
      expect(ran).toHaveLength(1);
      await until(async () => (await insight.controls({ job: 'Invoices.send' })).length === 2);
      const [resumed, paused] = await insight.controls({ job: 'Invoices.send' });
      expect(paused).toMatchObject({ action: 'pause', lock: 'invoices', ...ANNA });
      expect(resumed).toMatchObject({ action: 'resume', lock: 'invoices', ...BOB });
      expect(paused?.until).toBe(resumed?.at);
      expect(controlled(app)).toEqual(['pause by anna@ops', 'resume by bob']);
      // A pause is no run, and one that was lifted is no interruption.
      await until(async () => (await insight.runs({ lock: 'invoices' })).length === 1);
      expect(await insight.runs({ lock: 'invoices' })).toMatchObject([
        { outcome: 'completed', trigger: 'hand' },
      ]);
      expect((await insight.job('Invoices.send'))?.status).toBe('ok');
      // What people did does not hide the last run.
      await control.pause({ job: 'Invoices.send', ...ANNA });
      await control.resume({ job: 'Invoices.send', ...BOB });
      await until(async () => (await insight.controls({ lock: 'invoices' })).length === 4);
      expect(await insight.runs({ lock: 'invoices', limit: 1 })).toMatchObject([{ trigger: 'hand' }]);
    });

    test('what a person does in the shell is on record, and only the run that begins here is an event of an application', async () => {
      const { app, insight, byHand } = await start();
      const shell = await elsewhere();
      expect(await shell.pause({ job: 'Invoices.send', ...ANNA })).toMatchObject({ result: 'paused' });
      await byHand();
      expect(skips(app)).toEqual([['paused', 'anna@ops']]);
      expect(await shell.resume({ job: 'Invoices.send', ...BOB })).toMatchObject({ result: 'resumed' });
      const request = { job: 'Invoices.send', wait: '60s', ...BOB } as const;
      expect(await shell.runNow(request)).toMatchObject({ result: 'started', outcome: 'completed' });
      expect(controlled(app)).toEqual(['run by bob']);
      const acts = await insight.controls({ job: 'Invoices.send' });
      expect(acts.map(({ action, actor }) => `${action} by ${actor}`)).toEqual([
        'run by bob',
        'resume by bob',
        'pause by anna@ops',
      ]);
    });

    test('who names a lock for a job pauses and resumes that lock, and is told which job to run', async () => {
      const { control, insight } = await start();
      await until(async () => (await insight.job('Invoices.send')) !== undefined);
      const lock = { pause: expect.objectContaining({ lock: 'invoices' }), jobs: ['Invoices.send'] };
      expect(await control.pause({ job: 'invoices', ...ANNA })).toEqual({ result: 'paused', ...lock });
      expect(await control.resume({ job: 'invoices', ...ANNA })).toMatchObject({
        result: 'resumed',
        ...lock,
      });
      expect(await control.runNow({ job: 'invoices', ...ANNA })).toEqual({
        result: 'nobody-has-it',
        job: 'invoices',
        jobs: ['Invoices.send'],
        why: 'it is the lock of Invoices.send, and no job. Name the job.',
      });
    });

    test('a job whose runs are not remembered runs now on its own instances only: nobody elsewhere would see its end', async () => {
      @Injectable()
      class Forgotten {
        @Cron('0 0 1 1 *')
        @SchedulerLock({ name: 'forgotten', history: false })
        async run(): Promise<void> {
          currentLock();
        }
      }
      const { insight } = await start(undefined, undefined, [Forgotten]);
      await until(async () => (await insight.job('Forgotten.run')) !== undefined);
      const shell = await elsewhere();
      expect(await shell.runNow({ job: 'Forgotten.run', ...ANNA })).toMatchObject({
        result: 'nobody-has-it',
      });
    });

    test('a broken lease is that which was seen; its run counts as aborted, and its signal aborts at a heartbeat', async () => {
      const hold = gate();
      const { app, control, insight, ran, byHand } = await start(() => hold.opened);
      const run = byHand();
      await until(() => ran.length === 1);
      const { fencingToken = 0, signal } = ran[0] ?? {};
      const other = { lock: 'invoices', fencingToken: fencingToken + 1, ...ANNA };
      expect(await control.break(other)).toMatchObject({ result: 'gone', fencingToken });
      expect(await control.break({ ...other, fencingToken })).toMatchObject({
        result: 'broken',
        job: 'Invoices.send',
        holder: app.get(SchedulerLockService).instanceId,
      });
      expect(await control.break({ ...other, fencingToken })).toEqual({ result: 'gone', lock: 'invoices' });
      await until(() => signal?.aborted === true);
      hold.open();
      await run;
      await until(async () => (await insight.runs({ lock: 'invoices' }))[0]?.outcome === 'aborted');
      const runs = await insight.runs({ lock: 'invoices' });
      expect(runs).toMatchObject([{ fencingToken, by: { action: 'break', ...ANNA } }]);
      expect((await insight.why('Invoices.send')).sentence).toContain('anna@ops has ended its lease');
      expect(await insight.controls({ lock: 'invoices' })).toMatchObject([
        { action: 'break', job: 'Invoices.send', fencingToken, ...ANNA },
      ]);
    });

    test('a broken run of a person still tells who had started it, also when its job ends later', async () => {
      const hold = gate();
      const { control, insight, ran, app } = await start(() => hold.opened);
      const shell = await elsewhere();
      const asked = shell.runNow({ job: 'Invoices.send', wait: '60s', ...BOB });
      await until(() => ran.length === 1);
      const { fencingToken = 0 } = ran[0] ?? {};
      await until(async () => (await insight.runs({ lock: 'invoices' }))[0]?.by !== undefined);
      expect(await control.break({ lock: 'invoices', fencingToken, ...ANNA })).toMatchObject({
        result: 'broken',
      });
      expect(await asked).toMatchObject({ result: 'started', fencingToken, outcome: 'aborted' });
      hold.open();
      await until(() => app.events.some((event) => event.type === 'lost' || event.type === 'released'));
      expect(await insight.runs({ lock: 'invoices' })).toMatchObject([
        {
          fencingToken,
          outcome: 'aborted',
          by: { action: 'break', ...ANNA, started: { action: 'run', ...BOB } },
        },
      ]);
      expect(await insight.controls({ lock: 'invoices' })).toMatchObject([
        { action: 'break', ...ANNA, fencingToken },
        { action: 'run', ...BOB, fencingToken },
      ]);
    });

    test('a job that was made at run time runs now from elsewhere, too, until it is deleted', async () => {
      const { app, control, insight } = await start();
      const ran: string[] = [];
      const own = { lock: 'nightly', ttl: '3s' } as const;
      app.get(SchedulerLockService).cron('nightly', '0 0 1 1 *', own, () => void ran.push('nightly'));
      const shell = await elsewhere();
      const request = { job: 'nightly', wait: '60s', ...BOB } as const;
      await until(async () => (await shell.runNow(request)).result === 'started');
      expect(ran).toEqual(['nightly']);
      app.get(SchedulerRegistry).deleteCronJob('nightly');
      await until(async () => (await insight.job('nightly')) === undefined);
      expect(await control.runNow(request)).toMatchObject({ result: 'nobody-has-it' });
      expect(ran).toEqual(['nightly']);
    });

    test('a job runs now, here, unless it is held or paused, and its run says who wanted it', async () => {
      const hold = gate();
      const { app, control, insight, ran } = await start(() => hold.opened);
      const started = await control.runNow({ job: 'Invoices.send', args: ['7'], ...ANNA });
      const { fencingToken } = ran[0] ?? {};
      const instance = app.get(SchedulerLockService).instanceId;
      expect(started).toEqual({ result: 'started', lock: 'invoices', fencingToken, instance });
      expect(ran[0]?.args).toEqual(['7']);
      const by = { action: 'run', ...ANNA };
      await until(async () => (await insight.runs({ lock: 'invoices' }))[0]?.by !== undefined);
      expect(await insight.runs({ lock: 'invoices' })).toMatchObject([
        { outcome: 'running', trigger: 'control', by },
      ]);
      expect(await control.runNow({ job: 'Invoices.send', ...BOB })).toEqual({
        result: 'held',
        lock: 'invoices',
        holder: instance,
      });
      hold.open();
      await until(async () => (await insight.runs({ lock: 'invoices' }))[0]?.outcome === 'completed');
      expect(await insight.runs({ lock: 'invoices' })).toMatchObject([
        { fencingToken, trigger: 'control', by },
      ]);
      expect(await control.runNow({ job: 'Invoices.send', wait: '10s', ...BOB })).toMatchObject({
        result: 'started',
        outcome: 'completed',
      });
      await control.pause({ lock: 'invoices', ...ANNA });
      expect(await control.runNow({ job: 'Invoices.send', ...BOB })).toMatchObject({
        result: 'paused',
        pause: ANNA,
      });
      expect(controlled(app)).toEqual(['run by anna@ops', 'run by bob', 'pause by anna@ops']);
    });

    test('queued calls of two persons with one key are one, of the first, with the arguments of the second; both see its end', async () => {
      const hold = gate();
      const { insight, ran, byHand } = await start(() => hold.opened);
      const shell = await elsewhere();
      const run = byHand();
      await until(() => ran.length === 1);
      const keyed = { job: 'Invoices.send', key: 'november', wait: '20s' } as const;
      // A comma, a quote and a name of the text that is kept: it is told apart from them.
      const reason = 'she said ,"args":[1]}';
      const first = shell.runNow({ ...keyed, actor: 'first', reason, args: ['old', { args: [1] }] });
      await until(async () => (await fleetLocks())?.[0]?.queued === 1);
      const other = store();
      const merged = mergedIn(other);
      const second = (await elsewhere(other)).runNow({ ...keyed, ...BOB, args: [{ args: ',"args":' }] });
      await until(() => merged() === 1);
      hold.open();
      await run;
      const end = { result: 'started', outcome: 'completed' };
      expect(await Promise.all([first, second])).toMatchObject([end, end]);
      expect(ran.map(({ args }) => args)).toEqual([[], [{ args: ',"args":' }]]);
      const [done] = await insight.runs({ lock: 'invoices' });
      expect(done).toMatchObject({ trigger: 'control', by: { action: 'run', actor: 'first', reason } });
    });

    test('a person whose call becomes one with a call of the application sees its end, too', async () => {
      const hold = gate();
      const { ran, byHand } = await start(() => hold.opened);
      const other = store();
      const shell = await elsewhere(other);
      const run = byHand();
      await until(() => ran.length === 1);
      const call = {
        name: 'invoices',
        id: randomUUID(),
        job: 'Invoices.send',
        args: '["old"]',
        key: 'november',
      };
      await other.queuedCalls?.enqueue({ ...call, priority: 0, max: 10, redeliver: 0 });
      const merged = mergedIn(other);
      const request = { job: 'Invoices.send', key: 'november', wait: '20s', args: ['new'] } as const;
      const asked = shell.runNow({ ...request, ...ANNA });
      await until(() => merged() === 1);
      hold.open();
      await run;
      expect(await asked).toMatchObject({ result: 'started', outcome: 'completed' });
      expect(ran.map(({ args }) => args)).toEqual([[], ['new']]);
    });

    test('from elsewhere an instance that has the job runs it, and its end is told, also a failure', async () => {
      const { insight, ran } = await start(async () => {
        if (ran.length === 2) throw new Error('the disk is full');
      });
      const shell = await elsewhere();
      const request = { job: 'Invoices.send', args: [{ month: 11 }], wait: '60s', ...ANNA } as const;
      expect(await shell.runNow(request)).toMatchObject({
        result: 'started',
        lock: 'invoices',
        outcome: 'completed',
      });
      expect(ran[0]?.args).toEqual([{ month: 11 }]);
      expect(await shell.runNow(request)).toMatchObject({
        result: 'started',
        outcome: 'failed',
        error: 'Error: the disk is full',
      });
      const runs = await insight.runs({ lock: 'invoices' });
      expect(runs).toMatchObject([
        { outcome: 'failed', trigger: 'control', by: ANNA },
        { outcome: 'completed', trigger: 'control', by: ANNA },
      ]);
      expect(await shell.runNow({ ...request, job: 'Invoices.sent' })).toEqual({
        result: 'nobody-has-it',
        job: 'Invoices.sent',
        jobs: ['Invoices.send'],
      });
      const [info] = (await fleetLocks()) ?? [];
      expect(info?.dead).toMatchObject([{ job: 'Invoices.send', reason: 'failed' }]);
      const id = info?.dead?.[0]?.id ?? '';
      // It is noted before it is done: whoever dies in between is on record.
      const broken = store();
      const fails = await elsewhere(broken);
      const { redeliver } = broken.queuedCalls;
      broken.queuedCalls.redeliver = () => Promise.reject(new Error('it died'));
      await expect(fails.redeliver({ lock: 'invoices', id, actor: 'carl' })).rejects.toThrow('it died');
      if (name === 'memory') broken.queuedCalls.redeliver = redeliver;
      await until(async () =>
        (await insight.controls({ lock: 'invoices' })).some(
          ({ action, actor, count }) => action === 'redeliver' && actor === 'carl' && count === 1,
        ),
      );
      expect(await shell.redeliver({ lock: 'invoices', id: randomUUID(), ...BOB })).toMatchObject({
        count: 0,
      });
      expect(await shell.redeliver({ lock: 'invoices', id, ...BOB })).toMatchObject({ count: 1 });
      await until(() => ran.length === 3);
      await until(async () => (await insight.controls({ lock: 'invoices' })).length === 5);
      expect(
        (await insight.controls({ lock: 'invoices' })).map(({ action, actor }) => `${action} ${actor}`),
      ).toEqual(expect.arrayContaining(['redeliver bob', 'run anna@ops']));
    });
  });
}

/** For how many more the newest call stands that became one with another in this store. */
function mergedIn({ queuedCalls }: LockStore): () => number {
  const own = queuedCalls;
  const enqueue = own.enqueue.bind(own);
  let merged = 0;
  own.enqueue = async (call, options) => {
    const result = await enqueue(call, options);
    if (result.queued) merged = result.merged;
    return result;
  };
  return () => merged;
}
