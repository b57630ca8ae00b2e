import { UnderWay } from '../../../lib/base/clock.js';
import { describe, expect, it } from '@jest/globals';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import { SafeStore } from '../../../lib/lock/access/safe-store.js';
import type { LockCall } from '../../../lib/lock/lock-call.js';
import { Outages } from '../../../lib/lock/access/outages.js';
import { Releases } from '../../../lib/lock/releases.js';
import { TimeLimits } from '../../../lib/lock/access/time-limits.js';
import type { LockStore, ReleaseResult } from '../../../lib/contract/lock-store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { gate, Harness, SETTINGS } from './harness.js';
import { brokenConnection, hold, notConnected, silence } from './scripted-store.js';
import { locksOnly } from '../../support/locks-only.js';

const TICK = 1_760_000_000_000;

/** A call of the scheduler's for one tick. */
const ofTick = (app: Harness, settings: Partial<typeof SETTINGS> = {}): LockCall => ({
  ...app.call('report', settings),
  job: 'Reports.nightly',
  start: { tick: TICK },
});

/** The acquire is carried out, its answer is lost, and the store is out of reach from then on. */
async function loseAnswer(app: Harness, settings: Partial<typeof SETTINGS> = {}): Promise<void> {
  app.store.next('acquire', async (carryOut) => {
    await carryOut();
    app.store.breakDown();
    return brokenConnection(carryOut);
  });
  const run = app.runner.run(ofTick(app, settings), () => 'ran');
  await app.clock.advance(0);
  expect(await run).toMatchObject({ ran: false, reason: 'store-unavailable' });
}

/** How many releases there were in this time. */
async function releasesWithin(app: Harness, milliseconds: number): Promise<number> {
  const { length } = app.store.of('release');
  await app.clock.advance(milliseconds);
  return app.store.of('release').length - length;
}

describe('an acquire that was carried out, and not answered, before a long outage', () => {
  it.each([3, 100])('gives its tick back after %s ttls', async (ttls) => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    await loseAnswer(app);
    await app.clock.advance(ttls * SETTINGS.ttl);
    expect(await other.runner.run(ofTick(other), () => 'ran')).toMatchObject({ reason: 'already-ran' });
    app.store.recover();
    app.store.announce();
    await app.clock.advance(0);
    expect(await other.runner.run(ofTick(other), () => 'ran')).toEqual({ ran: true, value: 'ran' });
    await app.clock.advance(60_000);
    expect(app.clock.pending).toBe(0);
  });

  it.each([
    ['its own start refuses it', 'Reports.nightly', undefined],
    ['its own start refuses it, of no job', undefined, undefined],
    ['the server does not carry it out', 'Reports.nightly', notConnected],
  ])('gives its tick back where the client has sent it twice, and %s', async (_, job, second) => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    let sendAgain!: () => void;
    app.store.next('acquire', async (carryOut) => {
      await carryOut();
      app.store.breakDown();
      await new Promise<void>((resolve) => (sendAgain = resolve));
      return second?.(carryOut) ?? carryOut();
    });
    const run = app.runner.run({ ...ofTick(app), job }, () => 'ran');
    await app.clock.advance(2 * SETTINGS.ttl);
    expect(await run).toMatchObject({ ran: false, reason: 'store-unavailable' });
    app.store.recover();
    sendAgain();
    await app.clock.advance(0);
    expect(await other.runner.run({ ...ofTick(other), job }, () => 'ran')).toEqual({
      ran: true,
      value: 'ran',
    });
    await app.clock.advance(60_000);
    expect(app.clock.pending).toBe(0);
  });

  it('gives its tick back within ten seconds where nobody says that the store is back, whatever the ttl', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    await loseAnswer(app, { ttl: 2_592_000_000 });
    await app.clock.advance(86_400_000);
    app.store.recover();
    await app.clock.advance(10_000);
    expect(await other.runner.run(ofTick(other), () => 'ran')).toEqual({ ran: true, value: 'ran' });
  });

  it('does not keep this process itself from running the tick: the next call gives it back first', async () => {
    const app = new Harness();
    await loseAnswer(app);
    await app.clock.advance(30_500);
    app.store.recover();
    const { length } = app.store.calls;
    expect(await app.runner.run(ofTick(app), () => 'ran')).toEqual({ ran: true, value: 'ran' });
    const operations = app.store.calls.slice(length).map(({ operation }) => operation);
    expect(operations).toEqual(['release', 'acquire', 'release']);
  });

  it('runs the job of the next call in the context of that call', async () => {
    const app = new Harness();
    await loseAnswer(app);
    app.store.recover();
    // The lock "report" is asked for inside a job of another lock, and the release that goes first was made outside of it.
    const nested = await app.runner.run(app.call('outer'), () =>
      app.runner.run(ofTick(app), () => app.runner.run(app.call('outer'), () => 'nested')),
    );
    expect(nested).toMatchObject({ value: { value: { ran: true, value: 'nested' } } });
  });

  it('does not start the next call when a shutdown has begun while its lock was given back', async () => {
    const app = new Harness();
    await loseAnswer(app);
    const { length } = app.store.of('acquire');
    const release = hold('reply');
    app.store.recover();
    app.store.next('release', release.behaviour);
    const run = app.runner.run(ofTick(app), () => 'ran');
    const closed = app.runner.shutdown(25_000);
    release.answer();
    await app.clock.advance(0);
    expect(await run).toEqual({ ran: false, reason: 'shutting-down' });
    await closed;
    expect(app.store.of('acquire')).toHaveLength(length);
  });
});

