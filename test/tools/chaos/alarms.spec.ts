import { describe, expect, it } from '@jest/globals';
import type { Line, StoredMiss } from '../../chaos/history.js';
import { EPOCH, HandMade } from './support/hand-made.js';

const JOB = { every: 15_000 };

const alarm = (at: number, tick: number, i = 'instance-2'): Line => ({
  k: 'overdue',
  m: at,
  i,
  n: 1,
  lock: 'lock',
  job: 'job',
  tick: EPOCH + tick,
});

const check = (history: HandMade, name: 'alarms' = 'alarms'): readonly string[] =>
  history.check(name).violations;

describe('an alarm', () => {
  it('is right if nobody had started the tick in time', () => {
    expect(check(new HandMade({ jobs: [JOB] }).add(alarm(23_000, 15_000)))).toEqual([]);
    // Started too late.
    const late = new HandMade({ jobs: [JOB] }).run({ at: 20_100, tick: 15_000, token: 1 });
    expect(check(late.add(alarm(23_000, 15_000)))).toEqual([]);
  });

  it('is false if an instance had started it, or a newer one', () => {
    for (const tick of [15_000, 30_000]) {
      const history = new HandMade({ jobs: [JOB] }).run({ at: 19_000, tick, token: 1 });
      expect(check(history.add(alarm(23_000, 15_000)))).toEqual([expect.stringMatching('had started it')]);
    }
  });

  it('goes by the clock of the instance that raised it', () => {
    const offsets = { 'instance-1': 0, 'instance-2': 2_000 };
    // Its tick came at 13 s, and its grace was over at 18 s.
    const history = new HandMade({ jobs: [JOB], offsets }).run({ at: 18_500, tick: 15_000, token: 1 });
    expect(check(history.add(alarm(23_000, 15_000)))).toEqual([]);
  });

  it('goes by the store, or by the clock of the fleet that is first, where its own is behind', () => {
    const started = (slow: number, at: number): HandMade =>
      new HandMade({ jobs: [JOB], offsets: { 'instance-1': slow, 'instance-2': -2_000 } })
        .run({ at, tick: 15_000, token: 1 })
        .add(alarm(25_000, 15_000));
    // By its own clock its grace was over at 22 s; by that of the store, of instance-1, at 20 s.
    expect(check(started(0, 20_500))).toEqual([]);
    expect(check(started(2_000, 20_500))).toEqual([]);
    expect(check(started(2_000, 19_500))).toHaveLength(1);
    // The clocks of all are behind.
    expect(check(started(-1_000, 20_500))).toHaveLength(1);
    expect(check(started(-1_000, 21_500))).toEqual([]);
  });

  it('is false if a run of its job went on when the tick came, by the clock of any instance', () => {
    const offsets = { 'instance-1': 0, 'instance-2': 2_000 };
    const overrun = (ends: number): HandMade =>
      new HandMade({ jobs: [JOB], offsets })
        .run({ at: 12_000, tick: 0, token: 1, ends })
        .add(alarm(23_000, 15_000));
    expect(check(overrun(16_000))).toEqual([expect.stringMatching('went on from')]);
    expect(check(overrun(14_500))).toEqual([]);
  });

  it('is false for an interval that was started', () => {
    const interval = { kind: 'interval', every: 1_000 } as const;
    const history = new HandMade({ jobs: [interval] }).run({ at: 15_500, tick: null, token: 1 });
    expect(check(history.add(alarm(23_000, 15_000)))).toHaveLength(1);
    // One before began late, as its answer took long.
    const idle = new HandMade({ jobs: [interval] }).run({ at: 14_170, tick: null, token: 1 });
    expect(check(idle.add(alarm(23_000, 15_000)))).toEqual([]);
  });

  it('comes once for each tick', () => {
    const twice = new HandMade({ jobs: [JOB] }).add(
      alarm(23_000, 15_000),
      alarm(24_000, 15_000, 'instance-1'),
    );
    expect(check(twice)).toEqual([expect.stringMatching('and 1 times more')]);
    expect(check(twice.fault('store-wipe', 23_500, 23_600))).toEqual([]);
  });

  it.each([
    ['soon after it', 24_500, 1, []],
    ['long after it', 25_500, 1, ['and 1 times more']],
    ['soon after it, but came three times', 24_500, 2, ['and 2 times more']],
  ])('may come twice if its instance was cut off %s', (_when, from, more, wrong) => {
    const cutOff = new HandMade({ jobs: [JOB] })
      .add(alarm(23_000, 15_000))
      .fault('pause', from, 30_000, 'instance-2');
    for (let at = 0; at < more; at++) cutOff.add(alarm(33_000 + at, 15_000, 'instance-1'));
    expect(check(cutOff)).toEqual(wrong.map((text) => expect.stringMatching(text)));
  });

  it('may be false after a data loss, or while the clock of the store is set', () => {
    const started = (): HandMade =>
      new HandMade({ jobs: [JOB] }).run({ at: 15_000, tick: 15_000, token: 1 }).add(alarm(23_000, 15_000));
    expect(check(started())).toHaveLength(1);
    expect(check(started().fault('store-wipe', 18_000, 18_100))).toEqual([]);
    expect(check(started().step(18_000, 25_000, 3_000))).toEqual([]);
  });
});

describe('a tick that nobody started', () => {
  const missed = (misses: readonly StoredMiss[] = []): HandMade =>
    new HandMade({ jobs: [JOB] })
      .run({ at: 15_000, tick: 15_000, token: 1 })
      .run({ at: 45_000, tick: 45_000, token: 2 })
      .add({ k: 'stored', m: 60_100, lock: 'lock', runs: [], misses });
  const miss = { job: 'job', tick: EPOCH + 30_000, instance: 'instance-2.1', reason: 'not-fired' };

  it('is told of', () => {
    expect(check(missed())).toEqual([expect.stringMatching('nobody started tick .* nor told of it')]);
    expect(check(missed([miss]))).toEqual([]);
    expect(missed([miss]).check('alarms').counts).toMatchObject({ 'ticks that were missed, and told': 1 });
  });

  it('is told of by an alarm, too: the store may have lost the entry since', () => {
    expect(check(missed().add(alarm(38_000, 30_000)).fault('store-wipe', 50_000, 50_100))).toEqual([]);
  });

  it('need not be told of if nobody could: the store was away, or had forgotten the job, or nobody was up', () => {
    expect(check(missed().fault('store-freeze', 34_000, 40_000))).toEqual([]);
    expect(check(missed().fault('store-wipe', 29_000, 29_100))).toEqual([]);
    const down = missed().kill('instance-1', 31_000).kill('instance-2', 31_000);
    expect(check(down)).toEqual([]);
  });

  it('is told of by who is started behind it, and asks', () => {
    const started = (misses: readonly StoredMiss[] = [], up = 37_000): HandMade =>
      missed(misses).kill('instance-1', 29_000, up).kill('instance-2', 29_000);
    expect(check(started())).toEqual([expect.stringMatching('nor told of it, though instance-1.2 could')]);
    expect(check(started([miss]))).toEqual([]);
    // The next tick came before it could be told.
    expect(check(started([], 39_000))).toEqual([]);
    expect(check(started().fault('store-freeze', 38_000, 39_000))).toEqual([]);
  });

  it('need not be told of if a run of its job was in its way', () => {
    expect(check(missed().run({ at: 29_000, tick: 28_000, token: 3, ends: 33_000 }))).toEqual([]);
  });
});
