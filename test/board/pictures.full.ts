/// <reference lib="dom" />
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';
import { DRAW } from './support/drawing.js';
import { fleet, JOBS, MINUTE, NOW } from './support/fleet.js';
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
