import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { SchedulerLeader } from '../../lib/index.js';
import { closeApps } from './app.js';
import { NightlyFleet, SHUTDOWN_TIMEOUT, SPREAD, TTL } from './leader-clock.js';
import { elected, leads } from './leader-support.js';
import { acquired, fireAndWait, skipped } from './tick-support.js';

afterEach(closeApps);

const BEFORE = 1_000;
/** The age at which a tick is not begun by a new leader, but for the ttl of its job, ms. */
const TOO_OLD = 2 * TTL + SHUTDOWN_TIMEOUT;

describe('a tick that waits for a lease left behind', () => {
  test('runs once on the next leader but one', async () => {
    const fleet = new NightlyFleet(BEFORE);
    const { clock, tick, runs } = fleet;
    const left = TOO_OLD + TTL;
    await fleet.die(left);
    const leader = await fleet.start();
    await elected(leader);
    const standby = await fleet.start();
    await clock.advance(BEFORE);
    await fireAndWait(leader, 'nightly');
    expect(skipped(leader)).toMatchObject([{ reason: 'held', callTick: tick }]);
    await clock.advance(TOO_OLD + 1);
    expect(leads(leader)).toBe(true);
    await leader.get(SchedulerLeader).resign();
    await clock.advance(TTL / 2);
    expect(leads(standby)).toBe(true);
    expect(skipped(standby)).toMatchObject([{ reason: 'held', callTick: tick }]);
    expect(runs).toEqual([]);
    await clock.advance(TTL + SPREAD);
    expect(runs).toEqual([tick]);
    expect(acquired(standby)).toMatchObject([{ lock: 'main' }, { job: 'nightly', tick, attempt: 1 }]);
  });

  test('runs once when its instance leads again that did not when its turn came', async () => {
    const fleet = new NightlyFleet(BEFORE);
    const { clock, tick, runs } = fleet;
    const left = 5_000;
    await fleet.die(left);
    const leader = await fleet.start();
    await elected(leader);
    await clock.advance(BEFORE);
    await fireAndWait(leader, 'nightly');
    await clock.advance(left - 100);
    await leader.get(SchedulerLeader).resign();
    await clock.advance(100 + SPREAD);
    expect(skipped(leader).map(({ reason }) => reason)).toEqual(['held', 'not-leader']);
    expect(runs).toEqual([]);
    await clock.advance(TTL);
    expect(leads(leader)).toBe(true);
    expect(runs).toEqual([tick]);
  });
});