describe('an acquire that lies in the buffer of a frozen store', () => {
  it('leaves no lock behind when it is carried out, long after its ttl, behind the first release that is answered', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const acquire = hold('request');
    app.store.next('acquire', (carryOut) => {
      void acquire.behaviour(carryOut);
      return brokenConnection(carryOut);
    });
    app.store.always('release', notConnected);
    await app.start();
    await app.clock.advance(10 * SETTINGS.ttl);
    app.store.recover();
    app.store.announce();
    await app.clock.advance(1_000);
    acquire.answer();
    await app.clock.advance(0);
    expect((await other.start()).result).toMatchObject({ reason: 'held' });
    await app.clock.advance(2_000);
    expect((await other.start()).began).toBe(true);
  });

  it('counts the time from the first answer, not from a release that was not answered', async () => {
    const app = new Harness();
    app.store.next('acquire', brokenConnection);
    app.store.always('release', silence);
    await app.start();
    await app.clock.advance(50_000);
    app.store.recover();
    app.store.announce();
    const before = app.store.of('release').length;
    await app.clock.advance(60_000);
    const times = app.store.of('release').slice(before);
    const first = times[0]?.at ?? 0;
    expect(times.map(({ at }) => at - first)).toEqual([0, 3_000, 6_000, 9_000, 12_000]);
    expect(app.clock.pending).toBe(0);
  });

  it('is not waited for longer than TCP tries to deliver it, however long its ttl is', async () => {
    const app = new Harness();
    app.store.next('acquire', brokenConnection);
    await app.start('report', { ttl: 2_592_000_000 });
    expect(await releasesWithin(app, 3_600_000)).toBe(4);
    expect(app.clock.pending).toBe(0);
  });
});

