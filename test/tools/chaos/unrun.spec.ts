import { describe, expect, it } from '@jest/globals';
import type { JobFacts } from '../../chaos/history.js';
import { HandMade } from './support/hand-made.js';

/** The tick that nobody runs, and those between which it lies. */
const TICK = 30_000;
const STEP = 10_000;
/** The first that is judged, and the last. */
const TICKS = [10_000, 20_000, 30_000, 40_000, 50_000];

/** A job every ten seconds, that was run at every tick but one; and maybe another one that is not due here. */
function missed(job: Partial<JobFacts> = {}, other: Partial<JobFacts>[] = []): HandMade {
  const history = new HandMade({
    jobs: [{ every: STEP, ...job }, ...other.map((one) => ({ every: 60_000, ...one }))],
  });
  for (const at of TICKS) if (at !== TICK) history.run({ at, token: at });
  return history;
}

/** Both instances were refused for this reason. */
const refused = (history: HandMade, reason: string | undefined, more: { tick?: number } = {}): HandMade =>
  history.skip(TICK, reason, more).skip(TICK, reason, { ...more, i: 'instance-2' });

describe('a tick that was not run is caught', () => {
  it('if all instances were up and did nothing', () => {
    const finding = missed().check('unrun');
    expect(finding.violations).toEqual([expect.stringContaining('instance-1: was up and did nothing')]);
    expect(finding.counts).toEqual({
      'ticks due': TICKS.length,
      'run late by over a second': 0,
      unexplained: 1,
    });
  });

  it.each<[string | undefined, string]>([
    ['held', 'nobody held the lock'],
    ['cooling-down', 'nobody had it before'],
    ['store-unavailable', 'nothing was wrong with the store'],
    ['already-ran', 'nobody had run it'],
    ['shutting-down', 'nobody was asked to end'],
    ['clock-skew', 'no clock was off by that much'],
    ['paused', 'nobody had paused it'],
    [undefined, 'and its process did not die'],
  ])('if the instances say %s, and %s', (reason) => {
    expect(refused(missed(), reason, { tick: TICK }).check('unrun').violations).toHaveLength(1);
  });

  it('if the lock had been released a moment before', () => {
    const bad = refused(missed(), 'held').run({ at: 29_000, tick: null, token: 29, ends: 29_900 });
    expect(bad.check('unrun').violations).toHaveLength(1);
  });

  it('if the clock of the store was not set back as far, or a logger threw', () => {
    const skewed = refused(missed(), 'clock-skew', { tick: TICK }).step(28_000, 35_000, -4_000);
    expect(skewed.check('unrun').violations).toHaveLength(1);
    const logger = refused(missed(), 'store-unavailable').fault(
      'throwing-logger',
      29_000,
      31_000,
      'instance-1',
    );
    expect(logger.check('unrun').violations).toHaveLength(1);
  });

  it('if a person had resumed it long before, or had paused another lock', () => {
    const pause = { k: 'paused', m: 12_000, i: 'instance-2', n: 1, token: 7, lasts: 40_000 } as const;
    const resumed = refused(missed(), 'paused').add(
      { ...pause, lock: 'lock' },
      { k: 'resuming', m: 15_000, i: 'instance-2', n: 1, lock: 'lock' },
    );
    expect(resumed.check('unrun').violations).toHaveLength(1);
    const other = refused(missed(), 'paused').add({ ...pause, lock: 'other' });
    expect(other.check('unrun').violations).toHaveLength(1);
  });

  it('if it is said to be overtaken by a newer tick that nobody has asked for', () => {
    expect(refused(missed(), 'already-ran', { tick: TICK + STEP }).check('unrun').violations).toHaveLength(1);
  });

  it('if the only fault was over long before, or hit another instance', () => {
    const early = refused(missed(), 'store-unavailable').fault('store-restart', 20_000, 21_000);
    expect(early.check('unrun').violations).toHaveLength(1);
    const elsewhere = missed().skip(TICK, 'store-unavailable').fault('refuse', 29_000, 31_000, 'instance-2');
    expect(elsewhere.check('unrun').violations).toHaveLength(1);
  });

  it('but not where the run begins and ends: not everybody is there', () => {
    const finding = new HandMade({ jobs: [{ every: STEP }], over: 13_000 }).check('unrun');
    expect(finding).toMatchObject({ violations: [], counts: { 'ticks due': 0 } });
  });
});

