import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';
import { fleet, NOW } from './support/fleet.js';
import { type Site, site, USER } from './support/site.js';
import { closeBrowser, testInBrowser, violationsOf, visitor } from './support/visitor.js';

/**
 * With PICTURES=1: those of docs/observe/board.md, and that of the README. Their bytes differ from run to run, so otherwise they are made
 * elsewhere, and only looked at.
 */
const isAsked = process.env['PICTURES'] === '1';
const FOLDER = isAsked
  ? join(projectRoot, 'docs', 'images')
  : mkdtempSync(join(tmpdir(), 'scheduler-lock-pictures-'));
/** A picture of nothing, in this size, has less than 10 kB. */
const LEAST = 30_000;

let place: Site;
const inBrowser = await testInBrowser('pictures of the page, and axe');

beforeAll(async () => {
  const { store, clock } = await fleet();
  place = await site({ store, clock, board: { traceUrl: 'https://tempo.example/trace/{traceId}' } });
});

afterAll(async () => {
  await place.close();
  await closeBrowser();
  if (!isAsked) rmSync(FOLDER, { recursive: true });
});

describe.each(['light', 'dark'] as const)('%s', (look) => {
  inBrowser.each([
    ['overview', ''],
    ['job', '?job=InvoiceJobs.send'],
    ['answer', `?job=RefreshJobs.refresh&at=${Math.floor((NOW - 67 * 60_000) / 600_000) * 600_000}`],
  ])('the picture of the %s shows what it should, and axe finds nothing wrong', async (name, query) => {
    const { page, complaints } = await visitor({ dark: look === 'dark', headers: USER });
    await page.goto(place.url + query);
    await page.waitForSelector('body[data-zone], #main .region');
    mkdirSync(FOLDER, { recursive: true });
    // What a person sees without scrolling.
    const pictures = [
      await page.screenshot({ path: join(FOLDER, `board-${name}-${look}.png`), fullPage: true }),
    ];
    if (name === 'overview')
      pictures.push(await page.screenshot({ path: join(FOLDER, `board-top-${look}.png`) }));
    for (const picture of pictures) expect(picture.length).toBeGreaterThan(LEAST);
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
