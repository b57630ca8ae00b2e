import { expect, test } from '@jest/globals';
import { Patience } from '../../../../lib/stores/sql/patience.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/** How long work is waited for, after answers that took so long, ms. */
async function patienceAfter(...answers: number[]): Promise<number> {
  const clock = new ManualClock();
  const patience = new Patience(clock);
  for (const took of answers) {
    let answer!: () => void;
    const measured = patience.measured(new Promise<void>((resolve) => (answer = resolve)));
    await clock.advance(took);
    answer();
    await measured;
  }
  const began = clock.monotonic();
  let waited: number | undefined;
  void patience
    .inTime(new Promise<void>(() => undefined), undefined)
    .then(() => (waited = clock.monotonic() - began));
  while (waited === undefined) await clock.advance(1);
  return waited;
}

test.each([
  ['nothing is known', [], 100],
  ['the database is near', [2], 100],
  ['it is far away', [120], 360],
  ['it does not answer for long', [5_000], 1_000],
  ['one answer came late among others', [120, 920], 660],
  ['it has become faster', [920, 120], 360],
])('attempts wait for each other as long as answers take: %s', async (_, answers, expected) => {
  expect(await patienceAfter(...answers)).toBe(expected);
});
