import { expect, test } from '@jest/globals';
import { inTurn } from '../../../../lib/lock/access/in-turn.js';
import type { HistoryEntry, HistoryStore } from '../../../../lib/contract/history-store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';

/* A history whose table somebody has locked: its calls wait for that. */

function lockedHistory() {
  const clock = new ManualClock();
  const waiting: ((entries: HistoryEntry[]) => void)[] = [];
  const entries = () => new Promise<HistoryEntry[]>((resolve) => waiting.push(resolve));
  const history = inTurn({ entries } as Partial<HistoryStore> as HistoryStore, clock);
  return { clock, waiting, ask: () => history.entries({ name: 'job', limit: 1 }) };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('two calls wait for an answer, and the others for them', async () => {
  const { waiting, ask } = lockedHistory();
  const asked = Array.from({ length: 5 }, ask);
  await turn();
  expect(waiting).toHaveLength(2);
  waiting[1]?.([]);
  await turn();
  expect(waiting).toHaveLength(3);
  for (let n = 0; n < 5; n++) {
    waiting[n]?.([]);
    await turn();
  }
  expect(await Promise.all(asked)).toHaveLength(5);
});

test('after ten silent seconds no more calls stand in line, until there is an answer', async () => {
  const { clock, waiting, ask } = lockedHistory();
  const asked = Array.from({ length: 4 }, ask);
  await turn();
  await clock.advance(10_001);
  await expect(ask()).rejects.toThrow('The history has not answered 2 calls for 10 s.');
  waiting[0]?.([]);
  await turn();
  asked.push(ask());
  for (let n = 1; n < 5; n++) {
    waiting[n]?.([]);
    await turn();
  }
  expect(await Promise.all(asked)).toHaveLength(5);
});

test('a call that throws at once gives its place back', async () => {
  const history = inTurn(
    {
      entries: () => {
        throw new Error('broken');
      },
    } as Partial<HistoryStore> as HistoryStore,
    new ManualClock(),
  );
  for (let n = 0; n < 4; n++)
    await expect(history.entries({ name: 'job', limit: 1 })).rejects.toThrow('broken');
});
