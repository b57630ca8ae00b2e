import { describe, expect, it, jest } from '@jest/globals';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import type { JobStart } from '../../../lib/base/job-start.js';
import type { LockCall } from '../../../lib/lock/lock-call.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { gate, Harness, SETTINGS } from './harness.js';
import {
  type Behaviour,
  brokenConnection,
  failsWith,
  hold,
  notConnected,
  silence,
} from './scripted-store.js';
import { kindOf } from '../../support/events.js';

const TICK = 1_760_000_000_000;
const LIMIT = SETTINGS.storeTimeout;
const MINUTE = 60_000;

const callOf = (app: Harness, start: JobStart, settings: Partial<typeof SETTINGS> = {}): LockCall => ({
  ...app.call('report', settings, true),
  job: 'Reports.nightly',
  start,
});
const ofTick = (app: Harness, settings?: Partial<typeof SETTINGS>) => callOf(app, { tick: TICK }, settings);

/** Runs a call whose first attempts go like this. */
async function run(call: (app: Harness) => LockCall, ...first: Behaviour[]) {
  const app = new Harness();
  app.store.next('acquire', ...first);
  const result = app.runner.run(call(app), () => 'ran');
  await app.clock.advance(2 * LIMIT);
  return { app, result: await result, attempts: app.store.of('acquire') };
}

const refused = failsWith(new StoreUnavailableError('no rights', { outcome: 'unknown', refused: true }));

describe('an attempt of a tick whose connection has died', () => {
  it.each([
    ['is not answered', silence],
    ['breaks', brokenConnection],
  ])('that %s is made once more, with the same token, and nobody hears of the first', async (_, first) => {
    const { app, result, attempts } = await run(ofTick, first);
    expect(result).toEqual({ ran: true, value: 'ran' });
    expect(attempts.map(({ token }) => token)).toEqual([attempts[0]?.token, attempts[0]?.token]);
    expect(app.events.map(({ type }) => type)).toEqual(['acquired', 'released']);
    // Nothing is abandoned: that could take back the start of an interval whose lock another job has had since.
    expect(app.store.of('release')).toHaveLength(1);
  });

  it('is made twice at most, and skipped once', async () => {
    const { app, result, attempts } = await run(ofTick, silence, silence);
    expect(result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    expect(attempts.map(({ at }) => at)).toEqual([0, LIMIT]);
    expect(app.events.map(kindOf)).toEqual(['outage-started', 'skipped', 'outage-ended']);
    expect(app.of('outage-ended')).toMatchObject([{ skipped: 1 }]);
  });

  it('has twice the limit of one, for both together', async () => {
    const app = new Harness();
    app.store.next('acquire', brokenConnection, silence);
    const result = app.runner.run(ofTick(app), () => 'ran');
    let isOver = false;
    void result.then(() => (isOver = true));
    await app.clock.advance(2 * LIMIT - 1);
    expect(isOver).toBe(false);
    await app.clock.advance(1);
    expect(await result).toMatchObject({ reason: 'store-unavailable' });
  });

  it('leaves no lock behind when the first fails late, and reaches the store even later', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const [told, arrives] = [hold('reply'), hold('request')];
    const first: Behaviour = (carryOut) => {
      void arrives.behaviour(carryOut);
      return told.behaviour(() => Promise.resolve());
    };
    app.store.next('acquire', first, silence);
    void app.runner.run(ofTick(app), () => 'ran');
    await app.clock.advance(13_000);
    told.fail(new Error('connection lost'));
    await app.clock.advance(7_000);
    arrives.answer();
    await app.clock.advance(0);
    expect((await other.start()).result).toMatchObject({ ran: false, reason: 'held' });
    await app.clock.advance(3_000);
    expect((await other.start()).began).toBe(true);
  });

  it.each([
    ['a known outage', ofTick, notConnected],
    ['a refusal of the store', ofTick, refused],
    ['a call without a tick', (app: Harness) => app.call(), silence],
  ])('is not made again for %s', async (_, call, first) => {
    const { attempts, result } = await run(call, first);
    expect(attempts).toHaveLength(1);
    expect(result).toMatchObject({ ran: false, reason: 'store-unavailable' });
  });

  it('is made again for an interval', async () => {
    const { result } = await run((app) => callOf(app, { interval: MINUTE }), silence);
    expect(result).toEqual({ ran: true, value: 'ran' });
  });

  it('is not made again once a shutdown has begun', async () => {
    const app = new Harness();
    app.store.next('acquire', silence);
    const result = app.runner.run(ofTick(app), () => 'ran');
    await app.clock.advance(LIMIT / 2);
    const closed = app.runner.shutdown(0);
    await app.clock.advance(2 * LIMIT);
    await closed;
    expect(await result).toEqual({ ran: false, reason: 'shutting-down' });
    expect(app.store.of('acquire')).toHaveLength(1);
  });

  it('says that it may have been carried out, though the second was certainly not', async () => {
    const { result, app } = await run(ofTick, silence, notConnected);
    expect(result).toMatchObject({ error: { outcome: 'unknown' } });
    expect(app.store.of('release').length).toBeGreaterThan(0);
  });
});

