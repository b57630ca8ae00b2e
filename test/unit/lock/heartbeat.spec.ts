import { describe, expect, it } from '@jest/globals';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import { Harness } from './harness.js';
import { answers, brokenConnection, hold, silence } from './scripted-store.js';

describe('the heartbeat', () => {
  it('renews a lease with every beat, as long as its job runs', async () => {
    const app = new Harness();
    const job = await app.start();
    await app.clock.advance(3_600_000);
    expect(app.store.of('extend').map(({ at }) => at)).toEqual(
      Array.from({ length: 1_200 }, (_, beat) => (beat + 1) * 3_000),
    );
    expect(() => job.lock.assertLocked()).not.toThrow();
    expect(app.of('renewed')).toHaveLength(1_200);
  });

  it('stops when the job ends, and leaves no timer', async () => {
    const app = new Harness();
    const job = await app.start();
    await app.clock.advance(4_000);
    job.end();
    await app.clock.advance(0);
    // They may wait for the beat that would have come, and for a call that would be late: the next lease needs both.
    expect(app.clock.pending).toBeLessThanOrEqual(2);
    await app.clock.advance(60_000);
    expect(app.clock.pending).toBe(0);
    expect(app.store.of('extend')).toHaveLength(1);
  });

  it('never renews a lease with heartbeat: false, and loses it at its deadline', async () => {
    const app = new Harness();
    await app.start('report', { heartbeat: false });
    await app.clock.advance(9_897);
    expect(app.of('lost')).toEqual([]);
    await app.clock.advance(60_000);
    expect(app.store.of('extend')).toEqual([]);
    expect(app.of('lost')).toMatchObject([{ reason: 'deadline' }]);
  });

  it('renews all leases that are due or nearly due in one call', async () => {
    const app = new Harness();
    await app.start('a');
    await app.clock.advance(500);
    await app.start('b');
    await app.clock.advance(501);
    // A third of its heartbeat is 1,000 ms: this one is not nearly due when `a` is.
    await app.start('c');
    await app.clock.advance(1_999);
    expect(app.store.of('extend')).toMatchObject([{ at: 3_000, names: ['a', 'b'] }]);
    await app.clock.advance(1_001);
    expect(app.store.of('extend')).toMatchObject([{ at: 3_000 }, { at: 4_001, names: ['c'] }]);
  });

  it('brings a fleet of leases into step: one call per beat, and two timers, however many there are', async () => {
    const app = new Harness();
    for (let index = 0; index < 100; index += 1) {
      await app.start(`job-${index}`);
      await app.clock.advance(10);
    }
    const before = app.store.of('extend').length;
    await app.clock.advance(30_000);
    expect(app.store.of('extend').length - before).toBeLessThanOrEqual(16);
    // The next beat, and the limit of the calls to the store.
    expect(app.clock.pending).toBe(2);
    expect(app.of('lost')).toEqual([]);
  });

  it('skips beats while the store is slow, and never has two renewals of a lease under way', async () => {
    const app = new Harness();
    const slow = hold('reply');
    app.store.next('extend', slow.behaviour);
    await app.start('report', { heartbeat: 500 });
    await app.clock.advance(500 + 1_900);
    expect(app.store.of('extend')).toHaveLength(1);
    slow.answer();
    await app.clock.advance(0);
    // The beat that is overdue by then comes at once, the ones before it never.
    expect(app.store.of('extend').map(({ at }) => at)).toEqual([500, 2_400]);
  });

  it('renews other leases while the renewal of one hangs', async () => {
    const app = new Harness();
    app.store.next('extend', silence);
    await app.start('a');
    await app.clock.advance(2_100);
    await app.start('b', { heartbeat: 1_500 });
    await app.clock.advance(1_600);
    expect(app.store.of('extend')).toMatchObject([{ names: ['a'] }, { at: 3_600, names: ['b'] }]);
    expect(app.of('renewed')).toMatchObject([{ lock: 'b' }]);
  });

  it('believes no renewal whose answer is heard past the deadline, though the process was blocked and no timer came first', async () => {
    const app = new Harness();
    const slow = hold('reply');
    app.store.next('extend', slow.behaviour);
    await app.start();
    await app.clock.advance(3_000);
    app.clock.block(7_000);
    slow.answer();
    await new Promise(setImmediate);
    expect(app.of('renewed')).toEqual([]);
    expect(app.of('lost')).toMatchObject([{ reason: 'deadline' }]);
  });

  it('tries a failed renewal again after 5 % of the ttl', async () => {
    const app = new Harness();
    app.store.next('extend', brokenConnection, brokenConnection);
    await app.start();
    await app.clock.advance(4_000);
    expect(app.store.of('extend').map(({ at }) => at)).toEqual([3_000, 3_500, 4_000]);
    expect(app.of('renewal-failed')).toMatchObject([
      { expiresIn: 6_898, error: { message: 'connection lost' } },
      { expiresIn: 6_398 },
    ]);
    await app.clock.advance(3_000);
    expect(app.store.of('extend')).toHaveLength(4);
    expect(app.of('lost')).toEqual([]);
  });

  it('tries a failed renewal again after 1 s at most', async () => {
    const app = new Harness();
    app.store.next('extend', brokenConnection);
    await app.start('report', { ttl: 600_000, heartbeat: 180_000 });
    await app.clock.advance(181_000);
    expect(app.store.of('extend').map(({ at }) => at)).toEqual([180_000, 181_000]);
  });

  it('tries a failed renewal again at once when the connection is back', async () => {
    const app = new Harness();
    app.store.next('extend', brokenConnection);
    await app.start('report', { ttl: 600_000, heartbeat: 180_000 });
    await app.start('other', { ttl: 600_000, heartbeat: 200_000 });
    await app.clock.advance(180_100);
    expect(app.of('renewed')).toEqual([]);
    app.store.announce();
    await app.clock.advance(0);
    expect(app.store.of('extend').map(({ at }) => at)).toEqual([180_000, 180_100]);
    expect(app.of('renewed').map(({ lock }) => lock)).toEqual(['report', 'other']);
  });

  it('does not renew what is not due when the connection is back', async () => {
    const app = new Harness();
    await app.start();
    await app.clock.advance(100);
    app.store.announce();
    await app.clock.advance(0);
    expect(app.store.of('extend')).toEqual([]);
  });

  it('does not renew again what was renewed since it failed, when the connection is back', async () => {
    const app = new Harness();
    app.store.next('extend', brokenConnection);
    await app.start();
    await app.clock.advance(3_600);
    app.store.announce();
    await app.clock.advance(0);
    expect(app.store.of('extend').map(({ at }) => at)).toEqual([3_000, 3_500]);
  });

  it('tells nothing of a renewal that fails when its job has ended', async () => {
    const app = new Harness();
    const extend = hold('reply');
    app.store.next('extend', extend.behaviour);
    const job = await app.start();
    await app.clock.advance(3_000);
    job.end();
    await app.clock.advance(100);
    extend.fail(new Error('connection lost'));
    await app.clock.advance(0);
    expect(app.of('renewal-failed')).toEqual([]);
    expect(app.of('released')).toMatchObject([{ outcome: 'completed', confirmed: true }]);
  });

  it('gives a renewal no more than a third of the shortest ttl to answer', async () => {
    const app = new Harness();
    app.store.always('extend', silence);
    await app.start('short', { ttl: 300, heartbeat: 90, storeTimeout: 100 });
    await app.clock.advance(189);
    expect(app.of('renewal-failed')).toEqual([]);
    await app.clock.advance(1);
    expect(app.of('renewal-failed')).toMatchObject([
      { error: { message: 'The store did not answer within 100 ms.' } },
    ]);
  });

  it('judges each lease of a batch alone', async () => {
    const app = new Harness();
    const error = new StoreUnavailableError('a node is down', { outcome: 'unknown' });
    app.store.next(
      'extend',
      answers([{ held: true }, { held: false, reason: 'taken' }, { held: null, error }]),
    );
    for (const name of ['a', 'b', 'c']) await app.start(name);
    await app.clock.advance(3_000);
    expect(app.of('renewed')).toMatchObject([{ lock: 'a' }]);
    expect(app.of('lost')).toMatchObject([{ lock: 'b', reason: 'taken' }]);
    expect(app.of('renewal-failed')).toMatchObject([{ lock: 'c', error: { message: 'a node is down' } }]);
  });
});
