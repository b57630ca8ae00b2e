import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { LockLostError, LockResignedError, LockShutdownError } from '../../../../lib/base/errors.js';
import { currentLock } from '../../../../lib/lock/current-lock.js';
import { Harness } from '../harness.js';
import { hold, silence } from '../scripted-store.js';
import { Candidate, candidates, PATIENCE, PERIOD, TTL } from './support.js';
import { isEvent, kindOf } from '../../../support/events.js';

/** Every instance asks in the middle between two multiples of its period. */
const PHASE = 0.5;
beforeEach(() => {
  jest.spyOn(Math, 'random').mockReturnValue(PHASE);
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** The first leads, the others stand by. */
async function elect(count = 2): Promise<[Candidate, Candidate, ...Candidate[]]> {
  const all = candidates(count) as [Candidate, Candidate, ...Candidate[]];
  for (const candidate of all) {
    candidate.election.start();
    await candidate.harness.clock.advance(0);
  }
  return all;
}
const types = ({ harness }: Candidate): string[] => harness.events.map(kindOf);

describe('one of the instances', () => {
  test('leads, and the others stand by', async () => {
    const all = await elect(3);
    expect(all.map(({ leads }) => leads)).toEqual([true, false, false]);
    await all[0].harness.clock.advance(20 * TTL);
    expect(all.map(({ leads }) => leads)).toEqual([true, false, false]);
    expect(all.map(({ story }) => story)).toEqual([['elected'], [], []]);
  });

  test('is told which lease it leads by', async () => {
    const [first] = await elect();
    const { lease } = first;
    expect(lease).toMatchObject({ name: 'feed', holder: 'instance-0', live: true });
    expect(first.harness.of('leader-elected')).toMatchObject([
      { lock: 'feed', instance: 'instance-0', fencingToken: lease?.fencingToken },
    ]);
    expect(() => lease?.assertLocked()).not.toThrow();
  });

  test('has its lease as the current lock in both hooks', async () => {
    const [first] = await elect(1);
    const seen: unknown[] = [];
    first.hooks.revoked = () => seen.push(currentLock());
    await first.election.resign();
    expect(seen).toEqual([first.lease]);
    first.hooks.elected = () => seen.push(currentLock());
    await first.harness.clock.advance(TTL);
    expect(seen[1]).toBe(first.lease);
  });
});

describe('the traffic', () => {
  test('is one call per standby and third of the ttl, and the one heartbeat of the leader', async () => {
    const [first, second, third] = await elect(3);
    await first.harness.clock.advance(0);
    const counted = (): number[] => [second, third as Candidate].map(({ campaigns }) => campaigns.length);
    const before = counted();
    await first.harness.clock.advance(100 * PERIOD);
    expect(counted().map((count, index) => count - (before[index] ?? 0))).toEqual([100, 100]);
    expect(first.campaigns).toHaveLength(1);
    for (const standby of [second, third]) expect(standby?.harness.store.of('extend')).toEqual([]);
  });

  test('renews the leader in one call with the other leases of the process', async () => {
    const [first] = await elect();
    await first.harness.start('a', { ttl: TTL, heartbeat: 2_700 });
    await first.harness.start('b', { ttl: TTL, heartbeat: 2_700 });
    await first.harness.clock.advance(10 * TTL);
    const renewals = first.harness.store.of('extend');
    expect(renewals.every(({ names }) => names.join() === 'feed,a,b')).toBe(true);
    expect(renewals.length).toBeLessThanOrEqual((10 * TTL) / 2_700);
  });

  test('is spread: instances that start together do not ask together again', async () => {
    jest.restoreAllMocks();
    const all = candidates(20);
    for (const { election } of all) election.start();
    const [{ harness }] = all as [Candidate];
    await harness.clock.advance(30 * PERIOD);
    const rounds = all.filter(({ leads }) => !leads).map(({ campaigns }) => campaigns.slice(-10));
    const moments = new Set(rounds.flat().map((at) => Math.round(at)));
    expect(moments.size).toBeGreaterThan(150);
  });

  test('of refused campaigns is no skipped run', async () => {
    const [first, second] = await elect();
    await first.harness.clock.advance(10 * PERIOD);
    expect(types(second)).toEqual([]);
  });
});

describe('an instance that resigns', () => {
  test('aborts the signal, then calls onRevoked, then gives the lease back', async () => {
    const [first] = await elect();
    let end!: () => void;
    first.hooks.revoked = () => new Promise<void>((resolve) => (end = resolve));
    const resigned = first.election.resign();
    expect(first.leads).toBe(false);
    expect(first.story).toEqual(['elected', 'aborted', 'revoked resigned']);
    expect(first.lease?.signal.reason).toBeInstanceOf(LockResignedError);
    expect(() => first.lease?.assertLocked()).toThrow(LockResignedError);
    await first.harness.clock.advance(PATIENCE - 1);
    expect(first.harness.store.of('release')).toEqual([]);
    end();
    expect(await resigned).toBe(true);
    expect(first.harness.store.of('release')).toHaveLength(1);
    expect(first.harness.of('leader-revoked')).toMatchObject([{ reason: 'resigned', duration: 0 }]);
  });

  test('is followed within a third of the ttl', async () => {
    const all = await elect(5);
    const [first] = all;
    await first.harness.clock.advance(1_234);
    await first.election.resign();
    await first.harness.clock.advance(PERIOD);
    expect(all.map(({ leads }) => leads).filter(Boolean)).toHaveLength(1);
    expect(first.leads).toBe(false);
  });

  test('waits for one ttl, and leads again if nobody else does', async () => {
    const [first] = await elect(1);
    expect(await first.election.resign()).toBe(true);
    expect(await first.election.resign()).toBe(false);
    await first.harness.clock.advance(TTL - 1);
    expect(first.campaigns).toHaveLength(1);
    await first.harness.clock.advance(1);
    expect(first.leads).toBe(true);
    expect(first.story).toEqual(['elected', 'aborted', 'revoked resigned', 'elected']);
  });

  test('does not wait for ever for an onRevoked that hangs, but campaigns no more until it has ended', async () => {
    const [first, second] = await elect();
    let end!: () => void;
    first.hooks.revoked = () => new Promise<void>((resolve) => (end = resolve));
    void first.election.resign();
    await first.harness.clock.advance(PATIENCE);
    expect(first.harness.store.of('release')).toHaveLength(1);
    await first.harness.clock.advance(PERIOD);
    expect(second.leads).toBe(true);
    void second.election.resign();
    await first.harness.clock.advance(3 * TTL);
    expect(second.leads).toBe(true);
    expect(first.campaigns).toHaveLength(1);
    end();
    void second.election.resign();
    await first.harness.clock.advance(TTL);
    expect(first.leads).toBe(true);
  });

  test('can do so in a listener of its own signal, and in its hooks', async () => {
    const [first] = await elect(1);
    const answers: unknown[] = [];
    const resign = async (): Promise<void> => void answers.push(await first.election.resign());
    first.lease?.signal.addEventListener('abort', () => void resign());
    first.hooks.revoked = resign;
    await first.election.resign();
    expect(answers).toEqual([false, false]);
    expect(first.story).toEqual(['elected', 'aborted', 'revoked resigned']);
    first.hooks = { elected: resign };
    await first.harness.clock.advance(TTL);
    expect(answers).toEqual([false, false, true]);
    expect(first.leads).toBe(false);
  });
});

test('an instance whose listener resigns at once never calls its hooks', async () => {
  const [first] = candidates(1) as [Candidate];
  const { events } = first.harness;
  const push = events.push.bind(events);
  events.push = (event) => {
    if (isEvent('leader-elected')(event)) void first.election.resign();
    return push(event);
  };
  first.election.start();
  await first.harness.clock.advance(TTL / 2);
  expect(first.story).toEqual([]);
  expect(first.leads).toBe(false);
  expect(first.harness.store.of('release')).toHaveLength(1);
});

describe('an instance that is cut off from the store', () => {
  test('is revoked at its deadline, before another one is elected', async () => {
    const [first, second] = await elect();
    first.harness.store.breakDown(silence);
    let revokedAt = Infinity;
    first.hooks.revoked = () => (revokedAt = first.harness.clock.monotonic());
    let electedAt = 0;
    second.hooks.elected = () => (electedAt = first.harness.clock.monotonic());
    await first.harness.clock.advance(2 * TTL);
    expect(first.story).toEqual(['elected', 'aborted', 'revoked deadline']);
    expect(first.lease?.signal.reason).toBeInstanceOf(LockLostError);
    expect(revokedAt).toBeLessThan(TTL);
    expect(electedAt).toBeGreaterThan(revokedAt);
  });

  test('is followed when its lease ends, not a third of the ttl later', async () => {
    const [first, second] = await elect();
    first.harness.store.breakDown(silence);
    await first.harness.clock.advance(TTL + 50);
    expect(second.leads).toBe(true);
  });

  test('does not believe for as long as it takes to notice', async () => {
    const [first] = await elect();
    first.harness.clock.block(TTL);
    expect(first.leads).toBe(false);
    expect(first.story).toEqual(['elected', 'aborted', 'revoked deadline']);
  });

  test('campaigns again when the store is back', async () => {
    const [first] = await elect(1);
    first.harness.store.breakDown();
    await first.harness.clock.advance(5 * TTL);
    expect(first.leads).toBe(false);
    first.harness.store.recover();
    await first.harness.clock.advance(PERIOD);
    expect(first.leads).toBe(true);
    expect(types(first).filter((type) => type.startsWith('outage'))).toEqual([
      'outage-started',
      'outage-ended',
    ]);
    expect(first.harness.of('outage-ended')).toMatchObject([{ skipped: 0 }]);
  });
});

describe('hooks', () => {
  test('onElected that throws makes the instance resign', async () => {
    const [first, second] = candidates(2) as [Candidate, Candidate];
    const failure = new Error('no feed');
    first.hooks.elected = () => {
      throw failure;
    };
    first.election.start();
    await first.harness.clock.advance(0);
    expect(first.story).toEqual(['elected', 'aborted', 'revoked failed']);
    expect(first.lease?.signal.reason).toMatchObject({ code: 'LOCK_RESIGNED', cause: failure });
    expect(first.harness.of('leader-hook-failed')).toMatchObject([{ hook: 'onElected', error: failure }]);
    second.election.start();
    await first.harness.clock.advance(0);
    expect(second.leads).toBe(true);
  });

  test('onElected that rejects later does as well, and the next try comes after one ttl', async () => {
    const [first] = candidates(1) as [Candidate];
    first.hooks.elected = () => Promise.reject(new Error('no feed'));
    first.election.start();
    await first.harness.clock.advance(TTL - 1);
    expect(first.campaigns).toHaveLength(1);
    await first.harness.clock.advance(1);
    expect(first.campaigns).toHaveLength(2);
  });

  test('onRevoked that throws is reported, and the instance goes on', async () => {
    const [first, second] = await elect();
    first.hooks.revoked = () => Promise.reject(new Error('cannot stop'));
    expect(await first.election.resign()).toBe(true);
    expect(first.harness.of('leader-hook-failed')).toMatchObject([{ hook: 'onRevoked' }]);
    await first.harness.clock.advance(PERIOD);
    expect(second.leads).toBe(true);
  });

  test('onRevoked is called though onElected has not ended; the next election waits for both', async () => {
    const [first] = candidates(1) as [Candidate];
    let end!: () => void;
    first.hooks.elected = () => new Promise<void>((resolve) => (end = resolve));
    first.election.start();
    await first.harness.clock.advance(0);
    first.harness.store.breakDown();
    await first.harness.clock.advance(TTL);
    expect(first.story).toEqual(['elected', 'aborted', 'revoked deadline']);
    first.harness.store.recover();
    await first.harness.clock.advance(3 * TTL);
    expect(first.leads).toBe(false);
    end();
    await first.harness.clock.advance(PERIOD);
    expect(first.leads).toBe(true);
  });
});

describe('a shutdown', () => {
  test('revokes, gives the lease back, and leaves nothing behind', async () => {
    const [first, second] = await elect();
    await first.election.stop();
    expect(first.story).toEqual(['elected', 'aborted', 'revoked shutdown']);
    expect(first.lease?.signal.reason).toBeInstanceOf(LockShutdownError);
    await second.election.stop();
    for (const { harness } of [first, second]) await harness.runner.shutdown(0);
    await first.harness.clock.advance(2 * TTL);
    expect(first.leads || second.leads).toBe(false);
    expect(first.harness.clock.pending).toBe(0);
    expect(first.campaigns).toHaveLength(1);
  });

  test('waits for what is to be drained before it revokes', async () => {
    let drained!: () => void;
    const first = new Candidate(new Harness(), () => new Promise<void>((resolve) => (drained = resolve)));
    first.election.start();
    await first.harness.clock.advance(0);
    const stopped = first.election.stop();
    const closed = first.harness.runner.shutdown(10 * TTL);
    await first.harness.clock.advance(5 * TTL);
    expect(first.story).toEqual(['elected']);
    expect(first.leads).toBe(true);
    drained();
    await Promise.all([stopped, closed]);
    expect(first.story).toEqual(['elected', 'aborted', 'revoked shutdown']);
    expect(first.harness.of('released')).toMatchObject([{ confirmed: true }]);
  });

  test('whose limit has passed revokes all the same', async () => {
    const first = new Candidate(new Harness(), () => new Promise<void>(() => undefined));
    first.election.start();
    await first.harness.clock.advance(0);
    const stopped = first.election.stop();
    const closed = first.harness.runner.shutdown(5_000);
    await first.harness.clock.advance(4_999);
    expect(first.leads).toBe(true);
    await first.harness.clock.advance(1);
    await Promise.all([stopped, closed]);
    expect(first.story).toEqual(['elected', 'aborted', 'revoked shutdown']);
    expect(first.leads).toBe(false);
  });

  test('leaves the lease to expire if onRevoked does not end in time', async () => {
    const [first] = await elect();
    first.hooks.revoked = () => new Promise(() => undefined);
    void first.election.stop();
    const closed = first.harness.runner.shutdown(3 * PATIENCE);
    await first.harness.clock.advance(3 * PATIENCE + 1_000);
    await closed;
    expect(first.story).toEqual(['elected', 'aborted', 'revoked shutdown']);
    expect(first.harness.store.of('release')).toEqual([]);
  });

  test('gives back what a campaign under way is still granted', async () => {
    const [first] = candidates(1) as [Candidate];
    const late = hold('reply');
    first.harness.store.next('acquire', late.behaviour);
    first.election.start();
    const stopped = first.election.stop();
    late.answer();
    await stopped;
    expect(first.story).toEqual([]);
    expect(first.harness.store.of('release')).toHaveLength(1);
  });
});