it('a tick is explained by a fleet that was down: who is started asks only for what was interrupted', () => {
  const down = (job: Partial<JobFacts>): HandMade =>
    missed(job)
      .kill('instance-1', 29_000)
      .kill('instance-2', 29_000, 31_000)
      .skip(TICK + 2_000, 'already-ran', { i: 'instance-2', n: 2 });
  expect(down({ rerun: 1 }).check('unrun').violations).toEqual([]);
  expect(down({ catchUp: 5_000 }).check('unrun').violations).toHaveLength(1);
});

describe('a tick that came while its instance still asked for an older one', () => {
  /** Another instance, whose clock is ahead, has run the next tick by then. @param ran when, ms @param after what time the call is answered, ms */
  const asking = (ran: number, after: number): HandMade => {
    const history = new HandMade({
      jobs: [{ every: STEP }],
      offsets: { 'instance-1': 15_000, 'instance-2': 0 },
    });
    for (const at of [10_000, 20_000, 50_000]) history.run({ at, tick: at, token: at });
    return history
      .run({ at: ran, tick: TICK + STEP, token: ran })
      .skip(TICK - 100, 'held', { i: 'instance-2', after })
      .skip(TICK, 'held', { i: 'instance-2' });
  };

  it('is explained by the newer one that was started', () => {
    const finding = asking(25_000, 1_000).check('unrun');
    expect(finding).toMatchObject({ violations: [], counts: { 'overtaken by a newer tick': 1 } });
  });

  it('is caught if the answer was there before, or the newer one came later', () => {
    expect(asking(25_000, 50).check('unrun').violations).toHaveLength(1);
    expect(asking(35_000, 1_000).check('unrun').violations).toHaveLength(1);
  });
});

describe('a tick that came while its instance asked for the lock already, for another job', () => {
  /** @param after after what time the other call is refused, ms */
  const asking = (after: number): HandMade =>
    missed({}, [{ job: 'other', lock: 'lock' }])
      .kill('instance-2', 21_000, 45_000)
      .skip(TICK - 10, 'held', { job: 'other', after })
      .skip(TICK, 'held');

  it('is explained by that call', () => {
    expect(asking(120).check('unrun')).toMatchObject({ violations: [], counts: { held: 1 } });
  });

  it('is caught if that call had its answer', () => {
    expect(asking(5).check('unrun').violations).toHaveLength(1);
  });
});

it('a tick that was run late is counted', () => {
  const finding = missed()
    .run({ at: TICK + 1_500, tick: TICK, token: 30 })
    .check('unrun');
  expect(finding).toMatchObject({ violations: [], counts: { 'run late by over a second': 1 } });
});

