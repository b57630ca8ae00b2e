import { describe, expect, it } from '@jest/globals';
import { LockNotAcquiredError, LockShutdownError } from '../../../lib/base/errors.js';
import { Harness, SETTINGS } from './harness.js';
import { hold, notConnected, silence } from './scripted-store.js';

/** Begins a shutdown; `done` says whether it is over. */
function shutDown(app: Harness, limit = 25_000): { readonly done: boolean } {
  const state = { done: false };
  void app.runner.shutdown(limit).then(() => (state.done = true));
  return state;
}

describe('a shutdown', () => {
  it('starts no more runs', async () => {
    const app = new Harness();
    const shutdown = shutDown(app);
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
    expect((await app.start()).result).toEqual({ ran: false, reason: 'shutting-down' });
    expect(app.store.calls).toEqual([]);
  });

  it('waits for the running jobs, keeps their leases meanwhile, and releases each at once when it ends', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const [quick, slow] = [await app.start('quick'), await app.start('slow')];
    const shutdown = shutDown(app);
    await app.clock.advance(10);
    quick.end();
    await app.clock.advance(0);
    expect((await other.start('quick')).began).toBe(true);
    await app.clock.advance(20_000);
    expect(() => slow.lock.assertLocked()).not.toThrow();
    expect(slow.lock.signal.aborted).toBe(false);
    expect(shutdown.done).toBe(false);
    slow.end();
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
    expect(app.of('released').map(({ lock, outcome, confirmed }) => [lock, outcome, confirmed])).toEqual([
      ['quick', 'completed', true],
      ['slow', 'completed', true],
    ]);
  });

  it('that is asked for twice ends both times, also if a job never does', async () => {
    const app = new Harness();
    await app.start();
    const first = shutDown(app, 25_000);
    await app.clock.advance(10_000);
    const second = shutDown(app, 25_000);
    await app.clock.advance(30_000);
    expect([first.done, second.done]).toEqual([true, true]);
    expect(app.clock.pending).toBe(0);
  });

  it('runs nested calls of a job that is still going on', async () => {
    const app = new Harness();
    let shutdown: { readonly done: boolean } | undefined;
    const result = await app.runner.run(app.call(), async () => {
      shutdown = shutDown(app);
      return app.runner.run(app.call(), () => 'inner');
    });
    expect(result).toEqual({ ran: true, value: { ran: true, value: 'inner' } });
    await app.clock.advance(0);
    expect(shutdown?.done).toBe(true);
  });

  it('aborts the signals with LockShutdownError after its limit, and releases what ends then', async () => {
    const app = new Harness();
    const job = await app.start();
    const { signal } = job.lock;
    const shutdown = shutDown(app);
    await app.clock.advance(24_999);
    expect(signal.aborted).toBe(false);
    await app.clock.advance(1);
    expect(signal.reason).toBeInstanceOf(LockShutdownError);
    expect(signal.reason).toMatchObject({ code: 'LOCK_SHUTDOWN', lock: 'report' });
    job.end();
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
    expect(app.store.of('release')).toMatchObject([{ options: { outcome: 'aborted' } }]);
    expect(app.of('released')).toMatchObject([{ outcome: 'aborted', confirmed: true }]);
  });

  it('leaves the lease of a job that goes on to expire', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const job = await app.start();
    const shutdown = shutDown(app);
    // Last renewed at 24,000.
    await app.clock.advance(26_000);
    expect(shutdown.done).toBe(true);
    const calls = app.store.calls.length;
    await app.clock.advance(7_999);
    expect((await other.start()).result).toMatchObject({ reason: 'held', holder: 'here' });
    await app.clock.advance(1);
    expect((await other.start()).began).toBe(true);

    job.end();
    await app.clock.advance(10_000);
    expect(app.store.calls).toHaveLength(calls);
    expect(job.result).toEqual({ ran: true, value: 'done' });
  });

  it('renews nothing any more once the signals have aborted', async () => {
    const app = new Harness();
    await app.start('report', { heartbeat: 300 });
    const shutdown = shutDown(app);
    await app.clock.advance(25_000);
    const { length } = app.store.of('extend');
    expect(length).toBeGreaterThan(80);
    await app.clock.advance(1_000);
    expect(shutdown.done).toBe(true);
    expect(app.store.of('extend')).toHaveLength(length);
  });

  it('keeps atLeast', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const job = await app.start('report', { atLeast: 8_000 });
    shutDown(app);
    job.end();
    await app.clock.advance(0);
    expect((await other.start()).result).toMatchObject({ reason: 'cooling-down', expiresIn: 8_000 });
  });

  it('gives back what is granted while it is going on, and does not run it', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const acquire = hold('reply');
    app.store.next('acquire', acquire.behaviour);
    const job = app.launch();
    await app.clock.advance(0);
    const shutdown = shutDown(app);
    await app.clock.advance(100);
    acquire.answer();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: false, reason: 'shutting-down' });
    expect(shutdown.done).toBe(true);
    expect((await other.start()).began).toBe(true);
  });

  it('tells an attempt that fails meanwhile that it is going on', async () => {
    const app = new Harness();
    const acquire = hold('request');
    app.store.next('acquire', acquire.behaviour);
    const job = app.launch('report');
    await app.clock.advance(0);
    shutDown(app);
    acquire.fail(new Error('connection lost'));
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: false, reason: 'shutting-down' });
  });

  it('says what it waits for also if that is a single run', async () => {
    const app = new Harness();
    await app.start();
    shutDown(app, 5_000);
    expect(app.of('shutdown-waiting')).toMatchObject([{ runs: [{ lock: 'report' }], timeout: 5_000 }]);
    await app.clock.advance(10_000);
    expect(app.of('shutdown-left')).toMatchObject([{ runs: [{ lock: 'report' }] }]);
  });

  it('is over only when the releases under way are', async () => {
    const app = new Harness();
    const [acquire, release] = [hold('reply'), hold('reply')];
    app.store.next('acquire', acquire.behaviour);
    app.store.always('release', release.behaviour);
    app.launch();
    await app.clock.advance(0);
    const shutdown = shutDown(app);
    acquire.answer();
    await app.clock.advance(0);
    expect(app.store.of('release')).not.toEqual([]);
    expect(shutdown.done).toBe(false);
    release.answer();
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
  });

  it('is over only when the renewals under way are', async () => {
    const app = new Harness();
    await app.start();
    const extend = hold('reply');
    app.store.next('extend', extend.behaviour);
    const shutdown = shutDown(app, 3_000);
    await app.clock.advance(4_500);
    expect(app.store.of('extend')).toHaveLength(1);
    expect(shutdown.done).toBe(false);
    extend.answer();
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
  });

  it('tries once more to give back what was not confirmed, and leaves no timer', async () => {
    const app = new Harness();
    app.store.always('release', notConnected);
    const job = await app.start();
    job.end();
    await app.clock.advance(0);
    const shutdown = shutDown(app);
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
    expect(app.store.of('release')).toHaveLength(2);
    expect(app.clock.pending).toBe(0);
    await app.clock.advance(60_000);
    expect(app.store.of('release')).toHaveLength(2);
  });

  it('tries once more to give back what the store leaves unanswered meanwhile', async () => {
    const app = new Harness();
    app.store.next('release', silence);
    const job = await app.start();
    job.end();
    await app.clock.advance(0);
    expect(app.store.of('release')).toHaveLength(1);
    const shutdown = shutDown(app);
    await app.clock.advance(SETTINGS.storeTimeout);
    expect(app.store.of('release')).toHaveLength(2);
    expect(shutdown.done).toBe(true);
    expect(app.clock.pending).toBe(0);
  });

  it('ends within its limits with a store that never answers', async () => {
    const app = new Harness();
    app.store.breakDown(silence);
    app.launch();
    const job = app.launch('other', { onStoreError: 'run' });
    await app.clock.advance(2_000);
    expect(job.began).toBe(true);
    const shutdown = shutDown(app, 5_000);
    await app.clock.advance(5_000 + 1_000 + 2_000);
    expect(shutdown.done).toBe(true);
    expect(app.clock.pending).toBe(0);
  });

  it('keeps the process alive until it is over, also with a store that does not', async () => {
    const app = new Harness();
    const job = await app.start();
    const alive = new Set<object>();
    const setTimer = app.clock.setTimer.bind(app.clock);
    app.clock.setTimer = (callback, delay, options?: { readonly keepAlive?: boolean }) => {
      const timer = setTimer(callback, delay);
      if (options?.keepAlive === true) alive.add(timer);
      return {
        cancel: () => {
          alive.delete(timer);
          timer.cancel();
        },
      };
    };
    const shutdown = shutDown(app);
    expect(alive.size).toBe(1);
    job.end();
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
    expect(alive.size).toBe(0);
  });

  it('with a limit of 0 aborts all signals at once, and gives the jobs one second', async () => {
    const app = new Harness();
    const job = await app.start();
    const { signal } = job.lock;
    const shutdown = shutDown(app, 0);
    await app.clock.advance(0);
    expect(signal.reason).toBeInstanceOf(LockShutdownError);
    await app.clock.advance(999);
    expect(shutdown.done).toBe(false);
    await app.clock.advance(1);
    expect(shutdown.done).toBe(true);
  });

  it.each([
    ['has lost its lease', async (app: Harness) => app.clock.advance(10_000), { heartbeat: false } as const],
    ['has passed its timeout', async (app: Harness) => app.clock.advance(5_000), { timeout: 5_000 }],
  ])('is not held up by a job that %s', async (_, wait, settings) => {
    const app = new Harness();
    const hung = await app.start('hung', settings);
    await wait(app);
    expect(hung.lock.signal.aborted).toBe(true);
    const shutdown = shutDown(app);
    await app.clock.advance(999);
    expect(shutdown.done).toBe(false);
    await app.clock.advance(1);
    expect(shutdown.done).toBe(true);
  });

  it('waits no longer for a job that loses its lease meanwhile, but on for the others', async () => {
    const app = new Harness();
    const [lost, slow] = [await app.start('lost', { heartbeat: false }), await app.start('slow')];
    expect(lost.began).toBe(true);
    const shutdown = shutDown(app);
    await app.clock.advance(14_000);
    expect(shutdown.done).toBe(false);
    slow.end();
    await app.clock.advance(0);
    expect(shutdown.done).toBe(false);
    await app.clock.advance(1_100);
    expect(shutdown.done).toBe(true);
  });

  it('says what it waits for, and what it leaves', async () => {
    const app = new Harness();
    const [lost, quick] = [await app.start('lost', { heartbeat: false }), await app.start('quick')];
    const slow = await app.start('slow');
    expect([lost.began, slow.began]).toEqual([true, true]);
    shutDown(app, 20_000);
    const runs = [{ lock: 'lost' }, { lock: 'quick' }, { lock: 'slow' }];
    expect(app.of('shutdown-waiting')).toMatchObject([{ runs, timeout: 20_000, instance: 'here' }]);
    quick.end();
    await app.clock.advance(21_000);
    expect(app.of('shutdown-left')).toMatchObject([
      { runs: [{ lock: 'lost' }, { lock: 'slow', expiresIn: expect.any(Number) }] },
    ]);
    expect(app.of('shutdown-left')[0]?.runs[0]).not.toHaveProperty('expiresIn');
  });

  it('says nothing if nothing runs, and nothing of elections', async () => {
    const app = new Harness();
    const lease = await app.runner.acquire({ ...app.call('election'), kind: 'election' });
    const shutdown = shutDown(app);
    await lease.release();
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
    expect([...app.of('shutdown-waiting'), ...app.of('shutdown-left')]).toEqual([]);
  });

  it('stops listening to the connection', async () => {
    const app = new Harness();
    expect(app.store.listening).toBe(1);
    shutDown(app);
    await app.clock.advance(0);
    expect(app.store.listening).toBe(0);
  });
});

