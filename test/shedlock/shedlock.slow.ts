import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { until } from '../support/until.js';
import type { Spring } from './spring.js';
import { type Nest, openStage, type Stage } from './stage.js';

/*
 * ShedLock itself, in JVMs in another zone, beside ours on PostgreSQL, MariaDB and Redis; a witness judges who held what. The rest of what
 * docs/stores/shedlock.md says is in differences.slow.ts.
 */

// At the first time, Maven fetches what the program needs.
jest.setTimeout(300_000);

/** The names that the crowds of both sides take. */
const CROWD = /\/(brief-\d|least|long)$/;
const PLACES = ['postgres', 'mariadb', 'redis'];

let stage: Stage | undefined;
let spring: Spring;
let nest: Nest;

beforeAll(async () => {
  stage = await openStage('ShedLock itself was not played beside ours');
  if (stage === undefined) return;
  [spring, nest] = await Promise.all([stage.spring('spring-1'), stage.nest('nest-1')]);
});

afterAll(() => stage?.close());

/** A test where there is Java; elsewhere it was said aloud that there is none. */
const play = (name: string, scene: (stage: Stage) => Promise<void>): void =>
  test(name, async () => {
    if (stage !== undefined) await scene(stage);
  });

describe.each(PLACES)('on %s', (place) => {
  play('a lock that one side holds is refused to the other one until it is given back', async () => {
    expect(await spring.lock(place, 'plain')).toBe(true);
    expect(await nest.lock(place, 'plain')).toMatchObject({ taken: false, reason: 'held' });
    await spring.unlock(place, 'plain');
    expect(await nest.lock(place, 'plain')).toMatchObject({ taken: true });
    expect(await spring.lock(place, 'plain')).toBe(false);
    await nest.ask('unlock', { place, name: 'plain' });
    expect(await spring.lock(place, 'plain')).toBe(true);
    await spring.unlock(place, 'plain');
  });

  play('lockAtLeastFor keeps us out after their run, and atLeast keeps them out after ours', async (at) => {
    const name = 'at-least';
    expect(await spring.lock(place, name, 60_000, 700)).toBe(true);
    await spring.unlock(place, name);
    await until(async () => (await nest.lock(place, name, 60_000, 700)).taken, {
      message: 'us to take over',
    });
    await nest.ask('unlock', { place, name });
    await until(() => spring.lock(place, name), { message: 'ShedLock to take over' });
    await spring.unlock(place, name);
    // Claims last as long as the lock was to stay taken.
    expect(at.overlaps(`${place}/${name}`)).toEqual([]);
    expect(at.claims(`${place}/${name}`).map(({ who }) => who)).toEqual(['spring-1', 'nest-1', 'spring-1']);
  });
});

play(
  'a lock of a killed process is free for the other side when it has run out, and not before',
  async (at) => {
    const [dying, ending] = await Promise.all([at.spring('spring-2'), at.nest('nest-2')]);
    const [atMost, ttl] = [3_000, 2_000];
    // A busy machine may let one run out in the hands of its holder: then it is taken again.
    const renewed = (place: string): Promise<unknown> =>
      until(
        async () => {
          await dying.keep(place, 'killed-jvm', atMost);
          return at.claims(`${place}/killed-jvm`).some(({ renewals }) => renewals >= 2);
        },
        { timeout: 60_000, interval: 200, message: `KeepAlive to renew twice, ${place}` },
      );
    const outlived = (place: string): Promise<unknown> =>
      until(
        async () => {
          const name = 'killed-node';
          if (!(await ending.ask('still', { place, name })).held) await ending.lock(place, name, ttl);
          return at.claims(`${place}/${name}`).some(({ from, to }) => to - from > ttl * 1_500_000);
        },
        { timeout: 60_000, interval: 200, message: `us to hold a lock beyond its ttl, ${place}` },
      );
    await Promise.all(PLACES.flatMap((place) => [renewed(place), outlived(place)]));
    await Promise.all([dying.kill(), ending.kill()]);
    await Promise.all(
      PLACES.flatMap((place) => [
        until(async () => (await nest.lock(place, 'killed-jvm')).taken, {
          message: `us to inherit, ${place}`,
        }),
        until(() => spring.lock(place, 'killed-node'), { message: `ShedLock to inherit, ${place}` }),
      ]),
    );
    expect(at.overlaps('/killed-')).toEqual([]);
  },
);

play(
  'two processes of each side that fight for the same locks, and are killed, never hold one at once',
  async (at) => {
    const springs = [spring, await at.spring('spring-3')];
    const nests = [nest, await at.nest('nest-3')];
    await Promise.all([...springs.map((each) => each.crowd()), ...nests.map((each) => each.ask('crowd'))]);
    /** How many leases of the crowd somebody has had at each place. */
    const held = (who: string): number[] => {
      const own = at.claims('/').filter((claim) => claim.who === who && CROWD.test(claim.lock));
      return PLACES.map((place) => own.filter(({ lock }) => lock.startsWith(place)).length);
    };
    /** Until somebody has had so many more at each place. */
    const busy = async (who: string, more: number): Promise<void> => {
      const before = held(who);
      await until(() => held(who).every((count, i) => count >= (before[i] ?? 0) + more), {
        timeout: 120_000,
        interval: 500,
        message: () =>
          `${who} to have ${more} leases more at each place than ${before.join()}; it has ${held(who).join()}`,
      });
    };
    await Promise.all(['spring-3', 'nest-3'].map((who) => busy(who, 10)));
    await springs[1]?.kill();
    await busy('nest-3', 5);
    await nests[1]?.kill();
    const [another, other] = await Promise.all([at.spring('spring-4'), at.nest('nest-4')]);
    await Promise.all([another.crowd(), other.ask('crowd')]);
    await Promise.all(['spring-4', 'nest-4', 'spring-1', 'nest-1'].map((who) => busy(who, 10)));
    const trouble = await Promise.all([spring.endCrowd(), another.endCrowd()]);
    await Promise.all([nest.ask('end'), other.ask('end')]);
    expect(trouble).toEqual(['', '']);
    expect(at.overlaps('/')).toEqual([]);
  },
);
