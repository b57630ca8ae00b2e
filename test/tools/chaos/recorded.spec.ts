import { describe, expect, it } from '@jest/globals';
import type { StoredRun } from '../../chaos/history.js';
import { EPOCH, HandMade } from './support/hand-made.js';

/** What a store has kept of the run with this token, which began at `1_000`. */
const entry = (token: number, more: Partial<StoredRun> = {}): StoredRun => ({
  token,
  instance: 'instance-1.1',
  job: 'job',
  tick: EPOCH + 1_000,
  attempt: 1,
  outcome: 'completed',
  ...more,
});

/** What the store has at the end. */
function stored(history: HandMade, runs: readonly StoredRun[], unended?: number): HandMade {
  const line = { k: 'stored', m: 60_100, lock: 'lock', runs, misses: [] } as const;
  return history.add(unended === undefined ? line : { ...line, unended });
}

const verdict = (history: HandMade) => {
  const { violations, counts } = history.check('recorded');
  const { 'runs that are kept': _, ...rest } = counts;
  return violations.length > 0 ? violations.join('\n') : rest;
};

describe('a run that has ended', () => {
  const ended = (): HandMade => new HandMade().run({ at: 1_000, token: 7 });

  it('is kept once, as it was', () => {
    expect(verdict(stored(ended(), [entry(7)]))).toEqual({});
  });

  it.each([
    ['is not kept', [], 'is not kept'],
    ['is kept twice', [entry(7), entry(7)], 'is kept 2 times'],
    ['is kept as interrupted', [entry(7, { outcome: 'interrupted' })], 'ended as completed'],
    ['is kept with another end', [entry(7, { outcome: 'failed' })], 'is kept as failed'],
    ['is kept as one of another instance', [entry(7, { instance: 'instance-2.1' })], 'instance-2.1'],
    ['is kept for another tick', [entry(7, { tick: EPOCH })], 'kept as one of'],
    ['is kept as another attempt', [entry(7, { attempt: 2 })], 'kept as one of'],
  ])('is caught if it %s', (_what, runs, wrong) => {
    expect(verdict(stored(ended(), runs))).toMatch(wrong);
  });

  it('may be forgotten with the data of the store, or come back as interrupted with an old snapshot', () => {
    const wiped = ended().fault('store-wipe', 2_000, 2_100);
    expect(verdict(stored(wiped, []))).toEqual({ 'forgotten with the data of the store': 1 });
    const old = ended().oldSnapshot(1_005, 2_000, 2_100);
    expect(verdict(stored(old, [entry(7, { outcome: 'interrupted' })]))).toEqual({
      'interrupted, as the store forgot their end': 1,
    });
    expect(verdict(stored(ended().oldSnapshot(1_500, 2_000, 2_100), []))).toMatch('is not kept');
  });

  it('may be forgotten with an old snapshot that was made before a store that keeps it later has done so', () => {
    const history = (since: number): HandMade =>
      new HandMade({ keptWithin: 1_000 }).run({ at: 1_000, token: 7 }).oldSnapshot(since, 4_000, 4_100);
    expect(verdict(stored(history(1_500), []))).toEqual({ 'forgotten with the data of the store': 1 });
    expect(verdict(stored(history(2_500), []))).toMatch('is not kept');
  });

  it('may be lost if its process dies before a store that keeps it later has done so', () => {
    const history = (at: number): HandMade =>
      new HandMade({ keptWithin: 1_000 }).run({ at: 1_000, token: 7 }).kill('instance-1', at);
    expect(verdict(stored(history(1_500), []))).toEqual({ 'lost between release and record': 1 });
    expect(verdict(stored(history(2_500), []))).toMatch('is not kept');
    expect(verdict(stored(ended().kill('instance-1', 1_500), []))).toMatch('is not kept');
  });

  it('may be kept as interrupted if it was the last queued call of a process that dies before it gives the lock back', () => {
    const history = (delivery: number | undefined, at: number): HandMade =>
      new HandMade({ keptWithin: 1_000 })
        .run({ at: 1_000, token: 7, ...(delivery === undefined ? undefined : { delivery }) })
        .kill('instance-1', at);
    const interrupted = [entry(7, { outcome: 'interrupted' })];
    expect(verdict(stored(history(1, 1_500), interrupted))).toEqual({
      'interrupted between the end of a queued call and the release': 1,
    });
    expect(verdict(stored(history(1, 2_500), interrupted))).toMatch('ended as completed');
    expect(verdict(stored(history(undefined, 1_500), interrupted))).toMatch('ended as completed');
  });

  it('whose release was not confirmed may be there or not', () => {
    const history = (): HandMade => new HandMade().run({ at: 1_000, token: 7, ends: 4_000, lost: 2_900 });
    expect(verdict(stored(history(), []))).toEqual({ 'end not confirmed, not kept': 1 });
    expect(verdict(stored(history(), [entry(7)]))).toEqual({ 'end not confirmed, kept': 1 });
  });
});

