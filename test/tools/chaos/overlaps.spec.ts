import { describe, expect, it } from '@jest/globals';
import { HandMade, type HandMadeRun } from './support/hand-made.js';

/** A run from 1,000 on, and one of another instance from 2,000 on. */
const pair = (first: Partial<HandMadeRun>): HandMade =>
  new HandMade()
    .run({ at: 1_000, token: 1, ends: 4_000, ...first })
    .run({ at: 2_000, token: 2, i: 'instance-2', ends: 2_500 });

describe('two holders at a time', () => {
  it('are caught while both believe', () => {
    const { violations } = pair({}).check('overlaps');
    expect(violations).toEqual([
      expect.stringMatching(/^for 500 ms both .*on instance-1.* and .*on instance-2/),
    ]);
  });

  it('are caught if a renewal keeps the first one believing', () => {
    const confirmed = [
      [1_000, 1_700],
      [1_600, 2_200],
    ] as const;
    expect(pair({ confirmed }).check('overlaps').violations).toEqual([expect.stringContaining('for 200 ms')]);
  });

  it('are caught with a run in between', () => {
    const bad = new HandMade()
      .run({ at: 1_000, token: 1, ends: 2_500 })
      .run({ at: 1_500, token: 2, ends: 1_600, i: 'instance-2' })
      .run({ at: 2_000, token: 3, ends: 2_500, i: 'instance-2' });
    expect(bad.check('overlaps').violations).toHaveLength(2);
  });

  it.each<[string, Partial<HandMadeRun>]>([
    ['the run ended', { ends: 1_900 }],
    ['its loss was told', { lost: 1_999 }],
    ['its last deadline has passed', { confirmed: [[1_000, 1_990]], lost: 2_100 }],
  ])('are none where belief is over: %s', (_why, first) => {
    expect(pair(first).check('overlaps').violations).toEqual([]);
  });

  it('are none where the first one was killed', () => {
    expect(pair({ ends: null }).kill('instance-1', 1_900).check('overlaps').violations).toEqual([]);
  });

  it('are none under different locks, and some under one that two jobs share', () => {
    const two = (lock: string): HandMade =>
      new HandMade({ jobs: [{}, { job: 'other', lock }] })
        .run({ at: 1_000, token: 1, ends: 2_500 })
        .run({ job: 'other', at: 2_000, token: 2, i: 'instance-2' });
    expect(two('another').check('overlaps').violations).toEqual([]);
    expect(two('lock').check('overlaps').violations).toHaveLength(1);
  });

  it('are counted apart if a data loss is behind it and it is over within a heartbeat and a storeTimeout', () => {
    const finding = pair({ lost: 3_050 }).fault('store-wipe', 1_900, 1_950).check('overlaps');
    expect(finding).toMatchObject({ violations: [], counts: { 'overlaps after a data loss': 1 } });
  });

  it('are counted apart as long as nobody can have noticed that the clock was set forward', () => {
    const finding = pair({ lost: 3_050 }).step(1_950, 9_000, 3_000).check('overlaps');
    expect(finding).toMatchObject({
      violations: [],
      counts: { 'overlaps after the clock was set forward': 1 },
    });
    const back = pair({ lost: 3_050 }).step(100, 1_950, -3_000).check('overlaps');
    expect(back).toMatchObject({ violations: [], counts: { 'overlaps after the clock was set forward': 1 } });
    expect(pair({ lost: 3_050 }).step(1_950, 9_000, -3_000).check('overlaps').violations).toHaveLength(1);
    const confirmed = [[1_000, 3_500]] as const;
    const long = new HandMade()
      .run({ at: 1_000, token: 1, ends: 4_000, confirmed })
      .run({ at: 2_000, token: 2, i: 'instance-2', ends: 3_200 });
    expect(long.step(1_950, 9_000, 3_000).check('overlaps').violations).toHaveLength(1);
  });

  it('are counted apart until the holder of a lease that a person has ended can have noticed', () => {
    // Its heartbeat comes after 600 ms, and is answered within the limit of the store.
    const ended = { k: 'broken', m: 1_950, i: 'instance-2', n: 1, lock: 'lock', token: 1 } as const;
    const counted = { violations: [], counts: { 'overlaps after a lease was broken': 1 } };
    expect(pair({ lost: 2_400 }).add(ended).check('overlaps')).toMatchObject(counted);
    const long = (): HandMade =>
      new HandMade()
        .run({ at: 1_000, token: 1, ends: 6_000, confirmed: [[1_000, 3_900]] })
        .run({ at: 2_000, token: 2, i: 'instance-2', ends: 5_000 });
    expect(long().add(ended).check('overlaps').violations).toHaveLength(1);
    expect(long().add(ended).fault('pause', 2_000, 4_000, 'instance-1').check('overlaps')).toMatchObject(
      counted,
    );
    expect(
      pair({ lost: 2_400 })
        .add({ ...ended, token: 3 })
        .check('overlaps').violations,
    ).toHaveLength(1);
    // Whoever was killed after that has told nobody. It explains no other lease.
    const killed = (token: number, lock = 'lock'): HandMade =>
      pair({ lost: 2_400 })
        .fault('switch-break', 900, 3_000)
        .add({ ...ended, k: 'breaking', lock, token });
    expect(killed(1).check('overlaps')).toMatchObject(counted);
    for (const other of [killed(3), killed(1, 'other')])
      expect(other.check('overlaps').violations).toHaveLength(1);
    // A switch is no fault that a heartbeat could meet.
    expect(long().add(ended).fault('switch-pause', 2_000, 4_000).check('overlaps').violations).toHaveLength(
      1,
    );
  });

  it('are caught if it lasts longer than that, or the store had kept its data', () => {
    const long = new HandMade()
      .run({ at: 1_000, token: 1, ends: 4_000, confirmed: [[1_000, 3_500]] })
      .run({ at: 2_000, token: 2, i: 'instance-2', ends: 3_200 });
    expect(long.fault('store-wipe', 1_900, 1_950).check('overlaps').violations).toHaveLength(1);
    expect(pair({}).fault('store-restart', 1_900, 1_950).check('overlaps').violations).toHaveLength(1);
  });
});

describe('a belief without a reason is caught', () => {
  it('if a lease is renewed after its deadline', () => {
    const confirmed = [
      [1_000, 1_700],
      [1_800, 3_000],
    ] as const;
    const bad = new HandMade().run({ at: 1_000, token: 1, ends: 2_000, confirmed });
    expect(bad.check('overlaps').violations).toEqual([
      expect.stringContaining('renewed 100 ms after its deadline'),
    ]);
  });

  it('if a job is told that it holds after its deadline', () => {
    const bad = new HandMade().run({ at: 1_000, token: 1, ends: 4_000, held: 3_978 });
    expect(bad.check('overlaps').violations).toEqual([expect.stringContaining('1000 ms after its deadline')]);
  });

  it('if a run begins without a lease', () => {
    const bad = new HandMade().run({ at: 1_000, token: 1, confirmed: [] });
    expect(bad.check('overlaps').violations).toContainEqual(expect.stringContaining('began without a lease'));
  });
});
