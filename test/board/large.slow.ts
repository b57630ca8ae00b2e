import { expect, test } from '@jest/globals';
import { RedisLockStore } from '../../lib/stores/redis/index.js';
import { seed } from '../bench/insight/fleet.js';
import { startRedis } from '../support/local-redis.js';
import { longestStretch } from '../support/stretch.js';
import { until } from '../support/until.js';
import { site, statusOf, USER } from './support/site.js';

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
    // As many runs as are kept by default: a week of a job of every hour and a half.
    await seed(redis.url, { jobs: 500, runs: 100, ...made });
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
      const stretch = await longestStretch(async () => {
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