describe('a run whose process was killed', () => {
  const killed = (next = 4_000): HandMade =>
    new HandMade()
      .run({ at: 1_000, token: 7, ends: null })
      .kill('instance-1', 1_200)
      .run({ at: next, token: 9, i: 'instance-2' });
  const nextOne = entry(9, { instance: 'instance-2.1', tick: EPOCH + 4_000 });

  it('is kept as interrupted, or is the newest lease', () => {
    const interrupted = entry(7, { outcome: 'interrupted' });
    expect(verdict(stored(killed(), [interrupted, nextOne]))).toEqual({ interrupted: 1 });
    const newest = new HandMade().run({ at: 1_000, token: 7, ends: null }).kill('instance-1', 1_200);
    expect(verdict(stored(newest, [], 7))).toEqual({ 'interrupted, and the newest lease': 1 });
    expect(verdict(stored(newest, []))).toMatch('nobody has told');
  });

  it('is caught if nobody has told, or if it is kept as ended', () => {
    expect(verdict(stored(killed(), [nextOne]))).toMatch('nobody has told');
    expect(verdict(stored(killed(), [entry(7), nextOne]))).toMatch('is kept as completed');
  });

  it('may go untold if whoever came next was in trouble, or never got its grant, or the store lost its data', () => {
    const cut = killed().fault('black-hole', 3_900, 4_500, 'instance-2');
    expect(verdict(stored(cut, [nextOne]))).toEqual({ 'not told, the next holder was in trouble': 1 });
    const unanswered = killed().skip(3_500, 'store-unavailable', { i: 'instance-2' });
    expect(verdict(stored(unanswered, [nextOne]))).toEqual({
      'not told, the next holder did not get its grant': 1,
    });
    const wiped = killed().fault('store-wipe', 3_000, 3_100);
    expect(verdict(stored(wiped, [nextOne]))).toEqual({ 'forgotten with the data of the store': 1 });
  });
});

describe('an entry of a run that nobody knows', () => {
  const unknown = (at: number, outcome: string): StoredRun =>
    entry((EPOCH + at) * 1_000, { outcome, instance: 'instance-2.1' });

  it('is caught', () => {
    expect(verdict(stored(new HandMade(), [unknown(5_000, 'interrupted')]))).toMatch('and never was');
    const elsewhere = new HandMade().fault('black-hole', 4_900, 5_500, 'instance-1');
    expect(verdict(stored(elsewhere, [unknown(5_000, 'interrupted')]))).toMatch('and never was');
  });

  it('may be of a grant whose answer was lost: then nothing ran', () => {
    const cut = (): HandMade => new HandMade().fault('black-hole', 4_900, 5_500, 'instance-2');
    expect(verdict(stored(cut(), [unknown(5_000, 'interrupted')]))).toEqual({
      'grants that were never answered': 1,
    });
    expect(verdict(stored(cut(), [unknown(5_000, 'completed')]))).toMatch('and never was');
  });

  it('may be of such a grant that somebody has ended', () => {
    const ended = (token: number): HandMade =>
      new HandMade()
        .fault('black-hole', 4_900, 5_500, 'instance-2')
        .add({ k: 'broken', m: 5_200, i: 'instance-1', n: 1, lock: 'lock', token });
    const kept = unknown(5_000, 'aborted');
    expect(verdict(stored(ended(kept.token), [kept]))).toEqual({ 'grants that were never answered': 1 });
    expect(verdict(stored(ended(1), [kept]))).toMatch('and never was');
  });
});