describe('while the store does not answer', () => {
  it('some hundred releases are tried at a time, however many there are, and all of them when it is back', async () => {
    const app = new Harness();
    const names = Array.from({ length: 1_000 }, (_, i) => `import-${i}`);
    app.store.always('acquire', brokenConnection);
    app.store.always('release', notConnected);
    for (const name of names) app.launch(name);
    await app.clock.advance(0);
    expect(app.store.of('release')).toHaveLength(1_000);
    const minute = await releasesWithin(app, 60_000);
    expect(minute).toBeLessThanOrEqual(60 * 250);
    app.store.recover();
    const { length } = app.store.calls;
    await app.clock.advance(6_000);
    expect(new Set(app.store.calls.slice(length).flatMap((call) => call.names))).toEqual(new Set(names));
  });

  it('no more than some hundred are tried at a time when it is back: renewals do not wait behind thousands', async () => {
    const app = new Harness();
    app.store.always('acquire', brokenConnection);
    app.store.always('release', notConnected);
    for (let i = 0; i < 1_000; i++) app.launch(`import-${i}`);
    await app.clock.advance(0);
    const release = hold('reply');
    app.store.always('release', release.behaviour);
    const { length } = app.store.calls;
    app.store.announce();
    await app.clock.advance(0);
    expect(app.store.calls.length - length).toBe(250);
    release.answer();
    await app.clock.advance(3_000);
    const tried = app.store.calls.slice(length).flatMap(({ names }) => names);
    expect([tried.length, new Set(tried).size]).toEqual([1_000, 1_000]);
  });

  it('no more are tried at a time when it is back for the second time', async () => {
    const app = new Harness();
    app.store.always('acquire', brokenConnection);
    app.store.always('release', notConnected);
    for (let i = 0; i < 1_000; i++) app.launch(`import-${i}`);
    await app.clock.advance(0);
    app.store.announce();
    await app.clock.advance(0);
    app.store.always('release', silence);
    const { length } = app.store.calls;
    app.store.announce();
    await app.clock.advance(0);
    expect(app.store.calls.length - length).toBe(250);
  });

  it('no more are under way at a time, however long the store leaves them without an answer', async () => {
    const app = new Harness();
    app.store.always('acquire', brokenConnection);
    app.store.always('release', notConnected);
    for (let i = 0; i < 1_000; i++) app.launch(`import-${i}`);
    await app.clock.advance(0);
    app.store.always('release', silence);
    const { length } = app.store.calls;
    app.store.announce();
    await app.clock.advance(SETTINGS.storeTimeout - 1);
    expect(app.store.calls.length - length).toBe(250);
  });

  it('those that some hundred under way keep back at their beat are tried a second later', async () => {
    const app = new Harness();
    app.store.always('acquire', brokenConnection);
    for (let i = 0; i < 300; i++) app.launch(`import-${i}`);
    await app.clock.advance(0);
    expect(app.store.of('release')).toHaveLength(300);
    const release = hold('reply');
    app.store.always('release', release.behaviour);
    expect(await releasesWithin(app, 3_000)).toBe(250);
    release.answer();
    expect(await releasesWithin(app, 1_000)).toBe(50);
  });

  it('no more than 50,000 are kept: of names that are made up per call the oldest are given up', async () => {
    const clock = new ManualClock();
    const tried: string[] = [];
    const store: LockStore = {
      ...locksOnly,
      acquire: () => new Promise(() => undefined),
      extend: async () => [],
      release: ({ name }) => {
        tried.push(name);
        return failure;
      },
    };
    let failure: Promise<never> = Promise.reject(
      new StoreUnavailableError('away', { outcome: 'not-applied' }),
    );
    const releases = new Releases(
      new SafeStore(store, new TimeLimits(clock)),
      clock,
      new Outages('here', clock, () => undefined),
      new UnderWay(),
    );
    for (let i = 0; i < 50_010; i++) {
      releases.abandon(
        { name: `import-${i}`, token: `${i}`, fencingToken: 0, ttl: 10_000, holder: 'here' },
        2_000,
      );
    }
    await clock.advance(0);
    expect(tried.splice(0)).toHaveLength(50_010);
    failure = new Promise(() => undefined);
    releases.close();
    expect(tried).toHaveLength(50_000);
    expect(tried[0]).toBe('import-10');
  });

  it('the next call for a lock adds no other attempt that would have to be given back', async () => {
    const app = new Harness();
    app.store.breakDown(silence);
    for (let i = 0; i < 10; i++) {
      app.launch();
      await app.clock.advance(10_000);
    }
    expect(app.store.of('acquire')).toHaveLength(1);
    expect(app.of('skipped')).toHaveLength(10);
    app.store.recover();
    await app.clock.advance(10_000);
    expect((await app.start()).began).toBe(true);
  });

  it('an answer that comes late to one release, while others wait, ends that one alone', async () => {
    const app = new Harness();
    const jobs = [await app.start('first'), await app.start('second'), await app.start('third')];
    const calls = jobs.map(() => hold('reply'));
    app.store.next('release', ...calls.map(({ behaviour }) => behaviour));
    for (const job of jobs) job.end();
    await app.clock.advance(2_000);
    expect(jobs.map(({ result }) => result?.ran)).toEqual([true, true, true]);
    calls[2]?.answer();
    await app.clock.advance(0);
    // A call under way, like those that the store is asked for all the time.
    app.store.next('acquire', hold('reply').behaviour);
    app.launch('fourth');
    app.store.announce();
    await app.clock.advance(0);
    const released = app.store.of('release').map(({ names }) => names[0]);
    expect(released).toEqual(['first', 'second', 'third', 'first', 'second']);
  });

  it.each<[string, ReleaseResult]>([
    ['that it was released', { released: true }],
    ['that there is nothing to release', { released: false, reason: 'expired' }],
  ])('a late answer %s ends the release of a job', async (_, answer) => {
    const app = new Harness();
    const late = gate();
    app.store.next('release', () => late.opened.then(() => answer));
    (await app.start()).end();
    await app.clock.advance(SETTINGS.storeTimeout);
    late.open();
    expect(await releasesWithin(app, 60_000)).toBe(0);
    expect(app.of('released')).toMatchObject([{ confirmed: false }]);
  });

  it.each<[string, ReleaseResult]>([
    ['that it was released', { released: true }],
    ['that there is nothing to release', { released: false, reason: 'expired' }],
  ])('a late answer %s does not end the release of an attempt that may still arrive', async (_, answer) => {
    const app = new Harness();
    const late = gate();
    app.store.next('acquire', brokenConnection);
    app.store.next('release', () => late.opened.then(() => answer));
    await app.start();
    await app.clock.advance(SETTINGS.storeTimeout);
    late.open();
    expect(await releasesWithin(app, 60_000)).toBeGreaterThan(0);
    expect(app.clock.pending).toBe(0);
  });

  it('a release of a lock with a long ttl does not delay that of one with a short ttl', async () => {
    const app = new Harness();
    app.store.next('acquire', brokenConnection, brokenConnection);
    await app.start('short');
    await app.start('long', { ttl: 100_000 });
    await app.clock.advance(3_000);
    expect(app.store.of('release').map(({ names, at }) => [...names, at])).toEqual([
      ['short', 0],
      ['long', 0],
      ['short', 3_000],
    ]);
  });

  it('releases that a slow store answers too late are not tried for ever', async () => {
    const app = new Harness();
    const names = Array.from({ length: 20 }, (_, i) => `import-${i}`);
    const jobs = await Promise.all(names.map((name) => app.start(name)));
    app.store.always('release', async (carryOut) => {
      const result = await carryOut();
      await new Promise<void>((resolve) => void app.clock.setTimer(resolve, 2_500));
      return result;
    });
    for (const job of jobs) job.end();
    await app.clock.advance(600_000);
    expect(app.store.of('release').length).toBeLessThanOrEqual(2 * names.length);
    app.store.recover();
    for (const name of names) expect((await app.start(name)).began).toBe(true);
  });

  it('a release that the store leaves unsettled is tried again, also when others have been released meanwhile', async () => {
    const app = new Harness();
    const [stuck, other] = [await app.start('stuck'), await app.start('other')];
    app.store.next('release', silence, silence, silence);
    stuck.end();
    await app.clock.advance(15_000);
    app.store.next('release', notConnected);
    other.end();
    await app.clock.advance(120_000);
    expect(other.result?.ran).toBe(true);
    const tries = app.store.of('release').filter(({ names }) => names[0] === 'stuck');
    expect(tries.length).toBeGreaterThanOrEqual(3);
    app.store.recover();
    await app.clock.advance(120_000);
    const next = await app.start('stuck');
    expect(next.began).toBe(true);
    next.end();
    await app.clock.advance(60_000);
    expect(app.clock.pending).toBe(0);
  });

  it('runs on a part of the store that answers have no releases tried again on the part that does not', async () => {
    const app = new Harness();
    const release = app.store.release.bind(app.store);
    let tries = 0;
    app.store.release = (lease, options) => {
      if (!lease.name.startsWith('far')) return release(lease, options);
      tries += 1;
      return Promise.reject(new StoreUnavailableError('this node is away', { outcome: 'not-applied' }));
    };
    const jobs = await Promise.all(Array.from({ length: 100 }, (_, i) => app.start(`far-${i}`)));
    for (const job of jobs) job.end();
    await app.clock.advance(0);
    for (let i = 0; i < 50; i++) await app.runner.run(app.call('near'), () => 'ran');
    expect(tries).toBe(100);
  });

  it('an outage is reported although a sign of life has ended the one in which the release failed', async () => {
    const app = new Harness();
    const job = await app.start();
    app.store.next('release', brokenConnection);
    job.end();
    await app.clock.advance(0);
    app.runner.heard();
    expect(app.of('outage-ended')).toHaveLength(1);
    app.store.breakDown();
    await app.start();
    expect(app.of('outage-started')).toHaveLength(2);
  });

  it('an outage is reported although only a release that is tried again finds it', async () => {
    const app = new Harness();
    const job = await app.start();
    app.store.next('release', brokenConnection);
    job.end();
    await app.clock.advance(0);
    await app.runner.run(app.call('other'), () => 'ran');
    expect(app.of('outage-ended')).toHaveLength(1);
    app.store.breakDown();
    for (let i = 0; i < 5; i++) {
      await app.start();
      await app.clock.advance(10_000);
    }
    expect(app.of('outage-started')).toHaveLength(2);
    app.store.recover();
    await app.start();
    expect(app.of('outage-ended').at(-1)?.skipped).toBe(5);
  });
});
