import { beforeEach, expect, test } from '@jest/globals';
import { BriefWaits, LATE } from '../../../../lib/stores/sql/brief-waits.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

let clock: ManualClock;
let waits: BriefWaits;
let lost: string[];

beforeEach(() => {
  clock = new ManualClock();
  waits = new BriefWaits(clock);
  lost = [];
});

/** A statement that is carried out, or fails, when the test says so. */
function statement(name: string) {
  const ends: { carryOut: (answer: string) => void; fail: (error: Error) => void }[] = [];
  const send = () =>
    new Promise<string>((carryOut, fail) => {
      ends.push({ carryOut, fail });
    });
  return { ends, answer: waits.within(send, () => lost.push(name)) };
}

test('the answer of a statement that comes soon is the answer, also if it has failed', async () => {
  const [one, other] = [statement('one'), statement('other')];
  one.ends[0]?.carryOut('done');
  expect(await one.answer).toBe('done');
  other.ends[0]?.fail(new Error('refused'));
  await expect(other.answer).rejects.toThrow('refused');
  expect(lost).toEqual([]);
});

test('while one is late, no other is sent; then again', async () => {
  const slow = statement('slow');
  await clock.advance(1_000);
  expect(await slow.answer).toBe(LATE);
  const second = statement('second');
  expect(await second.answer).toBe(LATE);
  expect([second.ends.length, lost]).toEqual([0, ['second']]);
  slow.ends[0]?.carryOut('done');
  await clock.advance(1);
  const third = statement('third');
  third.ends[0]?.carryOut('done');
  expect(await third.answer).toBe('done');
});

test('what fails after its caller has gone on is told of', async () => {
  const slow = statement('slow');
  await clock.advance(1_000);
  slow.ends[0]?.fail(new Error('The connection was lost.'));
  await clock.advance(1);
  expect(lost).toEqual(['slow']);
});

test('five are under way at the same time, and the others one after another', async () => {
  const all = Array.from({ length: 7 }, (_, n) => statement(String(n)));
  const sent = (): number => all.filter(({ ends }) => ends.length > 0).length;
  expect(sent()).toBe(5);
  all[0]?.ends[0]?.carryOut('done');
  await clock.advance(1);
  expect(sent()).toBe(6);
});
