import { expect, test } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { seed } from '../bench/insight/fleet.js';
import { startRedis } from '../support/local-redis.js';
import { fleet } from './support/fleet.js';
import { site, USER } from './support/site.js';

/** For how long at most nothing else had its turn, ms, while something is done. */
async function stretchOf(work: () => Promise<unknown>): Promise<number> {
  let [longest, last, isOver] = [0, performance.now(), false];
  const look = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isOver) setImmediate(look);
  };
  look();
  await work();
  isOver = true;
  return longest;
}

const told = (text: string): void => void process.stderr.write(`${text}\n`);

test('500 jobs, 50 instances that are up and 950 of the week before: the page is there, and its size is bounded', async () => {
  const redis = await startRedis();
  await seed(redis.url, { jobs: 500, instances: 1_000, up: 50, scenario: 'all overdue' });
  const store = new RedisLockStore(redis.url);
  const place = await site({ store });
  const sizes: number[] = [];
  for (let n = 0; n < 5; n++) {
    const started = performance.now();
    let first = 0;
    let size = 0;
    const stretch = await stretchOf(async () => {
      const answer = await fetch(`${place.url}?zone=Europe/Berlin`, { headers: USER });
      first = performance.now() - started;
      expect(answer.status).toBe(200);
      size = (await answer.text()).length;
    });
    told(
      `look ${n + 1}: first byte after ${first.toFixed(0)} ms, ${stretch.toFixed(0)} ms at a stretch, ${(size / 1e3).toFixed(0)} kB`,
    );
    sizes.push(size);
    // The next look is one at the store.
    await new Promise((resolve) => setTimeout(resolve, 2_100));
  }
  expect(Math.max(...sizes)).toBeLessThan(250_000);
  await place.close();
  await redis.stop();
}, 300_000);

test('what is served of an ordinary fleet is at most 60 kB on the wire', async () => {
  const made = await fleet();
  const place = await site({ store: made.store, clock: made.clock });
  let whole = 0;
  for (const part of ['', '?asset=board.js', '?asset=board.css']) {
    const text = await (await fetch(place.url + part, { headers: USER })).text();
    const packed = gzipSync(text).length;
    told(`${part || 'page'}: ${(text.length / 1e3).toFixed(1)} kB, ${(packed / 1e3).toFixed(1)} kB packed`);
    whole += packed;
  }
  expect(whole).toBeLessThan(60_000);
  await place.close();
});
