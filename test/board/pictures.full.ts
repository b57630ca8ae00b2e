/// <reference lib="dom" />
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';
import { DRAW } from './support/drawing.js';
import { MemoryLockStore } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';
import { type Fleet, fleet, HOUR, JOBS, MINUTE, NOW } from './support/fleet.js';
import { shown, staged } from './support/incidents.js';
import { type Site, site, USER } from './support/site.js';
import { closeBrowser, testInBrowser, violationsOf, visitor } from './support/visitor.js';

/** To look at: they are too large for the package, and for the repository. */
const FOLDER = join(projectRoot, '.build', 'pictures');
/**
 * The drawing of the page for the README and docs/observe/board.md: with PICTURES=1. Other fonts make another one, so otherwise it is made
 * elsewhere.
 */
const DRAWING = join(
  process.env['PICTURES'] === '1' ? join(projectRoot, 'docs', 'images') : FOLDER,
  'board.svg',
);
/** So much of the page is drawn, in pixels from its top: what needs attention, and the table with its strips. */
const DOWN_TO_TABLE = 1_150;
/** A picture of nothing, in this size, has less than 10 kB. */
const LEAST = 30_000;

let place: Site;
let large: Site;
const inBrowser = await testInBrowser('pictures of the page, and axe');

beforeAll(async () => {
  const { store, clock } = await fleet();
  place = await site({ store, clock, board: { traceUrl: 'https://tempo.example/trace/{traceId}' } });
  const at = NOW - MINUTE;
  const more = Array.from({ length: 300 - JOBS.length }, (_, n) => {
    const name = `TenantJobs.tenant${n}`;
    return { ...JOBS[n % JOBS.length]!, job: name, lock: name };
  });
  const worker = { instance: 'worker-300', version: '1.5.0', startedAt: at };
  const made = await fleet([{ at, happens: (each) => each.beat({ ...worker, jobs: [...JOBS, ...more] }) }]);
  large = await site({ store: made.store, clock: made.clock });
});

afterAll(async () => {
  await place.close();
  await large.close();
  await closeBrowser();
});

/** What has happened, in how many jobs, and what the first lines of the page say of it. */
const INCIDENTS: readonly [
  what: string,
  made: () => Promise<Pick<Fleet, 'store' | 'clock'>>,
  says: RegExp[],
][] = [
  ['a good day with 3 jobs', () => staged(3), [/^All 3 jobs are fine$/]],
  [
    'a night in which the store was away, with 30 jobs',
    () => staged(30, { outage: { from: NOW - 4 * HOUR, to: NOW - 3 * HOUR } }),
    [
      /^3 of 30 jobs need attention, 27 fine$/,
      /The store was away 16:17:30–17:17:30: 3 jobs missed a tick\./,
    ],
  ],
  [
    'a bad deploy, with 30 jobs',
    () => staged(30, { deploy: NOW - 61 * MINUTE }),
    [/^1\d of 30 jobs need attention/, /1\d jobs fail with the same error: TypeError/],
  ],
  [
    'a store that is away, with 30 jobs',
    async () => {
      const fleet = await staged(30);
      const { history } = fleet.store;
      const { instances } = history;
      let looks = 0;
      history.instances = (...given) => {
        if (looks++ > 0) throw new Error('connect ECONNREFUSED 10.0.0.7:6379');
        return instances.call(history, ...given);
      };
      return fleet;
    },
    [
      /^No job can start: Redis db:6379 does not answer since today/,
      /What is shown here is old: connect ECONN/,
    ],
  ],
  [
    'an empty store',
    async () => ({ store: new MemoryLockStore(), clock: new ManualClock(NOW) }),
    [/^No job is known$/, /No instance has been seen in the last 7 days here\. Is this the store/],
  ],
];

describe.each(INCIDENTS)('the picture of %s', (what, made, says) => {
  let page: Awaited<ReturnType<typeof shown>>;
  beforeAll(async () => {
    const fleet = await made();
    page = await shown(fleet);
    await (await fetch(page.address)).text();
    // Past the time for which one answer of the store serves all.
    await fleet.clock.advance(3_000);
  });
  afterAll(() => page.close());

  inBrowser.each([
    ['light', 1280],
    ['light', 390],
    ['dark', 1280],
    ['dark', 390],
  ] as const)('%s, %i pixels wide, says it in the first lines, and has no violation', async (look, width) => {
    const { page: tab, complaints } = await visitor({
      dark: look === 'dark',
      zone: 'UTC',
      size: { width, height: 900 },
    });
    await tab.goto(page.address);
    const [headline = /./, ...others] = says;
    expect(await tab.locator('.headline').innerText()).toMatch(headline);
    const first = await tab.locator('#main > section').evaluateAll((parts) =>
      parts
        .filter((part) => part.getBoundingClientRect().top < innerHeight)
        .map((part) => part.textContent)
        .join(' '),
    );
    for (const text of others) expect(first.replaceAll(/\s+/g, ' ')).toMatch(text);
    mkdirSync(FOLDER, { recursive: true });
    const name = what.replaceAll(/\W+/g, '-');
    await tab.screenshot({ path: join(FOLDER, `${name}-${look}-${width}.png`), fullPage: width === 1280 });
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await violationsOf(tab)).toEqual([]);
    expect(complaints).toEqual([]);
    await tab.context().close();
  });
});

describe.each(['light', 'dark'] as const)('%s', (look) => {
  inBrowser.each([1280, 390])('the picture of 300 jobs, %i pixels wide, has no violation', async (width) => {
    const { page, complaints } = await visitor({
      dark: look === 'dark',
      headers: USER,
      size: { width, height: 900 },
    });
    await page.goto(large.url);
    expect(await page.locator('.choices').innerText()).toContain('1–50 of 30');
    mkdirSync(FOLDER, { recursive: true });
    await page.screenshot({ path: join(FOLDER, `board-300-${look}-${width}.png`), fullPage: width === 1280 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  inBrowser.each([
    ['overview', ''],
    ['job', '?job=InvoiceJobs.send'],
    ['answer', `?job=RefreshJobs.refresh&at=${Math.floor((NOW - 67 * 60_000) / 600_000) * 600_000}`],
  ])('the picture of the %s shows what it should, and axe finds nothing wrong', async (name, query) => {
    const { page, complaints } = await visitor({ dark: look === 'dark', headers: USER });
    await page.goto(place.url + query);
    await page.waitForSelector('body[data-zone], #main .region');
    mkdirSync(FOLDER, { recursive: true });
    const picture = await page.screenshot({
      path: join(FOLDER, `board-${name}-${look}.png`),
      fullPage: true,
    });
    expect(picture.length).toBeGreaterThan(LEAST);
    if (name === 'overview' && look === 'light') {
      await page.setViewportSize({ width: 1280, height: DOWN_TO_TABLE });
      writeFileSync(DRAWING, await page.evaluate<string>(DRAW));
    }
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
