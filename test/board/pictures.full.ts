import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';
import { fleet, NOW } from './support/fleet.js';
import { type Site, site, USER } from './support/site.js';
import { closeBrowser, hasBrowser, violationsOf, visitor } from './support/visitor.js';

/** The pictures of docs/observe/board.md, and that of the README. */
const FOLDER = join(projectRoot, 'docs', 'images');

let place: Site;
let isThere = false;

beforeAll(async () => {
  isThere = await hasBrowser('pictures of the page, and axe');
  const { store, clock } = await fleet();
  place = await site({ store, clock, board: { traceUrl: 'https://tempo.example/trace/{traceId}' } });
});

afterAll(async () => {
  await place.close();
  await closeBrowser();
});

describe.each(['light', 'dark'] as const)('%s', (look) => {
  test.each([
    ['overview', ''],
    ['job', '?job=InvoiceJobs.send'],
    ['answer', `?job=RefreshJobs.refresh&at=${Math.floor((NOW - 67 * 60_000) / 600_000) * 600_000}`],
  ])('the picture of the %s shows what it should, and axe finds nothing wrong', async (name, query) => {
    if (!isThere) return;
    const { page, complaints } = await visitor({ dark: look === 'dark', headers: USER });
    await page.goto(place.url + query);
    await page.waitForSelector('body[data-zone], #main .region');
    mkdirSync(FOLDER, { recursive: true });
    // What a person sees without scrolling.
    if (name === 'overview') await page.screenshot({ path: join(FOLDER, `board-top-${look}.png`) });
    await page.screenshot({ path: join(FOLDER, `board-${name}-${look}.png`), fullPage: true });
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
