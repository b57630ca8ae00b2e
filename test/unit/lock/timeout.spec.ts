import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from '../../../lib/base/errors.js';
import { Harness } from './harness.js';
import { notConnected } from './scripted-store.js';

describe('the timeout of a job', () => {
  it('aborts the signal with a LockTimeoutError, and sends one event', async () => {
    const app = new Harness();
    const { lock } = await app.start('report', { timeout: 5_000 });
    const { signal } = lock;
    await app.clock.advance(4_999);
    expect(signal.aborted).toBe(false);
    await app.clock.advance(1);
    expect(signal.reason).toBeInstanceOf(LockTimeoutError);
    expect(signal.reason).toMatchObject({ code: 'LOCK_TIMEOUT', lock: 'report', timeout: 5_000 });
    await app.clock.advance(60_000);
    expect(app.of('timeout')).toMatchObject([{ lock: 'report', timeout: 5_000 }]);
  });

  it('leaves the lease held: the job may still clean up under its lock', async () => {
    const app = new Harness();
    const { lock } = await app.start('report', { timeout: 5_000 });
    await app.clock.advance(6_000);
    expect(() => lock.assertLocked()).not.toThrow();
  });

  it('is renewed for one more ttl and then left to expire, so a hung job never blocks the others for good', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    await app.start('report', { timeout: 5_000 });
    await app.clock.advance(14_999);
    expect(app.store.of('extend').map(({ at }) => at)).toEqual([3_000, 6_000, 9_000, 12_000]);
    await app.clock.advance(12_000 + 9_897 - 14_999);
    expect(app.of('lost')).toEqual([]);
    await app.clock.advance(1);
    expect(app.of('lost')).toMatchObject([{ reason: 'deadline' }]);
    expect(app.store.of('extend')).toHaveLength(4);

    expect((await other.start()).result).toMatchObject({ ran: false, reason: 'held' });
    await app.clock.advance(102);
    expect((await other.start()).began).toBe(true);
  });

  it('is not renewed again after that because a renewal has failed or the connection is back', async () => {
    const app = new Harness();
    await app.start('report', { timeout: 5_000 });
    await app.clock.advance(14_000);
    app.store.always('extend', notConnected);
    await app.clock.advance(1_200);
    app.store.recover();
    app.store.announce();
    await app.clock.advance(60_000);
    expect(app.of('lost')).toMatchObject([{ reason: 'deadline' }]);
    expect(app.store.of('extend').every(({ at }) => at <= 15_200)).toBe(true);
  });

  it('records a job that has passed it as timed out, also if it ends well', async () => {
    const app = new Harness();
    const job = await app.start('report', { timeout: 5_000 });
    await app.clock.advance(6_000);
    job.end();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: true, value: 'done' });
    expect(app.store.of('release')).toMatchObject([{ options: { outcome: 'timed-out' } }]);
    expect(app.of('released')).toMatchObject([{ outcome: 'timed-out', duration: 6_000, confirmed: true }]);
  });

  it('stays the reason when the lease is lost after it', async () => {
    const app = new Harness();
    const job = await app.start('report', { timeout: 5_000 });
    await app.clock.advance(5_000);
    app.store.always('extend', notConnected);
    await app.clock.advance(10_000);
    expect(app.of('lost')).toHaveLength(1);
    expect(job.lock.signal.reason).toBeInstanceOf(LockTimeoutError);
    app.store.recover();
    job.end();
    await app.clock.advance(0);
    expect(app.of('released')).toMatchObject([{ outcome: 'timed-out' }]);
  });

  it('is counted from the start of the job, and says nothing once the job has ended', async () => {
    const app = new Harness();
    const job = await app.start('report', { timeout: 5_000 });
    await app.clock.advance(4_999);
    job.end();
    await app.clock.advance(10_000);
    expect(app.of('timeout')).toEqual([]);
    expect(app.of('released')).toMatchObject([{ outcome: 'completed', duration: 4_999 }]);
  });

  it('also ends the patience with a job that runs without its lock', async () => {
    const app = new Harness();
    app.store.breakDown();
    const { lock } = await app.start('report', { timeout: 5_000, onStoreError: 'run' });
    const { signal } = lock;
    await app.clock.advance(5_000);
    expect(signal.reason).toBeInstanceOf(LockTimeoutError);
    expect(app.of('lost')).toEqual([]);
  });
});
