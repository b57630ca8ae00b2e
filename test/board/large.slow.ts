import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';
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

/** How many different pages are asked for in a second, and for how many seconds. */
const PAGES = 200;
const SECONDS = 10;
/** A third of the shortest lease that makes sense, ms: later a heartbeat would cost a lease. */
const HEARTBEAT = 1_000;

/** Asks for pages, on a thread of its own: what the asking costs is not the page's. Answers how often each status came. */
const ASKING = /* js */ `
const { parentPort, workerData: { url, headers, pages, seconds } } = require('node:worker_threads');
const counts = {};
const asked = [];
const ask = async (n) => {
  const answer = await fetch(url + '?find=' + n, { headers });
  await answer.arrayBuffer();
  counts[answer.status] = (counts[answer.status] ?? 0) + 1;
};
let n = 0;
const timer = setInterval(async () => {
  for (let each = 0; each < pages / 20; each++) asked.push(ask(n++).catch(() => undefined));
  if (n < pages * seconds) return;
  clearInterval(timer);
  await Promise.all(asked);
  parentPort.postMessage(counts);
}, 50);`;

test('200 different pages a second of 500 jobs hold up no heartbeat: how long the event loop was held up is told', async () => {
  const redis = await startRedis();
  await seed(redis.url, { jobs: 500, runs: 100, instances: 50, up: 50, scenario: 'all well' });
  const place = await site({ store: new RedisLockStore(redis.url) });
  await until(async () => (await statusOf(fetch(place.url, { headers: USER }))) === 200, {
    timeout: 60_000,
    message: 'the first page',
  });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const workerData = { url: place.url, headers: USER, pages: PAGES, seconds: SECONDS };
  const counts = await new Promise<Record<string, number>>((resolve, reject) =>
    new Worker(ASKING, { eval: true, workerData }).once('message', resolve).once('error', reject),
  );
  delay.disable();
  const [p50, p99, max] = [delay.percentile(50), delay.percentile(99), delay.max].map((time) => time / 1e6);
  told(
    `200 different pages a second of 500 jobs, for ${SECONDS} s: the loop was held up for ${p50?.toFixed(0)} ms (p50), ${p99?.toFixed(0)} ms (p99), ${max?.toFixed(0)} ms at most; answers ${JSON.stringify(counts)}`,
  );
  expect(Object.keys(counts).sort()).toEqual(['200', '503']);
  expect(max).toBeLessThan(HEARTBEAT);
  await place.close();
  await redis.stop();
}, 300_000);
