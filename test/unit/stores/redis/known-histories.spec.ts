import { expect, test } from '@jest/globals';
import { KnownHistories } from '../../../../lib/stores/redis/known-histories.js';
import type { KnownStreams } from '../../../../lib/stores/redis/records.js';

const streams = (count: number): KnownStreams => ({
  runs: { newest: '1-1', entries: Array.from({ length: count }, (_, at) => ({ at })) },
  bad: { newest: '', entries: [] },
});

test('what was read last is known', () => {
  const known = new KnownHistories();
  const [one, other] = [streams(3), streams(4)];
  known.set('a', one);
  expect(known.get('a')).toBe(one);
  known.set('a', other);
  expect(known.get('a')).toBe(other);
  expect(known.get('b')).toBeUndefined();
});

test('a long history is not kept, nor what was known of it before', () => {
  const known = new KnownHistories();
  known.set('a', streams(3));
  known.set('a', streams(100));
  expect(known.get('a')).toBeUndefined();
});

test('some 10,000 entries are kept, and of a look that reads more, most are known to the next one', () => {
  const known = new KnownHistories();
  const names = Array.from({ length: 600 }, (_, n) => `lock ${n}`);
  let hits = 0;
  for (let look = 0; look < 10; look++)
    for (const name of names) {
      if (look > 0 && known.get(name) !== undefined) hits++;
      known.set(name, streams(19));
    }
  const kept = names.filter((name) => known.get(name) !== undefined).length;
  expect(kept * 20).toBeLessThanOrEqual(10_000);
  expect(kept * 20).toBeGreaterThan(9_900);
  expect(hits).toBeGreaterThan((9 * names.length) / 2);
});
