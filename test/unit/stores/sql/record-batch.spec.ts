import { expect, test } from '@jest/globals';
import { RecordBatch } from '../../../../lib/stores/sql/record-batch.js';
import type { EntryRow } from '../../../../lib/stores/sql/history-dialect.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

const row = (entry: number): EntryRow => ({
  name: 'job',
  entry: String(entry),
  kind: 'completed',
  age: 1,
  data: '{}',
});

/** A batch, and how many records were in each statement. */
function batchOf(done: Promise<void> = Promise.resolve()) {
  const clock = new ManualClock();
  const sizes: number[] = [];
  const batch = new RecordBatch((rows) => {
    sizes.push(rows.length);
    return done;
  }, clock);
  return { clock, sizes, batch };
}

test('records of a quarter of a second are kept by one statement, later ones by the next', async () => {
  const { clock, sizes, batch } = batchOf();
  batch.add(row(1));
  await clock.advance(249);
  batch.add(row(2));
  expect(sizes).toEqual([]);
  await clock.advance(1);
  expect(sizes).toEqual([2]);
  batch.add(row(3));
  await clock.advance(250);
  expect(sizes).toEqual([2, 1]);
  // Nothing is left.
  await batch.flush();
  await clock.advance(1_000);
  expect(sizes).toEqual([2, 1]);
});

test('a flush keeps what waits, a hundred at a time, and resolves when all is kept', async () => {
  let kept = (): void => undefined;
  const { clock, sizes, batch } = batchOf(new Promise((resolve) => (kept = resolve)));
  for (let i = 0; i < 250; i++) batch.add(row(i));
  let isFlushed = false;
  const flushed = batch.flush().then(() => (isFlushed = true));
  await clock.advance(10_000);
  expect(sizes).toEqual([100]);
  expect(isFlushed).toBe(false);
  kept();
  await flushed;
  expect(sizes).toEqual([100, 100, 50]);
});

test('a flush waits for records that are being kept already', async () => {
  let kept = (): void => undefined;
  const { clock, batch } = batchOf(new Promise((resolve) => (kept = resolve)));
  batch.add(row(1));
  await clock.advance(250);
  let isFlushed = false;
  const flushed = batch.flush().then(() => (isFlushed = true));
  await clock.advance(1);
  expect(isFlushed).toBe(false);
  kept();
  await flushed;
});

test('while a statement is not answered, a thousand records wait at most, and the oldest are lost', async () => {
  let kept = (): void => undefined;
  const { sizes, batch, clock } = batchOf(new Promise((resolve) => (kept = resolve)));
  batch.add(row(0));
  await clock.advance(250);
  for (let i = 1; i <= 1_500; i++) batch.add(row(i));
  await clock.advance(10_000);
  expect(sizes).toEqual([1]);
  kept();
  await batch.flush();
  expect(sizes.reduce((sum, size) => sum + size)).toBe(1_001);
});
