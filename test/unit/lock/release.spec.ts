import { describe, expect, it } from '@jest/globals';
import { SchedulerLockConfigError } from '../../../lib/base/errors.js';
import { Harness } from './harness.js';
import { brokenConnection, failsWith, hold, notConnected, silence } from './scripted-store.js';

describe('the release of a lease', () => {
  it('frees the lock at once, with what became of the job', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const job = await app.start();
    await app.clock.advance(250);
    job.end();
    await app.clock.advance(0);
    expect(app.of('released')).toMatchObject([
      { lock: 'report', instance: 'here', outcome: 'completed', duration: 250, confirmed: true },
    ]);
    expect(app.of('released')[0]).not.toHaveProperty('skippedTicks');
    expect((await other.start()).began).toBe(true);
  });

  it('frees the lock of a job that throws, and passes on what it throws', async () => {
    const app = new Harness();
    const job = await app.start();
    const error = new Error('no paper');
    job.fail(error);
    await app.clock.advance(0);
    expect(job.error).toBe(error);
    expect(app.of('released')).toMatchObject([{ outcome: 'failed', error, confirmed: true }]);
  });

  it('frees the lock of a job whose work is still to be done when it returns', async () => {
    const app = new Harness();
    const work = function* (): Generator<number> {
      yield 1;
    };
    const refused = expect(app.runner.run(app.call(), work)).rejects.toThrow(SchedulerLockConfigError);
    await app.clock.advance(0);
    await refused;
    expect(app.of('released')).toMatchObject([
      { outcome: 'failed', error: expect.any(SchedulerLockConfigError), confirmed: true },
    ]);
  });

  it('tells that the lock was deleted, unless the lease has ended before', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const settings = { heartbeat: false } as const;
    for (const [runsFor, told] of [
      [9_897, ['released']],
      [9_898, ['lost', 'released']],
    ] as const) {
      const job = await app.start('report', settings);
      app.store.forget();
      (await other.start()).end();
      app.events.splice(0);
      await app.clock.advance(runsFor);
      job.end();
      await app.clock.advance(0);
      expect(app.events.map(({ type }) => type).sort()).toEqual([...told].sort());
      expect(app.of('released')[0]?.deleted).toBe(runsFor === 9_897 ? true : undefined);
    }
  });

  it('reports the end of the call only when the store has been told', async () => {
    const app = new Harness();
    const release = hold('reply');
    app.store.next('release', release.behaviour);
    const job = await app.start();
    job.end();
    await app.clock.advance(0);
    expect(job.result).toBeUndefined();
    release.answer();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: true, value: 'done' });
  });

  it('waits for a renewal of the same lease that is under way', async () => {
    const app = new Harness();
    const extend = hold('request');
    app.store.next('extend', extend.behaviour);
    const job = await app.start();
    await app.clock.advance(3_000);
    job.end();
    await app.clock.advance(1_000);
    expect(app.store.of('release')).toEqual([]);
    extend.answer();
    await app.clock.advance(0);
    expect(app.store.calls.map(({ operation }) => operation)).toEqual(['acquire', 'extend', 'release']);
    expect(app.of('released')).toMatchObject([{ confirmed: true }]);
  });

  it('keeps the lock for what is left of atLeast when a renewal under way has been answered', async () => {
    const app = new Harness();
    const extend = hold('request');
    app.store.next('extend', extend.behaviour);
    const job = await app.start('report', { atLeast: 8_000 });
    await app.clock.advance(3_000);
    job.end();
    await app.clock.advance(1_000);
    extend.answer();
    await app.clock.advance(0);
    expect(app.store.of('release')).toMatchObject([{ options: { keepFor: 4_000 } }]);
  });

  it('is timed from when it is sent, however long those take who are told of the end', async () => {
    const app = new Harness();
    const listened = app.events.push.bind(app.events);
    app.events.push = (...events) => {
      if (events.some(({ type }) => type === 'timeout')) app.clock.block(2_500);
      return listened(...events);
    };
    const release = hold('reply');
    app.store.next('release', release.behaviour);
    const job = await app.start('report', { timeout: 1_000, atLeast: 8_000 });
    // The job itself blocks the event loop past its timeout, and ends.
    app.clock.block(1_500);
    job.end();
    await app.clock.advance(10);
    release.answer();
    await app.clock.advance(0);
    expect(app.store.of('release')).toMatchObject([{ options: { keepFor: 4_000 } }]);
    expect(app.of('released')).toMatchObject([{ outcome: 'timed-out', confirmed: true }]);
    expect(app.of('outage-started')).toEqual([]);
  });

  it('waits for a renewal no longer than the store has time to answer it', async () => {
    const app = new Harness();
    app.store.next('extend', silence);
    const job = await app.start();
    await app.clock.advance(3_000);
    job.end();
    await app.clock.advance(2_000);
    expect(app.store.of('release')).toMatchObject([{ at: 5_000 }]);
  });

  it('keeps the lock taken until atLeast has passed since the start of the run', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const job = await app.start('report', { atLeast: 5_000 });
    await app.clock.advance(1_000);
    job.end();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: true, value: 'done' });
    expect((await app.start()).result).toMatchObject({ reason: 'cooling-down', expiresIn: 4_000 });
    await app.clock.advance(3_999);
    expect((await other.start()).result).toMatchObject({ reason: 'cooling-down', expiresIn: 1 });
    await app.clock.advance(1);
    expect((await other.start()).began).toBe(true);
  });

  it('frees the lock of a job that ran for longer than atLeast', async () => {
    const app = new Harness();
    const job = await app.start('report', { atLeast: 5_000 });
    await app.clock.advance(5_001);
    job.end();
    await app.clock.advance(0);
    expect(app.store.of('release')).toMatchObject([{ options: { keepFor: 0 } }]);
  });

  it('is tried again with the beats until the store confirms it', async () => {
    const app = new Harness();
    app.store.next('release', notConnected, brokenConnection);
    const job = await app.start();
    job.end();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: true, value: 'done' });
    expect(app.of('released')).toMatchObject([{ confirmed: false }]);
    await app.clock.advance(60_000);
    expect(app.store.of('release').map(({ at }) => at)).toEqual([0, 3_000, 6_000]);
    expect(app.clock.pending).toBe(0);
  });

  it('is tried again at once when the connection is back, and atLeast then counts from the start all the same', async () => {
    const app = new Harness();
    app.store.next('release', notConnected);
    const job = await app.start('report', { atLeast: 5_000 });
    await app.clock.advance(1_000);
    job.end();
    await app.clock.advance(500);
    app.store.announce();
    await app.clock.advance(0);
    expect(app.store.of('release')).toMatchObject([
      { at: 1_000, options: { keepFor: 4_000 } },
      { at: 1_500, options: { keepFor: 3_500 } },
    ]);
  });

  it('is tried until the store answers: how the run ended matters also when its lease has expired', async () => {
    const app = new Harness();
    app.store.always('release', silence);
    const job = await app.start();
    job.end();
    await app.clock.advance(600_000);
    app.store.recover();
    await app.clock.advance(10_000);
    const { length } = app.store.of('release');
    await app.clock.advance(60_000);
    expect(app.store.of('release')).toHaveLength(length);
    expect(app.clock.pending).toBe(0);
  });

  it('is tried once more before this process asks for the lock again', async () => {
    const app = new Harness();
    app.store.next('release', notConnected, notConnected);
    const job = await app.start();
    job.end();
    await app.clock.advance(0);
    // The store is still away: it is not even asked.
    expect((await app.start()).result).toMatchObject({ reason: 'store-unavailable' });
    expect(app.store.of('acquire')).toHaveLength(1);
    expect((await app.start()).began).toBe(true);
    const operations = app.store.calls.map(({ operation }) => operation);
    expect(operations).toEqual(['acquire', 'release', 'release', 'release', 'acquire']);
  });

  it('does not keep this process from the lock where the store cannot release', async () => {
    const app = new Harness();
    app.store.always('release', failsWith(new Error('not implemented')));
    const job = await app.start();
    job.end();
    await app.clock.advance(0);
    expect((await app.start()).result).toMatchObject({ reason: 'held', holder: 'here' });
    await app.clock.advance(10_000);
    expect((await app.start()).began).toBe(true);
  });

  it('never frees the lease of somebody else', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    app.store.breakDown();
    app.store.recover();
    const job = await app.start('report', { heartbeat: false });
    await app.clock.advance(10_000);
    const taker = await other.start();
    job.end();
    await app.clock.advance(20_000);
    expect(() => taker.lock.assertLocked()).not.toThrow();
    expect(other.of('lost')).toEqual([]);
  });
});
