import { expect, test } from '@jest/globals';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { seed } from '../bench/insight/fleet.js';
import { startRedis } from '../support/local-redis.js';
import { until } from '../support/until.js';
import { site, statusOf, USER } from './support/site.js';

/**
 * The longest stretch of processor time in which nothing else had its turn, ms, while something is done. What other programs take of the
 * machine meanwhile does not count, the garbage collector and the compiler of this one do.
 */
async function stretchOf(work: () => Promise<unknown>): Promise<number> {
  let [longest, last, isOver] = [0, process.cpuUsage(), false];
  const look = (): void => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, (user + system) / 1e3);
    last = process.cpuUsage();
    if (!isOver) setImmediate(look);
  };
  look();
  await work();
  isOver = true;
  return longest;
}

const told = (text: string): void => void process.stderr.write(`${text}\n`);

/** Looks at the page, one answer of the store apart. */
const LOOKS = 6;

test.each([
  { what: '500 jobs that are well, on 50 instances', instances: 50, up: 50, scenario: 'all well' },
  {
    what: '500 jobs that are overdue, on 50 instances that are up and 950 of the week before',
    instances: 1_000,
    up: 50,
    scenario: 'all overdue',
  },
] as const)(
  '$what: the page is there, its size is bounded, and its figures are told',
  async ({ what, ...made }) => {
    const redis = await startRedis();
    await seed(redis.url, { jobs: 500, ...made });
    const place = await site({ store: new RedisLockStore(redis.url) });
    const sizes: number[] = [];
    // The first look compiles the code, and asks `cron` for all dates: on a busy machine it may take more than a viewer waits.
    await until(async () => (await statusOf(fetch(place.url, { headers: USER }))) === 200, {
      timeout: 60_000,
      message: 'the first page',
    });
    for (let n = 0; n < LOOKS; n++) {
      const started = performance.now();
      let first = 0;
      // As long as an answer serves: the next one may still be read, and drawn, when this look has its page.
      const stretch = await stretchOf(async () => {
        const answer = await fetch(`${place.url}?zone=Europe/Berlin`, { headers: USER });
        first = performance.now() - started;
        expect(answer.status).toBe(200);
        sizes.push((await answer.text()).length);
        await new Promise((resolve) => setTimeout(resolve, 2_100));
      });
      told(
        `${what}, look ${n + 1}: first byte after ${first.toFixed(0)} ms, ${stretch.toFixed(0)} ms of processor time at a stretch`,
      );
    }
    expect(Math.max(...sizes)).toBeLessThan(250_000);
    await place.close();
    await redis.stop();
  },
  300_000,
);
