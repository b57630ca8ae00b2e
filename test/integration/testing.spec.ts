import { afterEach, describe, expect, it, test } from '@jest/globals';
import { Cron } from '@nestjs/schedule';
import {
  currentLock,
  LockLostError,
  LockNotBoundError,
  SchedulerLock,
  SchedulerLockService,
} from '../../lib/index.js';
import { FakeLockStore, ManualClock, runAllUnlocked, runUnlocked } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp } from './app.js';
import { isEvent } from '../support/events.js';
import { kindOf } from '../support/events.js';

afterEach(closeApps);

class Jobs {
  readonly ended = gate();
  signal: AbortSignal | undefined;
  tick: number | undefined;

  @Cron('0 0 3 * * *', { name: 'report', timeZone: 'UTC' })
  @SchedulerLock({ name: 'report', job: 'report', ttl: '10s' })
  async report() {
    const { signal, tick } = currentLock();
    [this.signal, this.tick] = [signal, tick];
    await this.ended.opened;
    return 'sent';
  }
}

describe('runAllUnlocked()', () => {
  it('lets methods that no module has bound run without a lock, until it is ended', async () => {
    const jobs = new Jobs();
    jobs.ended.open();
    await expect(jobs.report()).rejects.toThrow(LockNotBoundError);
    const end = runAllUnlocked({ tick: 60_000 });
    try {
      expect(await jobs.report()).toBe('sent');
      expect(jobs.tick).toBe(60_000);
      // What a single test says goes before.
      expect(await runUnlocked(() => jobs.report(), { tick: 1 })).toBe('sent');
      expect(jobs.tick).toBe(1);
    } finally {
      end();
    }
    await expect(jobs.report()).rejects.toThrow(LockNotBoundError);
  });

  it('lets methods of an application take their locks', async () => {
    const end = runAllUnlocked();
    try {
      const store = new FakeLockStore();
      const app = await startApp([Jobs], { store });
      await store.hold('report');
      expect(await app.get(Jobs).report()).toBeUndefined();
      expect(app.get(Jobs).signal).toBeUndefined();
    } finally {
      end();
    }
  });

  it('refuses to in production', () => {
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      expect(() => runAllUnlocked()).toThrow('runAllUnlocked() is for tests, and NODE_ENV is production');
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });
});

describe('FakeLockStore', () => {
  it('holds a lock for another instance until it is freed', async () => {
    const store = new FakeLockStore();
    const locks = (await startApp([], { store })).get(SchedulerLockService);
    await store.hold('report', 'blue');
    expect(await locks.run('report', () => 1)).toMatchObject({ ran: false, reason: 'held', holder: 'blue' });
    await expect(store.hold('report')).rejects.toThrow('Lock "report" is taken already (held).');
    await store.free('report');
    await store.free('report');
    expect(await locks.run('report', () => 1)).toEqual({ ran: true, value: 1 });
  });

  it('keeps calls while another instance holds their lock, and none while it is away', async () => {
    const store = new FakeLockStore();
    const ran: string[] = [];
    class Hooks {
      @SchedulerLock<[id: string]>({ name: 'calendar', onHeld: 'queue', onSkip: 'throw' })
      async changed(id: string): Promise<void> {
        ran.push(id);
      }
    }
    const app = await startApp([Hooks], { store });
    await store.hold('calendar');
    await app.get(Hooks).changed('a');
    store.goAway();
    await expect(app.get(Hooks).changed('b')).rejects.toMatchObject({ reason: 'store-unavailable' });
    store.comeBack();
    expect(ran).toEqual([]);
    await store.free('calendar');
    await until(() => ran.length > 0);
    expect(ran).toEqual(['a']);
  });

  it('takes a lock away from a running job, which is told at once', async () => {
    const store = new FakeLockStore();
    const app = await startApp([Jobs], { store });
    const jobs = app.get(Jobs);
    const report = jobs.report();
    const signal = await until(() => jobs.signal);
    await store.lose('report', 'blue');
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect(signal.reason).toMatchObject({ reason: 'taken', holder: 'blue' });
    jobs.ended.open();
    await report;
    expect(await jobs.report()).toBeUndefined();
    expect((await store.inspect())[0]).toMatchObject({ name: 'report', state: 'held', holder: 'blue' });
    await store.free('report');
    expect(await jobs.report()).toBe('sent');
  });

  it('is away until it comes back', async () => {
    const store = new FakeLockStore();
    const app = await startApp([], { store });
    const locks = app.get(SchedulerLockService);
    store.goAway();
    expect(await locks.run('report', () => 1)).toMatchObject({ ran: false, reason: 'store-unavailable' });
    store.comeBack();
    expect(await locks.run('report', () => 1)).toEqual({ ran: true, value: 1 });
    const kinds = app.events.map(kindOf);
    expect(kinds).toEqual(expect.arrayContaining(['outage-started', 'outage-ended']));
  });

  it('remembers who ran what, unless it is away', async () => {
    const store = new FakeLockStore();
    const request = { name: 'report', token: 'a', ttl: 1_000, holder: 'blue', history: true };
    await store.acquire(request);
    const record = { kept: { count: 9, age: 1_000 }, duration: 5 };
    await store.release({ ...request, fencingToken: 1 }, { record });
    const query = { name: 'report', limit: 9 };
    expect(await store.history.entries(query)).toMatchObject([{ outcome: 'completed', instance: 'blue' }]);
    store.goAway();
    await expect(store.history.entries(query)).rejects.toThrow('The fake store is away.');
  });

  it('renews what could not be renewed at once when it comes back', async () => {
    const clock = new ManualClock();
    const store = new FakeLockStore({ clock });
    const app = await startApp([Jobs], { store, clock });
    const jobs = app.get(Jobs);
    const report = jobs.report();
    const signal = await until(() => jobs.signal);
    store.goAway();
    await clock.advance(9_000);
    store.comeBack();
    await clock.advance(9_000);
    expect(signal.aborted).toBe(false);
    jobs.ended.open();
    expect(await report).toBe('sent');
  });
});