describe('acquire()', () => {
  it('takes the lock until it is released, and keeps it meanwhile', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const lock = await app.runner.acquire(app.call());
    await app.clock.advance(30_000);
    expect(() => lock.assertLocked()).not.toThrow();
    expect((await other.start()).result).toMatchObject({ reason: 'held' });
    await lock.release();
    expect(() => lock.assertLocked()).toThrow('Lock "report" is not held any more');
    expect((await other.start()).began).toBe(true);
    await lock.release();
    expect(app.store.of('release')).toHaveLength(1);
  });

  it('throws if the lock is taken, and says by whom and for how long', async () => {
    const app = new Harness();
    await new Harness(app, 'there').start();
    const failure = await app.runner.acquire(app.call()).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LockNotAcquiredError);
    expect(failure).toMatchObject({
      code: 'LOCK_NOT_ACQUIRED',
      message: 'Lock "report" was not acquired (held): instance there has it.',
      reason: 'held',
      holder: 'there',
      expiresIn: 10_000,
    });
  });

  it('gives the lock back at the end of its scope', async () => {
    const app = new Harness();
    const lock = await app.runner.acquire(app.call());
    await lock[Symbol.asyncDispose]();
    expect(app.store.of('release')).toHaveLength(1);
    expect(lock.signal.aborted).toBe(false);
  });

  it('is told to stop by a shutdown like a job', async () => {
    const app = new Harness();
    const lock = await app.runner.acquire(app.call());
    const { signal } = lock;
    const shutdown = shutDown(app);
    await app.clock.advance(25_000);
    expect(signal.reason).toBeInstanceOf(LockShutdownError);
    await lock.release();
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
    expect(app.of('released')).toMatchObject([{ outcome: 'aborted', confirmed: true }]);
  });

  it('release() does not reject if the store does not answer', async () => {
    const app = new Harness();
    const lock = await app.runner.acquire(app.call());
    app.store.breakDown();
    await expect(lock.release()).resolves.toBeUndefined();
    expect(app.of('released')).toMatchObject([{ confirmed: false }]);
  });

  it('waits for the calls that are under way, within their limit, so that each run ends', async () => {
    const app = new Harness();
    const job = await app.start();
    const shutdown = shutDown(app, 1_000);
    // The job ends when its signal has aborted, and the store answers its release no more.
    app.store.always('release', silence);
    await app.clock.advance(1_500);
    job.end();
    await app.clock.advance(600);
    expect(job.result).toBeUndefined();
    expect(shutdown.done).toBe(false);
    await app.clock.advance(SETTINGS.storeTimeout);
    expect(job.result).toEqual({ ran: true, value: 'done' });
    await app.clock.advance(SETTINGS.storeTimeout);
    expect(shutdown.done).toBe(true);
    expect(app.clock.pending).toBe(0);
  });

  it('with a renewal under way leaves nothing behind, and tells nothing of it afterwards', async () => {
    const app = new Harness();
    const job = await app.start();
    const extend = hold('reply');
    app.store.next('extend', extend.behaviour);
    await app.clock.advance(3_000);
    const shutdown = shutDown(app, 10);
    await app.clock.advance(1_010);
    expect(shutdown.done).toBe(false);
    extend.answer();
    await app.clock.advance(0);
    expect(shutdown.done).toBe(true);
    expect(app.clock.pending).toBe(0);
    const { length } = app.store.calls;
    const events = app.events.length;
    await app.clock.advance(30_000);
    expect(app.store.calls).toHaveLength(length);
    expect(app.events).toHaveLength(events);
    job.end();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: true, value: 'done' });
  });
});
