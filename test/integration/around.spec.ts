import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { currentLock, type Lock, SchedulerLock, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp } from './app.js';

/* What an application wraps around each run: a span, a context of its own, a forked entity manager. */

afterEach(closeApps);

const store = new AsyncLocalStorage<string>();

@Injectable()
class Jobs {
  readonly seen: string[] = [];
  fails = false;

  @Cron('0 0 1 1 *', { name: 'cron' })
  @SchedulerLock({ name: 'cron' })
  async cron(): Promise<string> {
    return this.#note('cron');
  }

  @SchedulerLock({ name: 'by hand', onHeld: 'queue' })
  async byHand(): Promise<string> {
    return this.#note('by hand');
  }

  async #note(what: string): Promise<string> {
    await Promise.resolve();
    this.seen.push(`${what} in ${store.getStore() ?? 'nothing'}, under ${currentLock().name}`);
    if (this.fails) throw new Error('no such invoice');
    return what;
  }
}

const inContext = <T>(lock: Lock, proceed: () => Promise<T>): Promise<T> =>
  store.run(`the run of ${lock.name}`, proceed);

test('each run is wrapped, inside its lock: one that is fired, called by hand, without a decorator, or queued', async () => {
  const app = await startApp([Jobs]);
  const [jobs, locks] = [app.get(Jobs), app.get(SchedulerLockService)];
  locks.around(inContext);
  await app.fire('cron');
  expect(await jobs.byHand()).toBe('by hand');
  const plain = await locks.run('plain', () => store.getStore());
  expect(plain).toEqual({ ran: true, value: 'the run of plain' });
  const [entered, leave] = [gate(), gate()];
  const holding = locks.run('by hand', async () => {
    entered.open();
    await leave.opened;
  });
  await entered.opened;
  expect(await jobs.byHand()).toBeUndefined();
  leave.open();
  await holding;
  await until(() => jobs.seen.length === 3);
  expect(jobs.seen).toEqual([
    'cron in the run of cron, under cron',
    'by hand in the run of by hand, under by hand',
    'by hand in the run of by hand, under by hand',
  ]);
});

test('the first one that was added is the outermost, a nested call stays in the run around it, and each can be taken out', async () => {
  const app = await startApp([]);
  const locks = app.get(SchedulerLockService);
  const seen: string[] = [];
  const note =
    (who: string) =>
    async <T>({ name, signal }: Lock, proceed: () => Promise<T>): Promise<T> => {
      seen.push(`${who} begins ${name}`);
      expect(signal.aborted).toBe(false);
      const value = await proceed();
      seen.push(`${who} ends`);
      return value;
    };
  const [first] = [locks.around(note('first')), locks.around(note('second'))];
  await locks.run('outer', () => locks.run('outer', () => void seen.push('nested')));
  expect(seen.splice(0)).toEqual([
    'first begins outer',
    'second begins outer',
    'nested',
    'second ends',
    'first ends',
  ]);
  first();
  first();
  await locks.run('again', () => undefined);
  expect(seen).toEqual(['second begins again', 'second ends']);
});

test('the outcome is that of the job, also if the wrapper hides it or calls twice', async () => {
  const app = await startApp([Jobs]);
  const [jobs, locks] = [app.get(Jobs), app.get(SchedulerLockService)];
  const hide = locks.around(async (_lock, proceed) => {
    void proceed().catch(() => undefined);
    return proceed().catch(() => 'hidden' as never);
  });
  jobs.fails = true;
  await expect(jobs.byHand()).rejects.toThrow('no such invoice');
  expect(jobs.seen).toHaveLength(1);
  hide();
  const last = app.events.findLast(({ type }) => type === 'released');
  expect(last).toMatchObject({ outcome: 'failed' });
});

test('one that does not wait for the job does not let the lease go before it ends', async () => {
  const app = await startApp([]);
  const locks = app.get(SchedulerLockService);
  locks.around(<T>(_lock: Lock, proceed: () => Promise<T>): Promise<T> => {
    void proceed();
    return Promise.resolve('early' as T);
  });
  const [entered, leave] = [gate(), gate()];
  const run = locks.run('slow', async () => {
    entered.open();
    await leave.opened;
    return 'late';
  });
  await entered.opened;
  expect(await locks.run('slow', { job: 'other' }, () => undefined)).toMatchObject({ reason: 'held' });
  leave.open();
  expect(await run).toEqual({ ran: true, value: 'late' });
});

test('one that throws, or never begins the job, fails the run with what to do', async () => {
  const app = await startApp([]);
  const locks = app.get(SchedulerLockService);
  const lazy = locks.around(() => Promise.resolve('nothing' as never));
  await expect(locks.run('never', () => 1)).rejects.toThrow(
    'around(): a wrapper ended without having called proceed(), so the job under "never" has not run. Call it once, and return its promise.',
  );
  lazy();
  let ran = false;
  locks.around(() => {
    throw new Error('no tracer');
  });
  await expect(locks.run('broken', () => (ran = true))).rejects.toThrow('no tracer');
  expect(ran).toBe(false);
  expect(app.events.filter(({ type }) => type === 'released')).toMatchObject([
    { outcome: 'failed' },
    { outcome: 'failed' },
  ]);
  expect(() => locks.around('no function' as never)).toThrow("around(): 'no function' is no function");
});
