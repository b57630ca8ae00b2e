import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';
import { DRAW } from './support/drawing.js';
import { fleet, NOW } from './support/fleet.js';
import { type Site, site, USER } from './support/site.js';
import { closeBrowser, hasBrowser, violationsOf, visitor } from './support/visitor.js';

/** To look at: they are too large for the package, and for the repository. */
const FOLDER = join(projectRoot, '.build', 'pictures');
/** The drawing of the page for the README and docs/observe/board.md. */
const DRAWING = join(projectRoot, 'docs', 'images', 'board.svg');
/** So much of the page is drawn, in pixels from its top: what needs attention, what changed, and the lanes of the instances. */
const DOWN_TO_LANES = 1_190;

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
    await page.screenshot({ path: join(FOLDER, `board-${name}-${look}.png`), fullPage: true });
    if (name === 'overview' && look === 'light') {
      await page.setViewportSize({ width: 1280, height: DOWN_TO_LANES });
      writeFileSync(DRAWING, await page.evaluate<string>(DRAW));
    }
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