describe('the first of two attempts', () => {
  it('that is granted late is the lease', async () => {
    const app = new Harness();
    const first = hold('request');
    app.store.next('acquire', first.behaviour, silence);
    const result = app.runner.run(ofTick(app), () => 'ran');
    await app.clock.advance(LIMIT * 1.5);
    first.answer();
    await app.clock.advance(0);
    expect(await result).toEqual({ ran: true, value: 'ran' });
  });

  it('that was granted, and not answered, counts for the deadline of the lease', async () => {
    const app = new Harness();
    app.store.next('acquire', async (carryOut) => {
      await carryOut();
      return silence(carryOut);
    });
    const lost: number[] = [];
    const ended = gate();
    void app.runner.run(ofTick(app, { heartbeat: false }), async ({ signal }) => {
      signal.addEventListener('abort', () => lost.push(app.clock.monotonic()));
      await ended.opened;
    });
    await app.clock.advance(9_898);
    expect(lost).toEqual([9_898]);
    ended.open();
    await app.clock.advance(0);
  });

  it('that arrives when the run is over is refused, as its tick has run', async () => {
    const { app, late } = await lateCopy({ tick: TICK }, 10 * MINUTE);
    late.answer();
    await app.clock.advance(0);
    const other = new Harness(app, 'there');
    expect((await other.start()).began).toBe(true);
    expect(await other.runner.run(ofTick(other), () => 'ran')).toMatchObject({ ran: false });
  });

  it('that is granted when its interval is over leaves no lease behind', async () => {
    const interval = 5 * MINUTE;
    const { app, late } = await lateCopy({ interval }, interval);
    late.answer();
    await app.clock.advance(0);
    const other = new Harness(app, 'there');
    expect(await other.runner.run(callOf(other, { interval }), () => 'ran')).toMatchObject({ ran: true });
  });

  /** A run by the second attempt, and the first on its way still. */
  async function lateCopy(start: JobStart, wait: number) {
    const app = new Harness();
    const late = hold('request');
    app.store.next('acquire', late.behaviour);
    const result = app.runner.run(callOf(app, start), () => 'ran');
    await app.clock.advance(LIMIT);
    expect(await result).toMatchObject({ ran: true });
    await app.clock.advance(wait);
    return { app, late };
  }

  it('that is granted late, and released, proves nothing of the second, which arrives even later', async () => {
    const app = new Harness();
    const [first, second] = [hold('request'), hold('request')];
    app.store.next('acquire', first.behaviour, (carryOut) => {
      void second.behaviour(carryOut);
      return brokenConnection(carryOut);
    });
    const result = app.runner.run(ofTick(app), () => 'ran');
    await app.clock.advance(2_500);
    expect(await result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    first.answer();
    await app.clock.advance(500);
    second.answer();
    await app.clock.advance(3_000);
    const other = new Harness(app, 'there');
    expect(await other.runner.run(ofTick(other), () => 'ran')).toEqual({ ran: true, value: 'ran' });
  });

  it('that is granted when the second was refused is given back', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    const first = hold('request');
    app.store.next('acquire', first.behaviour);
    const result = app.runner.run(ofTick(app), () => 'ran');
    const holder = await other.start();
    await app.clock.advance(LIMIT);
    expect(await result).toMatchObject({ ran: false, reason: 'held' });
    holder.end();
    await app.clock.advance(0);
    first.answer();
    await app.clock.advance(0);
    expect((await other.start()).began).toBe(true);
  });

  it.each([0, 1])('that is carried out after both were given up is undone, as is copy %s', async (which) => {
    const app = new Harness();
    const copies = [hold('request'), hold('request')];
    app.store.next('acquire', ...copies.map(({ behaviour }) => behaviour));
    const result = app.runner.run(ofTick(app), () => 'ran');
    await app.clock.advance(2 * LIMIT);
    expect(await result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    copies[which]?.answer();
    await app.clock.advance(0);
    copies[1 - which]?.answer();
    await app.clock.advance(0);
    const other = new Harness(app, 'there');
    expect(await other.runner.run(ofTick(other), () => 'ran')).toEqual({ ran: true, value: 'ran' });
    await app.clock.advance(10 * MINUTE);
    expect(app.clock.pending).toBe(0);
  });
});

it('two attempts that are carried out one after the other, and never answered, leave no lease behind', async () => {
  const app = new Harness();
  const later = gate();
  const unheard =
    (until: Promise<void>): Behaviour =>
    async (carryOut) => {
      await until;
      await carryOut();
      return silence(carryOut);
    };
  app.store.next('acquire', unheard(Promise.resolve()), unheard(later.opened));
  const result = app.runner.run(ofTick(app), () => 'ran');
  await app.clock.advance(2 * LIMIT);
  expect(await result).toMatchObject({ ran: false, reason: 'store-unavailable' });
  // The lease of the first one is given back by now.
  later.open();
  await app.clock.advance(SETTINGS.ttl / 2);
  const other = new Harness(app, 'there');
  expect(await other.runner.run(ofTick(other), () => 'ran')).toEqual({ ran: true, value: 'ran' });
});

it.each([
  ['its caller gives up', (_: Harness, aborting: AbortController) => aborting.abort()],
  ['a shutdown begins', (app: Harness) => void app.runner.shutdown(0)],
])('there is no second attempt if %s before there is another connection', async (_, happens) => {
  const app = new Harness();
  const aborting = new AbortController();
  const connected = gate();
  Object.assign(app.store, { reconnect: () => connected.opened });
  app.store.next('acquire', silence);
  const result = app.runner.run({ ...ofTick(app), signal: aborting.signal }, () => 'ran');
  await app.clock.advance(LIMIT);
  happens(app, aborting);
  connected.open();
  await app.clock.advance(2 * LIMIT);
  expect(await result).toMatchObject({ ran: false });
  expect(app.store.of('acquire')).toHaveLength(1);
});

it('a store is told that a connection may be dead, and the second attempt waits until it has another one', async () => {
  const app = new Harness();
  const connected = gate();
  const reconnect = jest.fn((_silence?: number) => connected.opened);
  const store = Object.assign(app.store, { reconnect });
  store.next('acquire', silence);
  const runner = new LockRunner(store, 'here', app.clock, () => undefined, LIMIT);
  const result = runner.run(ofTick(app), () => 'ran');
  await app.clock.advance(LIMIT);
  expect(reconnect.mock.calls).toEqual([[LIMIT]]);
  expect(store.of('acquire')).toHaveLength(1);
  connected.open();
  await app.clock.advance(0);
  expect(await result).toEqual({ ran: true, value: 'ran' });
});
