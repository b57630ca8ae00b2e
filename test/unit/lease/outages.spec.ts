import { describe, expect, it } from '@jest/globals';
import { LockNotHeldError, LockStateError, StoreUnavailableError } from '../../../lib/errors.js';
import { Harness } from './harness.js';
import { answers, brokenConnection, failsWith, notConnected } from './scripted-store.js';

describe('an outage of the store', () => {
  it('begins and ends with one event each, however many runs fall into it', async () => {
    const app = new Harness();
    app.store.breakDown();
    for (let tick = 0; tick < 50; tick += 1) {
      expect((await app.start(`job-${tick % 5}`)).result).toMatchObject({ reason: 'store-unavailable' });
      await app.clock.advance(1_000);
    }
    app.store.recover();
    await app.start();
    expect(app.of('outage-started')).toMatchObject([
      { instance: 'here', atStart: false, error: { message: 'not connected' } },
    ]);
    expect(app.of('outage-started')[0]).not.toHaveProperty('lock');
    expect(app.of('outage-ended')).toMatchObject([{ instance: 'here', duration: 50_000, skipped: 50 }]);
    expect(app.of('skipped')).toHaveLength(50);
  });

  it('begins with a renewal that fails, and ends with one that succeeds', async () => {
    const app = new Harness();
    app.store.next('extend', brokenConnection, brokenConnection);
    await app.start();
    await app.clock.advance(5_000);
    expect(app.events.map(({ type }) => type)).toEqual([
      'acquired',
      'outage-started',
      'renewal-failed',
      'renewal-failed',
      'outage-ended',
      'renewed',
    ]);
    expect(app.of('outage-ended')).toMatchObject([{ duration: 1_000, skipped: 0 }]);
  });

  it('begins and ends with releases as well', async () => {
    const app = new Harness();
    app.store.next('release', notConnected);
    const job = await app.start();
    job.end();
    await app.clock.advance(60_000);
    expect(app.of('outage-started')).toHaveLength(1);
    expect(app.of('outage-ended')).toMatchObject([{ duration: 3_000 }]);
  });

  it('that began before the start of the application says so', async () => {
    const app = new Harness();
    app.runner.startFailed(new StoreUnavailableError('refused', { outcome: 'not-applied' }));
    app.store.next('acquire', notConnected);
    await app.start();
    expect(app.of('outage-started')).toMatchObject([{ atStart: true, error: { message: 'refused' } }]);
    await app.start();
    expect(app.of('outage-ended')).toMatchObject([{ skipped: 1 }]);
  });

  it('of one lock, whose entry is broken, concerns that lock alone', async () => {
    const app = new Harness();
    const error = new LockStateError('broken', 'wrong type');
    app.store.next('acquire', failsWith(error), failsWith(error));
    await app.start('broken');
    await app.start('broken');
    expect(app.of('outage-started')).toMatchObject([{ lock: 'broken' }]);
    expect((await app.start('fine')).began).toBe(true);
    expect(app.of('outage-ended')).toEqual([]);
    expect((await app.start('broken')).began).toBe(true);
    expect(app.of('outage-ended')).toMatchObject([{ lock: 'broken', skipped: 2 }]);
  });

  it('is over when the store says that the entry of one lock is broken: it has answered', async () => {
    const app = new Harness();
    app.store.next('acquire', notConnected, failsWith(new LockStateError('broken', 'wrong type')));
    await app.start('broken');
    await app.start('broken');
    expect(app.events.map((event) => [event.type, 'lock' in event ? event.lock : undefined])).toEqual([
      ['outage-started', undefined],
      ['skipped', 'broken'],
      ['outage-ended', undefined],
      ['outage-started', 'broken'],
      ['skipped', 'broken'],
    ]);
  });

  it('of a broken entry does not stop the renewals of the other leases', async () => {
    const app = new Harness();
    const error = new LockStateError('b', 'wrong type');
    app.store.next('extend', answers([{ held: true }, { held: null, error }, { held: true }]));
    for (const name of ['a', 'b', 'c']) await app.start(name);
    await app.clock.advance(3_000);
    expect(app.of('renewed').map(({ lock }) => lock)).toEqual(['a', 'c']);
    expect(app.of('renewal-failed')).toMatchObject([{ lock: 'b' }]);
    expect(app.of('outage-started')).toMatchObject([{ lock: 'b' }]);
    await app.clock.advance(500);
    expect(app.of('outage-ended')).toMatchObject([{ lock: 'b', duration: 500 }]);
  });

  it('of a part of the store begins and ends once, though other parts answer in the same call', async () => {
    const app = new Harness();
    const error = new StoreUnavailableError('a node is down', { outcome: 'unknown' });
    const partly = answers([{ held: null, error }, { held: true }]);
    app.store.next('extend', partly);
    for (const name of ['a', 'b']) await app.start(name);
    await app.clock.advance(3_000);
    expect(app.of('outage-started')).toHaveLength(1);
    expect(app.of('outage-ended')).toEqual([]);
    await app.clock.advance(500);
    expect(app.of('outage-ended')).toMatchObject([{ duration: 500 }]);
  });
});

describe('onStoreError', () => {
  it('skip: nobody runs', async () => {
    const app = new Harness();
    app.store.breakDown();
    const job = await app.start();
    expect(job.began).toBe(false);
    expect(job.result).toMatchObject({
      ran: false,
      reason: 'store-unavailable',
      error: { message: 'not connected' },
    });
  });

  it('throw: the call rejects with what the store said', async () => {
    const app = new Harness();
    app.store.breakDown();
    const job = await app.start('report', { onStoreError: 'throw' });
    expect(job.began).toBe(false);
    expect(job.error).toBeInstanceOf(StoreUnavailableError);
    expect(app.of('outage-started')).toHaveLength(1);
  });

  it('throw: a call that failed so can be made again', async () => {
    const app = new Harness();
    app.store.next('acquire', notConnected);
    await app.start('report', { onStoreError: 'throw' });
    expect((await app.start('report', { onStoreError: 'throw' })).began).toBe(true);
  });

  it('run: the job runs without its lock, without a fencing token, and assertLocked() throws', async () => {
    const app = new Harness();
    app.store.breakDown();
    const job = await app.start('report', { onStoreError: 'run' });
    expect(job.lock.fencingToken).toBeUndefined();
    expect(() => job.lock.assertLocked()).toThrow(LockNotHeldError);
    expect(() => job.lock.assertLocked()).toThrow(
      'Lock "report" is not held: the store failed, and the job runs without it because onStoreError is "run".',
    );
    expect(app.of('unlocked')).toMatchObject([{ lock: 'report', error: { message: 'not connected' } }]);
    await app.clock.advance(60_000);
    expect(app.store.of('extend')).toEqual([]);
    job.end();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: true, value: 'done' });
    expect(app.store.of('release')).toEqual([]);
    expect(app.of('lost')).toEqual([]);
  });

  it('run: not twice at a time in this process', async () => {
    const app = new Harness();
    app.store.breakDown();
    await app.start('report', { onStoreError: 'run' });
    expect((await app.start('report', { onStoreError: 'run' })).result).toMatchObject({ reason: 'held' });
  });

  it('run: an outage that skips nobody counts nobody', async () => {
    const app = new Harness();
    app.store.next('acquire', notConnected);
    await app.start('report', { onStoreError: 'run' });
    await app.start('other');
    expect(app.of('outage-ended')).toMatchObject([{ skipped: 0 }]);
  });
});
