import { describe, expect, it, jest } from '@jest/globals';
import { LockLostError, LockNotHeldError } from '../../../lib/base/errors.js';
import type { Wanted } from '../../../lib/contract/events/events.js';
import type { SchedulerLockEvent } from '../../../lib/index.js';
import { LeasedLock } from '../../../lib/lock/current-lock.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import type { LockStore } from '../../../lib/contract/lock-store.js';
import { gate, Harness, SETTINGS } from './harness.js';
import { answers, brokenConnection, hold, notConnected } from './scripted-store.js';

describe('the life of a lease', () => {
  it('counts its deadline from before the acquire was sent, less a drift of 1 % of the ttl and 2 ms', async () => {
    const app = new Harness();
    app.store.always('extend', notConnected);
    const acquire = hold('reply');
    app.store.next('acquire', acquire.behaviour);
    const job = app.launch();
    await app.clock.advance(1_500);
    acquire.answer();
    await app.clock.advance(0);
    expect(job.began).toBe(true);

    await app.clock.advance(9_897 - 1_500);
    expect(app.of('lost')).toEqual([]);
    await app.clock.advance(1);
    expect(app.of('lost')).toMatchObject([{ lock: 'report', reason: 'deadline' }]);
    expect(app.of('acquired')).toMatchObject([{ expiresIn: 9_898 - 1_500 }]);
  });

  it('counts the deadline after a renewal from before that renewal was sent', async () => {
    const app = new Harness();
    const extend = hold('reply');
    app.store.next('extend', extend.behaviour);
    await app.start();
    await app.clock.advance(3_000 + 1_900);
    extend.answer();
    await app.clock.advance(0);
    app.store.always('extend', notConnected);

    await app.clock.advance(3_000 + 9_897 - 4_900);
    expect(app.of('lost')).toEqual([]);
    await app.clock.advance(1);
    expect(app.of('lost')).toHaveLength(1);
    expect(app.of('renewed')).toMatchObject([{ expiresIn: 9_898 - 1_900 }]);
  });

  it('is judged by the clock at this moment, not by when a timer last fired', async () => {
    const app = new Harness();
    const { lock } = await app.start();
    expect(() => lock.assertLocked()).not.toThrow();
    // A blocked event loop: no timer has fired since.
    app.clock.block(9_898);
    expect(() => lock.assertLocked()).toThrow(LockLostError);
    expect(lock.signal.aborted).toBe(true);
    expect(app.of('lost')).toHaveLength(1);
  });

  it('is lost past its deadline whatever the store says later', async () => {
    const app = new Harness();
    const extend = hold('reply');
    app.store.next('extend', extend.behaviour);
    const { lock } = await app.start();
    await app.clock.advance(3_000);
    // The store has renewed the lease, and says so on time; but this process wakes up too late.
    app.clock.block(6_898);
    extend.answer();
    await app.clock.advance(0);
    expect(app.of('renewed')).toEqual([]);
    expect(app.of('lost')).toMatchObject([{ reason: 'deadline' }]);
    expect(() => lock.assertLocked()).toThrow('it was not renewed in time');
  });

  it('tells the job of its loss once, by the signal with a LockLostError, and by one event', async () => {
    const app = new Harness();
    app.store.next('extend', answers([{ held: false, reason: 'taken', holder: 'there' }]));
    const { lock } = await app.start();
    const { signal } = lock;
    let aborts = 0;
    signal.addEventListener('abort', () => (aborts += 1));
    await app.clock.advance(60_000);

    expect(aborts).toBe(1);
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect(signal.reason).toMatchObject({
      code: 'LOCK_LOST',
      lock: 'report',
      reason: 'taken',
      holder: 'there',
    });
    expect(app.of('lost')).toMatchObject([
      { lock: 'report', reason: 'taken', holder: 'there', instance: 'here' },
    ]);
    expect(app.store.of('extend')).toHaveLength(1);
  });

  it('gives a signal asked for after the loss that has aborted already', async () => {
    const app = new Harness();
    app.store.next('extend', answers([{ held: false, reason: 'expired' }]));
    const { lock } = await app.start();
    await app.clock.advance(3_000);
    expect(lock.signal.aborted).toBe(true);
    expect(lock.signal.reason).toMatchObject({ reason: 'expired' });
  });

  it('does not kill the job that lost it, and keeps the lock from this process until that job ends', async () => {
    const app = new Harness();
    app.store.next('extend', answers([{ held: false, reason: 'expired' }]));
    const job = await app.start();
    await app.clock.advance(20_000);
    const asked = app.store.of('acquire').length;
    const second = await app.start();
    expect(second.result).toEqual({ ran: false, reason: 'held', holder: 'here' });
    expect(app.store.of('acquire')).toHaveLength(asked);

    job.end();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: true, value: 'done' });
    expect(app.of('released')).toMatchObject([{ outcome: 'aborted', confirmed: false }]);
    expect((await app.start()).began).toBe(true);
  });

  it('goes on when the store has forgotten it and nobody took the lock since', async () => {
    const app = new Harness();
    const job = await app.start();
    app.store.forget();
    await app.clock.advance(3_000);
    expect(app.of('renewed')).toMatchObject([{ lock: 'report', restored: true }]);
    expect(() => job.lock.assertLocked()).not.toThrow();
    await app.clock.advance(3_000);
    expect(app.of('renewed')).toMatchObject([{ restored: true }, { restored: false }]);
  });

  it('that was deleted before its time, and written back, goes on, and tells who has noticed', async () => {
    const app = new Harness();
    const job = await app.start();
    app.store.next('extend', answers([{ held: true, restored: true, deleted: true }]));
    await app.clock.advance(3_000);
    expect(app.of('renewed')).toMatchObject([{ lock: 'report', restored: true, deleted: true }]);
    expect(() => job.lock.assertLocked()).not.toThrow();
  });

  it('is lost when the store has forgotten it and somebody took the lock since', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const job = await app.start();
    app.store.forget();
    const taker = await other.start();
    expect(taker.began).toBe(true);
    await app.clock.advance(3_000);
    expect(app.of('lost')).toMatchObject([{ reason: 'taken', holder: 'there' }]);
    job.end();
    await app.clock.advance(0);
    expect(app.of('released')).toMatchObject([{ confirmed: false }]);
    // The new holder has kept its lock.
    expect((await app.start()).result).toMatchObject({ ran: false, reason: 'held', holder: 'there' });
    expect(() => taker.lock.assertLocked()).not.toThrow();
  });

  it('is free for others after its expiry, and not before, when its holder is gone', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    app.store.always('extend', brokenConnection);
    await app.start();
    await app.clock.advance(9_999);
    expect((await other.start()).result).toMatchObject({ reason: 'held', holder: 'here', expiresIn: 1 });
    await app.clock.advance(1);
    expect((await other.start()).began).toBe(true);
  });

  it('grows its fencing token with every lease', async () => {
    const app = new Harness();
    const tokens: number[] = [];
    for (let run = 0; run < 3; run += 1) {
      const job = await app.start();
      tokens.push(job.lock.fencingToken ?? 0);
      job.end();
      await app.clock.advance(0);
    }
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(3);
  });

  it('is lost at once when the store tells who has taken it, and no other lease with it', async () => {
    const app = new Harness();
    let tell: ((name: string, holder: string) => void) | undefined;
    const store: LockStore = Object.assign(app.store, {
      onLost: (listener: typeof tell) => {
        tell = listener;
        return () => (tell = undefined);
      },
    });
    const events: SchedulerLockEvent[] = [];
    const emit = (event: SchedulerLockEvent): void => void events.push(event);
    const runner = new LockRunner(store, 'here', app.clock, emit, SETTINGS.storeTimeout);
    const end = gate();
    for (const name of ['report', 'import']) void runner.run(app.call(name), () => end.opened);
    app.store.next('acquire', notConnected);
    void runner.run(app.call('unlocked', { onStoreError: 'run' }), () => end.opened);
    await app.clock.advance(0);
    tell?.('report', 'there');
    tell?.('unlocked', 'there');
    expect(events.filter(({ type }) => type === 'lost')).toMatchObject([
      { lock: 'report', reason: 'taken', holder: 'there' },
    ]);
    end.open();
    await runner.shutdown(0);
    expect(tell).toBeUndefined();
  });

  it('of no tick has no attempt in its events', async () => {
    const app = new Harness();
    (await app.start()).end();
    await app.clock.advance(0);
    expect(app.events.map(({ type }) => type)).toEqual(['acquired', 'released']);
    for (const event of app.events) expect(event).not.toHaveProperty('attempt');
  });

  it.each([
    ['of a schedule', 'no caller waits', true],
    ['of a call by hand', 'its caller waits', false],
  ])('%s: for its run %s', async (_, __, scheduled) => {
    const app = new Harness();
    const stories: boolean[] = [];
    const run = app.runner.run(app.call('report', {}, scheduled), (lock) => {
      if (lock instanceof LeasedLock) stories.push(lock.isOwnStory);
    });
    await app.clock.advance(0);
    await run;
    expect(stories).toEqual([scheduled]);
  });

  it('is over for the job once the job has ended', async () => {
    const app = new Harness();
    const job = await app.start();
    const { lock } = job;
    job.end();
    await app.clock.advance(0);
    expect(() => lock.assertLocked()).toThrow(LockNotHeldError);
    expect(() => lock.assertLocked()).toThrow('Lock "report" is not held any more: its job has ended.');
    expect(lock.signal.aborted).toBe(false);
  });

  it('draws a new UUID v4 for every attempt', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    await app.start();
    await other.start();
    await other.start();
    const tokens = [...app.store.of('acquire'), ...other.store.of('acquire')].map(({ token }) => token);
    expect(new Set(tokens).size).toBe(3);
    for (const token of tokens)
      expect(token).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
  });

  it.each(['acquired', 'released'] as const)(
    'tells of "%s" whom it may concern, and nobody else',
    async (wanted) => {
      const app = new Harness();
      const heard: SchedulerLockEvent['type'][] = [];
      const runner = new LockRunner(
        app.store,
        'here',
        app.clock,
        ({ type }) => heard.push(type),
        1_000,
        (type) => type === wanted,
      );
      const run = runner.run(app.call(), () => 'done');
      await app.clock.advance(0);
      expect(await run).toEqual({ ran: true, value: 'done' });
      expect(heard).toEqual([wanted]);
    },
  );

  it.each([
    ['refusal', undefined],
    ['released', true],
  ] as const)(
    'is asked for in detail if somebody hears of refusals: who hears "%s"',
    async (heard, brief) => {
      const app = new Harness();
      const acquire = jest.spyOn(app.store, 'acquire');
      const hears = (type: Wanted): boolean => type === heard;
      const runner = new LockRunner(app.store, 'here', app.clock, () => undefined, 1_000, hears);
      const run = runner.run({ ...app.call(), brief: true }, () => 'done');
      await app.clock.advance(0);
      await run;
      expect(acquire.mock.calls.map(([request]) => request.brief)).toEqual([brief]);
    },
  );

  it('tells of the release who has begun to listen while the job was running', async () => {
    const app = new Harness();
    const heard: SchedulerLockEvent['type'][] = [];
    let listens = false;
    const runner = new LockRunner(
      app.store,
      'here',
      app.clock,
      ({ type }) => heard.push(type),
      1_000,
      () => listens,
    );
    const run = runner.run(app.call(), () => {
      listens = true;
    });
    await app.clock.advance(0);
    await run;
    expect(heard).toEqual(['released']);
  });
});

it('a lock that was taken without a job is live until it is released, or its lease runs out', async () => {
  const app = new Harness();
  const [released, lost] = await Promise.all(
    ['released', 'lost'].map((name) => app.runner.acquire(app.call(name))),
  );
  expect([released?.live, lost?.live]).toStrictEqual([true, true]);
  const done = released?.release();
  await app.clock.advance(0);
  await done;
  expect([released?.live, lost?.live]).toStrictEqual([false, true]);
  app.store.breakDown();
  await app.clock.advance(SETTINGS.ttl);
  expect(lost?.live).toBe(false);
  void lost?.release();
  await app.clock.advance(0);
});
