import { expect, test } from '@jest/globals';
import {
  type Ask,
  beginsTick,
  nextAsk,
  type Obstacle,
  onlyOf,
} from '../../../../lib/schedule/ticks/missed-ticks.js';
import { Harness, HOUR, unavailable } from './support/missed-ticks-harness.js';

const OBSTACLES = ['running', 'locked', 'own-lock', 'outage'] as const satisfies Obstacle[];
type Row = [Ask, ...(Ask | undefined)[]];

test.each<Row>([
  // asked          running        locked        own-lock       outage
  ['begin', 'given-back', 'begin', 'begin', 'known'],
  ['known', 'given-back', 'known', 'known', 'known'],
  ['given-back', undefined, 'known', 'given-back', 'given-back'],
])('what was asked as "%s", without rerun, is asked next as %s, %s, %s, %s', (ask, ...next) => {
  expect(OBSTACLES.map((obstacle) => nextAsk(ask, obstacle, false))).toEqual(next);
});

test.each<Row>([
  // asked          running  locked     own-lock       outage
  ['begin', 'watch', 'begin', 'begin', 'known'],
  ['known', 'watch', 'known', 'known', 'known'],
  ['watch', 'watch', 'known', 'interrupted', 'interrupted'],
  ['interrupted', 'watch', undefined, 'interrupted', 'interrupted'],
])('what was asked as "%s", with rerun, is asked next as %s, %s, %s, %s', (ask, ...next) => {
  expect(OBSTACLES.map((obstacle) => nextAsk(ask, obstacle, true))).toEqual(next);
});

test.each<[Ask, string | undefined, boolean]>([
  ['begin', undefined, true],
  ['known', 'known', true],
  ['given-back', 'known', true],
  ['watch', 'known', false],
  ['interrupted', 'interrupted', false],
])('"%s" asks the store for %s; it needs a young tick: %s', (ask, only, young) => {
  expect([onlyOf(ask), beginsTick(ask)]).toEqual([only, young]);
});

/** What is asked for next, an hour of `catchUp` after the tick, if the store gives this answer to what was asked first. */
const held = { ran: false, reason: 'held' } as const;
const lease = { ...held, expiresIn: 5_000 };

test.each([
  // answer                                 settings        at once          when it is too old meanwhile
  ['a lease for something else', () => lease, {}, 'known', undefined],
  ['a lease for something else', () => lease, { rerun: 1 }, 'known', 'interrupted'],
  ['its own run', (tick: number) => ({ ...lease, tick, finished: false }), {}, 'known', undefined],
  ['its own run', (tick: number) => ({ ...lease, tick, finished: false }), { rerun: 1 }, 'known', 'known'],
  ['this very process', () => held, {}, 'known', undefined],
  ['this very process', () => held, { rerun: 1 }, 'known', 'interrupted'],
  ['an outage', () => unavailable, {}, 'known', undefined],
  ['an outage', () => unavailable, { rerun: 1 }, 'known', 'interrupted'],
] as const)(
  'a tick that is asked for at the start and meets %s is asked for again while it is young',
  async (_, answer, settings, young, old) => {
    for (const [late, next] of [
      [0, young],
      [HOUR, old],
    ] as const) {
      const app = new Harness(60_000);
      const nightly = app.job({ catchUp: HOUR, ...settings });
      app.missedTicks.catchUp(nightly);
      await app.clock.advance(0);
      expect(app.asked).toStrictEqual(['known']);
      app.answer(nightly, answer(app.tick));
      app.clock.setWallClock(app.clock.now() + late);
      await app.clock.advance(6_000);
      expect(app.asked).toStrictEqual(next === undefined ? ['known'] : ['known', next]);
    }
  },
);
