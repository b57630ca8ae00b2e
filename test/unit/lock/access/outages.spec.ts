import { describe, expect, it } from '@jest/globals';
import {
  LockNotHeldError,
  LockStateError,
  SchedulerLockConfigError,
  StoreUnavailableError,
} from '../../../../lib/base/errors.js';
import { Harness } from '../harness.js';
import {
  answers,
  type Behaviour,
  brokenConnection,
  failsWith,
  notConnected,
  silence,
} from '../scripted-store.js';
import { kindOf } from '../../../support/events.js';

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
    expect(app.events.map(kindOf)).toEqual([
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

  it('is not what a renewal and a release fail for whose name the store cannot keep any more', async () => {
    const app = new Harness();
    const error = new SchedulerLockConfigError(['key: it failed.']);
    app.store.next('extend', answers([{ held: null, error }]), failsWith(error));
    app.store.next('release', failsWith(error));
    const job = await app.start();
    await app.clock.advance(5_000);
    job.end();
    await app.clock.advance(60_000);
    expect(app.of('renewal-failed')).toMatchObject([{ error }, { error }]);
    expect(app.of('released')).toMatchObject([{ confirmed: false }]);
    expect(app.of('outage-started')).toEqual([]);
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

  it('of one lock, whose end could not be written, is not over while attempts are refused', async () => {
    const app = new Harness();
    const error = new LockStateError('locked', 'somebody has locked its row');
    app.store.next('release', failsWith(error), failsWith(error));
    const run = await app.start('locked');
    run.end();
    await app.clock.advance(0);
    app.store.next('acquire', answers({ acquired: false, reason: 'held' }));
    await app.start('locked');
    expect(app.of('outage-started')).toMatchObject([{ lock: 'locked' }]);
    expect(app.of('outage-ended')).toEqual([]);
    await app.clock.advance(60_000);
    expect(app.of('outage-ended')).toMatchObject([{ lock: 'locked' }]);
  });

  it('of one lock, whose renewal failed, is over when anything of it is written', async () => {
    const app = new Harness();
    const failing = failsWith(new LockStateError('locked', 'somebody has locked its row'));
    app.store.next('extend', failing, failing, failing, failing);
    const run = await app.start('locked');
    await app.clock.advance(4_000);
    expect(app.of('outage-started')).toMatchObject([{ lock: 'locked' }]);
    expect(app.of('outage-ended')).toEqual([]);
    run.end();
    await app.clock.advance(0);
    expect(app.of('outage-ended')).toMatchObject([{ lock: 'locked' }]);
  });

  it('is over when the store says that the entry of one lock is broken: it has answered', async () => {
    const app = new Harness();
    app.store.next('acquire', notConnected, failsWith(new LockStateError('broken', 'wrong type')));
    await app.start('broken');
    await app.start('broken');
    expect(app.events.map((event) => [kindOf(event), 'lock' in event ? event.lock : undefined])).toEqual([
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

describe('an outage of one server of several', () => {
  const MINUTE = 60_000;
  /** Attempts at the locks of the server that is away. */
  async function refused(app: Harness, ...names: string[]): Promise<void> {
    for (const name of names) {
      app.store.next('acquire', notConnected);
      expect((await app.start(name)).began).toBe(false);
    }
  }
  async function runs(app: Harness, name: string): Promise<void> {
    const job = await app.start(name);
    expect(job.began).toBe(true);
    job.end();
    await app.clock.advance(0);
  }
  function newApp(): Harness {
    const app = new Harness();
    app.store.partitioned = true;
    return app;
  }

  it('begins and ends once, however many calls the others answer meanwhile', async () => {
    const app = newApp();
    for (let tick = 0; tick < 50; tick += 1) {
      await refused(app, `away-${tick % 5}`);
      await runs(app, `there-${tick % 7}`);
      await app.clock.advance(MINUTE);
    }
    expect(app.of('outage-started')).toHaveLength(1);
    expect(app.of('outage-ended')).toEqual([]);
    await runs(app, 'away-3');
    expect(app.of('outage-ended')).toMatchObject([{ duration: 50 * MINUTE, skipped: 50 }]);
    for (const name of ['there-1', 'away-1']) await runs(app, name);
    expect(app.of('outage-started')).toHaveLength(1);
    expect(app.of('outage-ended')).toHaveLength(1);
  });

  it('is over with a renewal of what it has cut off', async () => {
    const app = newApp();
    await app.start('away');
    app.store.next('extend', notConnected);
    await app.clock.advance(3_000);
    await runs(app, 'there');
    expect(app.of('outage-ended')).toEqual([]);
    await app.clock.advance(500);
    expect(app.of('outage-ended')).toMatchObject([{ duration: 500 }]);
  });

  it('is over when nothing has failed for ten minutes, though nobody asks for what failed any more', async () => {
    const app = newApp();
    await refused(app, 'customer-1');
    await app.clock.advance(9 * MINUTE);
    await refused(app, 'customer-2');
    await app.clock.advance(9 * MINUTE);
    await runs(app, 'there');
    expect(app.of('outage-ended')).toEqual([]);
    await app.clock.advance(MINUTE);
    await runs(app, 'there');
    expect(app.of('outage-ended')).toMatchObject([{ duration: 19 * MINUTE, skipped: 2 }]);
  });

  it('that was there at the start is over with the first answer', async () => {
    const app = newApp();
    app.runner.startFailed(new StoreUnavailableError('refused', { outcome: 'not-applied' }));
    await runs(app, 'there');
    expect(app.of('outage-ended')).toHaveLength(1);
  });
});

describe('a store that answers, but refuses attempts until somebody puts it right', () => {
  const refusal = new StoreUnavailableError('no column', { outcome: 'not-applied', refused: true });
  const missing = failsWith(refusal);

  it('is one outage, though it renews and gives back the leases that live', async () => {
    const app = new Harness();
    const [living, ending] = [await app.start('living'), await app.start('ending')];
    app.store.always('acquire', missing);
    for (let tick = 0; tick < 20; tick += 1) {
      await app.start(`job-${tick % 3}`);
      await app.clock.advance(3_000);
      if (tick === 10) ending.end();
    }
    expect(app.of('renewed').length).toBeGreaterThan(20);
    expect(app.of('released')).toMatchObject([{ lock: 'ending', confirmed: true }]);
    expect(app.of('outage-started')).toHaveLength(1);
    expect(app.of('outage-ended')).toEqual([]);
    app.store.recover();
    await app.start('another');
    expect(app.of('outage-ended')).toMatchObject([{ duration: 60_000, skipped: 20 }]);
    living.end();
  });

  it.each([
    ['for one lease', answers([{ held: null, error: refusal }])],
    ['for all', missing],
  ])('and refuses renewals %s, is one outage until it renews', async (_, behaviour) => {
    const app = new Harness();
    app.store.next('extend', behaviour);
    await app.start('living');
    await app.clock.advance(3_000);
    await app.start('job');
    expect(app.of('outage-started')).toHaveLength(1);
    expect(app.of('outage-ended')).toEqual([]);
    await app.clock.advance(3_000);
    expect(app.of('outage-ended')).toHaveLength(1);
  });

  it('goes on while attempts are answered that write nothing', async () => {
    const app = new Harness();
    app.store.next('acquire', missing, answers({ acquired: false, reason: 'held' }), missing);
    await app.start('job');
    expect((await app.start('other')).result).toMatchObject({ reason: 'held' });
    expect(app.of('outage-ended')).toEqual([]);
    await app.start('job');
    expect(app.of('outage-started')).toHaveLength(1);
    await app.start('job');
    expect(app.of('outage-ended')).toHaveLength(1);
  });

  it('of one server goes on while others take locks', async () => {
    const app = new Harness();
    app.store.partitioned = true;
    app.store.next('acquire', missing);
    await app.start('job');
    await app.start('elsewhere');
    expect(app.of('outage-ended')).toEqual([]);
    await app.start('job');
    expect(app.of('outage-ended')).toHaveLength(1);
  });

  it('is told also if the store could not be reached before', async () => {
    const app = new Harness();
    await app.start('living');
    app.store.next('acquire', notConnected, missing);
    await app.start('job');
    await app.start('job');
    expect(app.of('outage-started').map(({ error }) => (error as StoreUnavailableError).refused)).toEqual([
      false,
      true,
    ]);
    await app.clock.advance(3_000);
    expect(app.of('renewed')).toHaveLength(1);
    expect(app.of('outage-ended')).toHaveLength(1);
    await app.start('job');
    expect(app.of('outage-started')).toHaveLength(2);
    expect(app.of('outage-ended')).toHaveLength(2);
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

describe('a call that is for no lock', () => {
  it('ends an outage of a store that could not be reached, if it is answered', async () => {
    const app = new Harness();
    app.store.next('acquire', notConnected);
    await app.start();
    expect(app.runner.condition.away).toBe(true);
    await app.clock.advance(5_000);
    app.runner.heard();
    expect(app.of('outage-ended')).toMatchObject([{ duration: 5_000, skipped: 1 }]);
    expect(app.runner.condition).toMatchObject({ away: false, answeredAt: app.clock.now() });
  });

  it('says nothing of calls that the store refuses', async () => {
    const app = new Harness();
    const refused = new StoreUnavailableError('NOPERM', { outcome: 'not-applied', refused: true });
    app.store.next('acquire', failsWith(refused));
    await app.start();
    app.runner.heard();
    expect(app.runner.condition.away).toBe(true);
    expect(app.of('outage-ended')).toEqual([]);
  });

  it('ends that, too, once no call has failed for ten minutes: the next one may be a day away', async () => {
    const app = new Harness();
    const refused = new StoreUnavailableError('OOM', { outcome: 'not-applied', refused: true });
    app.store.next('acquire', failsWith(refused), failsWith(refused));
    await app.start();
    await app.clock.advance(599_000);
    app.runner.heard();
    expect(app.runner.condition.away).toBe(true);
    await app.start();
    await app.clock.advance(599_000);
    app.runner.heard();
    expect(app.of('outage-ended')).toEqual([]);
    await app.clock.advance(1_000);
    app.runner.heard();
    expect(app.of('outage-ended')).toMatchObject([{ duration: 1_199_000, skipped: 2 }]);
    expect(app.runner.condition.away).toBe(false);
  });

  it('is not answered by a refusal: one that comes again is of the same outage', async () => {
    const app = new Harness();
    const refused = new StoreUnavailableError('NOPERM', { outcome: 'not-applied', refused: true });
    app.store.next('acquire', failsWith(refused), failsWith(refused));
    await app.start();
    await app.clock.advance(3_600_000);
    await app.start();
    expect(app.of('outage-started')).toHaveLength(1);
    expect(app.of('outage-ended')).toEqual([]);
  });
});

it('a store that does not answer is told of with its advice, if it has one', async () => {
  for (const [onSilence, message] of [
    [undefined, 'The store did not answer within 2000 ms.'],
    ['Look at its disk.', 'The store did not answer within 2000 ms. Look at its disk.'],
  ]) {
    const app = new Harness();
    Object.assign(app.store, { onSilence });
    app.store.next('acquire', silence);
    const job = app.launch();
    await app.clock.advance(2_000);
    expect(job.result).toMatchObject({ reason: 'store-unavailable', error: { message } });
    expect(app.of('outage-started')).toMatchObject([{ error: { message } }]);
  }
});

it('a store that answers, but always later than it may, is away all the time', async () => {
  const app = new Harness();
  const slow: Behaviour = async (carryOut) => {
    await new Promise<void>((resolve) => app.clock.setTimer(resolve, 2_600));
    return carryOut();
  };
  const many = Array.from({ length: 100 }, () => slow);
  app.store.next('acquire', ...many);
  app.store.next('release', ...many);
  for (let tick = 0; tick < 5; tick += 1) {
    const job = app.launch();
    await app.clock.advance(60_000);
    expect(job.result).toMatchObject({ reason: 'store-unavailable' });
    expect(app.runner.condition.away).toBe(true);
  }
  expect(app.of('outage-started')).toHaveLength(1);
});