describe('a tick that was not run is explained', () => {
  const expected: [cause: string, history: HandMade][] = [
    [
      'held',
      refused(missed(), 'held').run({
        at: 29_000,
        tick: null,
        token: 29,
        ends: 31_000,
        confirmed: [[29_000, 30_978]],
      }),
    ],
    [
      // By a run that lost its lease and goes on: its process does not begin another one.
      'held',
      missed()
        .skip(TICK, 'held')
        .kill('instance-2', 21_000, 45_000)
        .run({ at: 22_000, tick: null, token: 22, lost: 23_978, ends: 31_000 }),
    ],
    [
      // Of a grant that its holder never got to know.
      "a dead holder's remaining lease",
      refused(missed(), 'held').skip(28_500, 'store-unavailable', { i: 'instance-2' }),
    ],
    [
      // Its deadline has just passed, and what is in the store has not.
      "a dead holder's remaining lease",
      missed({ storeTimeout: 1, ttl: 20_000 })
        .skip(TICK, 'held')
        .run({
          at: 20_500,
          tick: null,
          token: 21,
          ends: null,
          i: 'instance-2',
          confirmed: [[20_500, 40_000]],
        })
        .kill('instance-2', 21_000, 22_000),
    ],
    [
      'cooling down',
      refused(
        missed({}, [{ job: 'cool', lock: 'lock', atLeast: 4_000, storeTimeout: 1 }]),
        'cooling-down',
      ).run({
        job: 'cool',
        at: 27_000,
        tick: null,
        token: 27,
      }),
    ],
    ...['paused', 'held'].map((reason): [string, HandMade] => [
      // Who asks for less knows only that the lock is taken.
      'paused',
      refused(missed(), reason).add(
        { k: 'paused', m: 29_000, i: 'instance-2', n: 1, lock: 'lock', token: 29_000, lasts: 20_000 },
        { k: 'resuming', m: 34_000, i: 'instance-2', n: 1, lock: 'lock' },
      ),
    ]),
    ['outage of the store', refused(missed(), 'store-unavailable').fault('store-restart', 29_000, 31_000)],
    [
      'outage of the store',
      missed()
        .skip(TICK, 'store-unavailable')
        .fault('refuse', 29_000, 31_000, 'instance-1')
        .kill('instance-2', 25_000, 45_000),
    ],
    [
      'overtaken by a newer tick',
      new HandMade({ jobs: [{ every: STEP }], offsets: { 'instance-1': 2_000, 'instance-2': -2_000 } })
        .run({ at: 8_000, tick: 10_000, token: 1 })
        .run({ at: 18_000, tick: 20_000, token: 2 })
        .fault('pause', 25_000, 38_000, 'instance-1')
        .run({ at: 38_000, tick: 40_000, token: 4 })
        .skip(39_000, 'already-ran', { i: 'instance-2', tick: 40_000 })
        .run({ at: 48_000, tick: 50_000, token: 5 }),
    ],
    [
      'died or froze as it began',
      missed()
        .skip(TICK, undefined)
        .kill('instance-1', TICK + 2, 32_000)
        .skip(TICK + 1, 'already-ran', { i: 'instance-2', tick: TICK }),
    ],
    ['clock of the store', refused(missed(), 'clock-skew', { tick: TICK }).step(28_000, 35_000, -5_500)],
    [
      // Its holder had given it back, and the store has forgotten that.
      "a dead holder's remaining lease",
      refused(missed({ storeTimeout: 1 }), 'held')
        .run({ at: 27_000, tick: null, token: 27, ends: 28_500, confirmed: [[27_000, 30_500]] })
        .oldSnapshot(28_000, 29_000, 29_100),
    ],
    [
      // Of a grant that its holder never got to know, executed when the server went on.
      "a dead holder's remaining lease",
      refused(missed(), 'held')
        .skip(20_500, 'store-unavailable', { i: 'instance-2' })
        .fault('store-long-freeze', 20_000, 27_500),
    ],
    ['no instance up', missed().kill('instance-1', 25_000, 35_000).kill('instance-2', 25_000, 35_000)],
    [
      'no instance up',
      missed().kill('instance-1', 25_000, 35_000).fault('pause', 28_000, 32_000, 'instance-2'),
    ],
    [
      'shutting down',
      refused(missed(), 'shutting-down').add(
        { k: 'stopping', m: 29_900, i: 'instance-1', n: 1 },
        { k: 'stopping', m: 29_900, i: 'instance-2', n: 1 },
      ),
    ],
  ];

  it.each(expected)('%s', (cause, history) => {
    const finding = history.check('unrun');
    expect(finding.violations).toEqual([]);
    expect(finding.counts).toMatchObject({ [cause]: 1 });
  });
});
