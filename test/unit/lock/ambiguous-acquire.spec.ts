import { describe, expect, it } from '@jest/globals';
import { LockStateError } from '../../../lib/base/errors.js';
import type { LockCall } from '../../../lib/lock/lock-call.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { gate, Harness, SETTINGS } from './harness.js';
import { answers, brokenConnection, failsWith, hold, notConnected, silence } from './scripted-store.js';

describe('an acquire whose outcome is not known', () => {
  it('is skipped when the store does not answer in time, and released at once', async () => {
    const app = new Harness();
    app.store.next('acquire', silence);
    const job = await app.start();
    await app.clock.advance(1_999);
    expect(job.result).toBeUndefined();
    await app.clock.advance(1);
    expect(job.result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    const [acquire] = app.store.of('acquire');
    expect(app.store.of('release')).toEqual([
      {
        operation: 'release',
        at: 2_000,
        names: ['report'],
        token: acquire?.token,
        options: { outcome: 'abandoned', keepFor: 0 },
      },
    ]);
  });

  it('leaves no lock behind when it was carried out and only its answer is lost', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    app.store.next('acquire', hold('reply').behaviour);
    await app.start();
    await app.clock.advance(2_000);
    expect(app.store.of('release')).toHaveLength(1);
    expect((await other.start()).began).toBe(true);
    await app.clock.advance(SETTINGS.ttl * 1.5);
    const released = app.store.of('release').length;
    await app.clock.advance(60_000);
    expect(app.store.of('release')).toHaveLength(released);
  });

  it('is released once if that is answered: no later attempt for the lock waits for another release', async () => {
    const app = new Harness();
    app.store.next('acquire', brokenConnection);
    await app.start();
    await app.clock.advance(SETTINGS.ttl * 3);
    const released = app.store.of('release').length;
    const job = await app.start();
    expect(job.began).toBe(true);
    expect(app.store.of('release')).toHaveLength(released);
  });

  it('is released at once when the connection broke after it was sent', async () => {
    const app = new Harness();
    app.store.next('acquire', async (carryOut) => {
      await carryOut();
      return brokenConnection(carryOut);
    });
    const job = await app.start();
    expect(job.result).toMatchObject({ reason: 'store-unavailable', error: { message: 'connection lost' } });
    expect(app.store.of('release')).toMatchObject([{ at: 0, options: { outcome: 'abandoned' } }]);
    expect((await app.start()).began).toBe(true);
  });

  it('counts any other error of a store as possibly carried out', async () => {
    const app = new Harness();
    app.store.next('acquire', failsWith(new Error('a driver of its own')));
    expect((await app.start()).result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    expect(app.store.of('release')).not.toEqual([]);
  });

  it('counts a store that throws like one that rejects', async () => {
    const app = new Harness();
    app.store.next('acquire', () => {
      throw new Error('not even a promise');
    });
    expect((await app.start()).result).toMatchObject({ ran: false, reason: 'store-unavailable' });
  });

  it('is released again when a grant arrives after all, and the job does not run', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const acquire = hold('request');
    app.store.next('acquire', acquire.behaviour);
    const job = await app.start();
    await app.clock.advance(2_500);
    expect(app.store.of('release')).toHaveLength(1);
    acquire.answer();
    await app.clock.advance(0);
    expect(app.store.of('release')).toMatchObject([{ at: 2_000 }, { at: 2_500 }]);
    expect(job.began).toBe(false);
    expect((await other.start()).began).toBe(true);

    await app.clock.advance(60_000);
    expect(app.store.of('release')).toHaveLength(2);
  });

  it('is released again when it was carried out twice, and the release came in between', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const second = hold('request');
    app.store.next('acquire', async (carryOut) => {
      await carryOut();
      return second.behaviour(carryOut);
    });
    await app.start();
    await app.clock.advance(2_500);
    expect(app.store.of('release')).toHaveLength(1);
    second.answer();
    await app.clock.advance(0);
    expect(app.store.of('release')).toHaveLength(2);
    expect((await other.start()).began).toBe(true);
  });

  it('is released again when it is granted, though a release from before says late that it found nothing', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const [acquire, early] = [hold('request'), hold('reply')];
    app.store.next('acquire', acquire.behaviour);
    app.store.next('release', early.behaviour, silence);
    await app.start();
    await app.clock.advance(4_500);
    acquire.answer();
    await app.clock.advance(0);
    early.answer();
    await app.clock.advance(6_000);
    expect((await other.start()).began).toBe(true);
  });

  it('has no fencing token when it is released, though its own start has refused a second copy', async () => {
    const app = new Harness();
    const refused = gate();
    const late = () => refused.opened.then(() => ({ acquired: false, reason: 'already-ran' }));
    app.store.next('acquire', late, silence);
    const tokens: number[] = [];
    const release = app.store.release.bind(app.store);
    app.store.release = (lease, options) => {
      tokens.push(lease.fencingToken);
      return release(lease, options);
    };
    const call = { ...app.call(), job: 'Reports.nightly', start: { tick: app.clock.now() } };
    void app.runner.run(call, () => undefined);
    await app.clock.advance(4_000);
    refused.open();
    await app.clock.advance(0);
    expect(tokens).toEqual([0, 0]);
  });

  it('is released again when its promise rejects after all', async () => {
    const app = new Harness();
    const acquire = hold('request');
    app.store.next('acquire', acquire.behaviour);
    await app.start();
    await app.clock.advance(2_500);
    acquire.fail(new Error('connection lost'));
    await app.clock.advance(0);
    expect(app.store.of('release').map(({ at }) => at)).toEqual([2_000, 2_500]);
  });

  it('is released with the beats, as long as nothing is found, until ttl has passed since the first answer', async () => {
    const app = new Harness();
    app.store.next('acquire', brokenConnection);
    await app.start();
    await app.clock.advance(60_000);
    expect(app.store.of('release').map(({ at }) => at)).toEqual([0, 3_000, 6_000, 9_000, 12_000]);
    expect(app.clock.pending).toBe(0);
  });

  it('leaves no lock behind when it fails late, and reaches the store even later', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const [told, arrives] = [hold('reply'), hold('request')];
    app.store.next('acquire', (carryOut) => {
      void arrives.behaviour(carryOut);
      return told.behaviour(() => Promise.resolve());
    });
    await app.start();
    await app.clock.advance(9_500);
    told.fail(new Error('connection lost'));
    await app.clock.advance(6_500);
    arrives.answer();
    await app.clock.advance(0);
    expect((await other.start()).result).toMatchObject({ ran: false, reason: 'held' });
    await app.clock.advance(3_000);
    expect((await other.start()).began).toBe(true);
  });

  it('leaves no lock behind when the release reached the store before the acquire did', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const acquire = hold('request');
    app.store.next('acquire', (carryOut) => {
      // The command still sits in a broken connection's buffer; its promise has long failed.
      void acquire.behaviour(carryOut);
      return brokenConnection(carryOut);
    });
    await app.start();
    await app.clock.advance(1_000);
    acquire.answer();
    await app.clock.advance(0);
    expect((await other.start()).result).toMatchObject({ ran: false, reason: 'held' });
    await app.clock.advance(2_000);
    expect((await other.start()).began).toBe(true);
    await app.clock.advance(SETTINGS.ttl * 1.5);
    const released = app.store.of('release').length;
    await app.clock.advance(60_000);
    expect(app.store.of('release')).toHaveLength(released);
  });

  it('is released once more, at most, when it is known that it was refused', async () => {
    const app = new Harness();
    const acquire = hold('reply');
    await new Harness(app, 'there').start();
    app.store.next('acquire', acquire.behaviour);
    await app.start();
    await app.clock.advance(2_000);
    expect(app.store.of('release')).toHaveLength(1);
    acquire.answer();
    await app.clock.advance(60_000);
    expect(app.store.of('release')).toHaveLength(2);
  });

  it('is released once more, at most, when the refusal arrives while the release is under way', async () => {
    const app = new Harness();
    const [acquire, release] = [hold('reply'), hold('reply')];
    await new Harness(app, 'there').start();
    app.store.next('acquire', acquire.behaviour);
    app.store.next('release', release.behaviour);
    await app.start();
    await app.clock.advance(2_000);
    // The order in which one connection answers: what was sent first first.
    acquire.answer();
    await app.clock.advance(0);
    release.answer();
    await app.clock.advance(60_000);
    expect(app.store.of('release')).toHaveLength(2);
  });

  it('is released once more when it was granted while the first release is under way', async () => {
    const app = new Harness();
    const [acquire, release] = [hold('request'), hold('reply')];
    app.store.next('acquire', acquire.behaviour);
    app.store.next('release', release.behaviour);
    await app.start();
    await app.clock.advance(2_000);
    // The first one has found nothing, so the grant is given back when that is known: calls for one lease do not overtake each other.
    acquire.answer();
    await app.clock.advance(0);
    expect(app.store.of('release')).toHaveLength(1);
    release.answer();
    await app.clock.advance(60_000);
    expect(app.store.of('release')).toHaveLength(2);
    expect((await app.start()).began).toBe(true);
  });

  it('sends no release for an attempt that was certainly not carried out', async () => {
    const app = new Harness();
    app.store.next('acquire', notConnected, failsWith(new LockStateError('report', 'wrong type')));
    await app.start();
    await app.start();
    await app.clock.advance(60_000);
    expect(app.store.of('release')).toEqual([]);
    expect(app.clock.pending).toBe(0);
  });

  it('keeps nothing from the next attempt, which has a token of its own', async () => {
    const app = new Harness();
    app.store.next('acquire', silence);
    await app.start();
    await app.clock.advance(2_000);
    const job = await app.start();
    expect(job.began).toBe(true);
    await app.clock.advance(30_000);
    expect(() => job.lock.assertLocked()).not.toThrow();
    expect(app.of('lost')).toEqual([]);
  });

  it('is given back before the next attempt of this process asks', async () => {
    const app = new Harness();
    const release = hold('request');
    app.store.next('acquire', hold('reply').behaviour);
    app.store.next('release', release.behaviour);
    await app.start();
    await app.clock.advance(2_000);
    const next = await app.start();
    expect(app.store.of('acquire')).toHaveLength(1);
    release.answer();
    await app.clock.advance(0);
    expect(next.began).toBe(true);
  });

  it('does not ask the store twice at a time for one lock', async () => {
    const app = new Harness();
    const acquire = hold('reply');
    app.store.next('acquire', acquire.behaviour);
    app.launch();
    const second = await app.start();
    expect(second.result).toEqual({ ran: false, reason: 'held', holder: 'here' });
    expect(app.store.of('acquire')).toHaveLength(1);
  });

  it('passes on what a refusal says', async () => {
    const app = new Harness();
    const refusal = { acquired: false, reason: 'held', holder: 'there', expiresIn: 1_234 };
    app.store.next('acquire', answers(refusal));
    const job = await app.start();
    expect(job.result).toEqual({ ran: false, reason: 'held', holder: 'there', expiresIn: 1_234 });
    expect(app.of('skipped')).toMatchObject([
      { lock: 'report', reason: 'held', holder: 'there', expiresIn: 1_234 },
    ]);
  });

  it('is released once more when it fails long after everybody has given it up', async () => {
    const app = new Harness();
    let fail!: () => void;
    app.store.next('acquire', async (carryOut) => {
      await new Promise<void>((resolve) => (fail = resolve));
      await carryOut();
      return brokenConnection(carryOut);
    });
    await app.start();
    await app.clock.advance(15_000);
    const before = app.store.of('release').length;
    fail();
    await app.clock.advance(0);
    expect(app.store.of('release').length).toBeGreaterThan(before);
    expect((await app.start()).began).toBe(true);
  });

  it('keeps the start of its run, also in a shutdown that has not told the store of its end', async () => {
    const clock = new ManualClock();
    const store = new MemoryLockStore({ clock });
    const acquire = store.acquire.bind(store);
    const asks: string[] = [];
    const outcomes: unknown[] = [];
    store.acquire = (request) =>
      asks.push(request.token) === 1 ? new Promise(() => undefined) : acquire(request);
    store.release = ({ job }, options) => {
      outcomes.push([job, options?.outcome]);
      return new Promise(() => undefined);
    };
    const runner = new LockRunner(store, 'here', clock, () => undefined, 2_000);
    const call: LockCall = {
      kind: 'fired',
      name: 'report',
      job: 'Reports.nightly',
      start: { tick: clock.now() },
      settings: { ...SETTINGS, wait: 60_000 },
    };
    const result = runner.run(call, () => 'ran');
    await clock.advance(5_000);
    expect(await result).toMatchObject({ ran: true });
    const closed = runner.shutdown(0);
    await clock.advance(60_000);
    await closed;
    expect(asks).toHaveLength(2);
    const end = ['Reports.nightly', 'completed'];
    // The lease itself is given back, without its job: nothing says that the job has not run.
    expect(outcomes).toEqual([end, end, [undefined, 'abandoned']]);
  });
});
