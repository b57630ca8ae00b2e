import { expect, test } from '@jest/globals';
import { FireFinder, MOST_FIRES } from '../../../../lib/show/board/data/fires.js';
import type { TickFinder } from '../../../../lib/insight/facts.js';
import type { JobView } from '../../../../lib/insight/types.js';

const [MINUTE, HOUR] = [60_000, 3_600_000];
const NOW = Date.UTC(2026, 10, 22, 3, 10);

/** `hourly`, or `often`: each ten minutes. Counts what it is asked. */
class Dates {
  asked = 0;
  readonly ticks: TickFinder = (schedule) => {
    const step = schedule === 'hourly' ? HOUR : 10 * MINUTE;
    return {
      newest: (at) => Math.floor(at / step) * step,
      next: (at) => {
        this.asked++;
        return (Math.floor(at / step) + 1) * step;
      },
    };
  };
}

const viewOf = (job: string, schedule: string, next: number): JobView => ({
  job,
  kind: 'cron',
  schedule,
  next,
  status: 'ok',
  attention: false,
  failures: 0,
  instances: ['api-1'],
});

test('the dates of a schedule are asked for once: later only those that have come within a day since', async () => {
  const dates = new Dates();
  const finder = new FireFinder();
  const first = await finder.of([viewOf('a', 'hourly', NOW + 50 * MINUTE)], NOW, dates.ticks);
  expect(first).toMatchObject([{ next: NOW + 50 * MINUTE, isFrequent: false }]);
  expect(first[0]?.at).toHaveLength(24);
  const asked = dates.asked;
  expect(asked).toBeLessThanOrEqual(MOST_FIRES + 1);
  const again = await finder.of([viewOf('a', 'hourly', NOW + 50 * MINUTE)], NOW + 2_000, dates.ticks);
  expect(again[0]?.at).toEqual(first[0]?.at);
  expect(dates.asked).toBe(asked);
  const later = await finder.of([viewOf('a', 'hourly', NOW + 110 * MINUTE)], NOW + HOUR, dates.ticks);
  expect(later[0]?.at).toEqual(first[0]?.at.map((at) => at + HOUR));
  expect(dates.asked).toBe(asked + 1);
});

test('jobs of one schedule share its dates', async () => {
  const dates = new Dates();
  const next = NOW + 50 * MINUTE;
  const found = await new FireFinder().of(
    [viewOf('a', 'hourly', next), viewOf('b', 'hourly', next)],
    NOW,
    dates.ticks,
  );
  expect(found[1]?.at).toEqual(found[0]?.at);
  expect(dates.asked).toBeLessThanOrEqual(MOST_FIRES + 1);
});

test('one that comes very often is only said to', async () => {
  const found = await new FireFinder().of([viewOf('a', 'often', NOW + 10 * MINUTE)], NOW, new Dates().ticks);
  expect(found[0]).toMatchObject({ isFrequent: true });
});

test('a next fire that is none of the known dates, as after a pause, starts anew', async () => {
  const dates = new Dates();
  const finder = new FireFinder();
  await finder.of([viewOf('a', 'hourly', NOW + 50 * MINUTE)], NOW, dates.ticks);
  const [found] = await finder.of([viewOf('a', 'hourly', NOW + 55 * MINUTE)], NOW, dates.ticks);
  expect(found?.at.slice(0, 2)).toEqual([NOW + 55 * MINUTE, NOW + 110 * MINUTE]);
});