describe('the option clock', () => {
  it('has ticks, leases, timeouts and events follow a clock of the test', async () => {
    const clock = new ManualClock(Date.UTC(2026, 5, 1, 3, 0, 0));
    const app = await startApp([Jobs], { store: 'memory', clock, timeout: '5m' });
    const jobs = app.get(Jobs);
    const fired = app.fire('report');
    const signal = await until(() => jobs.signal);
    expect(jobs.tick).toBe(Date.UTC(2026, 5, 1, 3, 0, 0));
    await clock.advance(299_999);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.aborted).toBe(true);
    jobs.ended.open();
    await fired;
    const at = (type: string) => app.events.find((event) => event.type === type)?.at;
    expect([at('acquired'), at('timeout')]).toEqual([
      Date.UTC(2026, 5, 1, 3, 0, 0),
      Date.UTC(2026, 5, 1, 3, 5, 0),
    ]);
    await until(() => app.events.some(({ type }) => type === 'released'));
    await app.fire('report');
    const skipped = await until(() => app.events.find(({ type }) => type === 'skipped'));
    expect(skipped).toMatchObject({ reason: 'already-ran', at: clock.now() });
  });

  it('has elections follow it', async () => {
    const clock = new ManualClock();
    const options = {
      store: new FakeLockStore({ clock }),
      clock,
      leader: { name: 'main', ttl: '30s' },
    } as const;
    const app = await startApp([Jobs], options);
    await clock.advance(0);
    expect(app.events.map(kindOf)).toContain('leader-elected');
    await options.store.lose('main', 'blue');
    await clock.advance(0);
    expect(app.events).toContainEqual(
      expect.objectContaining({ type: 'leader', phase: 'revoked', reason: 'taken', at: clock.now() }),
    );
    await options.store.free('main');
    await clock.advance(60_000);
    expect(app.events.filter(isEvent('leader-elected'))).toHaveLength(2);
  });
});

test('FakeLockStore sends the hint that calls were queued, and loses it while it is away', async () => {
  const store = new FakeLockStore();
  const heard: string[] = [];
  store.hints('api-1', (hint) => heard.push(hint));
  store.goAway();
  await store.queuedCalls.announce?.();
  store.comeBack();
  await store.queuedCalls.announce?.();
  await until(() => heard.length > 0);
  expect(heard).toEqual(['queued']);
});
