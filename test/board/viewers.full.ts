/// <reference lib="dom" />
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { MemoryLockStore } from '../../lib/index.js';
import { until } from '../support/until.js';
import { fleet, HOSTILE, JOBS, NOW } from './support/fleet.js';
import { PLATFORMS, type Site, site, USER } from './support/site.js';
import { closeBrowser, testInBrowser, violationsOf, visitor } from './support/visitor.js';

const inBrowser = await testInBrowser('what viewers of the page see');
let place: Site | undefined;
afterEach(async () => {
  await place?.close();
  place = undefined;
});
afterAll(closeBrowser);

/** A store that can be away, and says how often it was asked. */
class LostStore extends MemoryLockStore {
  asked = 0;
  lost: Error | undefined;

  constructor() {
    super();
    const instances = this.history.instances.bind(this.history);
    this.history.instances = (onUnreadable) => {
      this.asked++;
      return this.lost === undefined ? instances(onUnreadable) : Promise.reject(this.lost);
    };
  }
}

describe.each(PLATFORMS)('on %s', (platform) => {
  inBrowser('names, errors and instances that are HTML stay text', async () => {
    const job = { ...JOBS[1], job: HOSTILE, lock: 'hostile' } as (typeof JOBS)[number];
    const at = NOW - 5 * 60_000;
    const made = await fleet([
      {
        at,
        happens: async (made) => {
          const member = {
            instance: HOSTILE,
            version: HOSTILE,
            startedAt: at,
            leads: [HOSTILE],
            jobs: [job],
          };
          await made.beat(member);
          await (
            await made.start('RefreshJobs.refresh', undefined, HOSTILE)
          )('failed', 10, HOSTILE);
          await made.miss('RefreshJobs.refresh', at, HOSTILE, HOSTILE);
        },
      },
    ]);
    place = await site({
      platform,
      store: made.store,
      clock: made.clock,
      board: { traceUrl: '/t/{traceId}' },
    });
    for (const query of [
      '',
      `?job=${encodeURIComponent(HOSTILE)}`,
      '?job=RefreshJobs.refresh',
      `?find=${encodeURIComponent(HOSTILE)}`,
    ]) {
      const { page, context, complaints } = await visitor({ headers: USER });
      await page.goto(place.url + query);
      expect(await page.locator('main').innerText()).toContain('<img src=x');
      expect(await page.locator('img, main script').count()).toBe(0);
      expect(await page.title()).not.toBe('1');
      // A job that no instance has any more is answered with 404.
      expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
      await context.close();
    }
  });

  inBrowser('without a script all is there, times in UTC and in the zone that is asked for', async () => {
    const made = await fleet();
    place = await site({ platform, store: made.store, clock: made.clock });
    const { page, context } = await visitor({ headers: USER, script: false });
    await page.goto(place.url);
    expect(await page.locator('h2').allInnerTexts()).toEqual(['Needs attention']);
    expect(await page.locator('main > *').count()).toBe(6);
    expect(await page.locator('table[aria-label=Jobs] tbody tr').count()).toBe(12);
    expect(await page.locator('footer').innerText()).toContain('in UTC');
    await page.goto(`${place.url}?zone=Asia/Tokyo`);
    expect(await page.locator('footer').innerText()).toContain('in Asia/Tokyo');
    await page.getByRole('link', { name: 'InvoiceJobs.send' }).first().click();
    expect(await page.locator('#job').innerText()).toContain('SMTP 421');
    await context.close();
  });

  inBrowser(
    'a small window, dark, has no violation, nothing wider than itself, and no letters that are cut',
    async () => {
      const made = await fleet();
      place = await site({ platform, store: made.store, clock: made.clock });
      const { page, context } = await visitor({
        headers: USER,
        dark: true,
        size: { width: 390, height: 800 },
      });
      for (const query of ['', '?job=InvoiceJobs.send']) {
        await page.goto(place.url + query);
        expect(await violationsOf(page)).toEqual([]);
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
        const cut = await page.evaluate(() =>
          [...document.querySelectorAll('.headline, .status, .job, .sentence, .tabs a, .axis text, dd')]
            .filter(
              (each) =>
                each.getBoundingClientRect().right > innerWidth + 1 ||
                each.scrollWidth > each.clientWidth + 1,
            )
            .map((each) => `${each.className} ${each.textContent}`),
        );
        expect(cut.filter((text) => !text.startsWith('[object'))).toEqual([]);
      }
      await context.close();
    },
  );

  inBrowser('two people see the same jobs, each in their own zone, and both see what is new', async () => {
    const made = await fleet();
    place = await site({ platform, store: made.store, clock: made.clock });
    const [one, other] = [
      await visitor({ headers: USER, zone: 'Asia/Tokyo' }),
      await visitor({ headers: USER, zone: 'America/New_York' }),
    ];
    for (const { page } of [one, other]) await page.goto(place.url);
    await one.page.locator('footer', { hasText: 'in Asia/Tokyo' }).waitFor();
    await other.page.locator('footer', { hasText: 'in America/New_York' }).waitFor();
    const headline = ({ page }: typeof one): Promise<string> => page.locator('.headline').innerText();
    expect(await headline(one)).toBe(await headline(other));
    await made.beat({ instance: 'a-new-one', version: '1.6.0', startedAt: made.clock.now() });
    await made.clock.advance(3_000);
    for (const { page } of [one, other]) await page.locator('#instances', { hasText: 'a-new-one' }).waitFor();
    for (const { context, complaints } of [one, other]) {
      expect(complaints).toEqual([]);
      await context.close();
    }
  });

  inBrowser(
    'a lost store comes first and in red, with how old the page is, and the page comes back by itself',
    async () => {
      const store = new LostStore();
      place = await site({ platform, store });
      const { page, context } = await visitor({ headers: USER });
      await page.goto(place.url);
      await page.locator('.verdict.good').waitFor();
      store.lost = new Error('connect ECONNREFUSED redis://user:secret@10.0.0.1');
      await page.locator('.verdict.away').waitFor();
      expect(await page.locator('body.away').count()).toBe(1);
      expect(await page.title()).toBe('(!) Jobs');
      expect(await violationsOf(page)).toEqual([]);
      const text = await page.locator('#verdict').innerText();
      expect(text).toContain('No job can start: the memory of this process does not answer since today');
      expect(text).toContain('What is shown here is old: connect ECONNREFUSED');
      expect(text).not.toContain('secret');
      const api = await (await fetch(`${place.url}/api/v1/verdict`, { headers: USER })).json();
      expect(api).toMatchObject({ stale: true });
      store.lost = undefined;
      await page.locator('.verdict.good').waitFor();
      expect(await page.locator('body.away').count()).toBe(0);
      await context.close();
    },
  );

  inBrowser('a page whose application is gone says its age', async () => {
    place = await site({ platform, store: new MemoryLockStore() });
    const { page, context } = await visitor({ headers: USER });
    await page.clock.install();
    await page.goto(place.url);
    await page.locator('html.live').waitFor();
    await place.close();
    place = undefined;
    // The page's own clock: nobody has to wait.
    await page.clock.runFor(20_000);
    await page.locator('#notice', { hasText: /What you see is \d+ s old: no newer answer/ }).waitFor();
    expect(await page.locator('body.away').count()).toBe(1);
    await context.close();
  });
});

inBrowser(
  'the page renews itself in the zone of the viewer; the part under the pointer is held still',
  async () => {
    const store = new MemoryLockStore();
    place = await site({ store });
    const { page, context } = await visitor({ headers: USER, zone: 'America/New_York' });
    await page.goto(place.url);
    await page.locator('footer', { hasText: 'in America/New_York' }).waitFor();
    await page.locator('#instances summary').hover();
    const { history } = store;
    const beat = { every: 60_000, leads: [], catalogue: 'x', jobs: [], left: false };
    await history.beat({ ...beat, instance: 'a-new-one', startedAt: Date.now() });
    await page.locator('#verdict', { hasText: '2 instances up' }).waitFor();
    expect(await page.locator('#instances').innerText()).not.toContain('a-new-one');
    expect(await page.locator('#instances.held').count()).toBe(1);
    await page.locator('.headline').hover();
    await page.locator('#instances', { hasText: 'a-new-one' }).waitFor();
    await context.close();
  },
);

test('however many look at once, the store is asked once', async () => {
  const store = new LostStore();
  place = await site({ store });
  const { url } = place;
  await fetch(url, { headers: USER });
  store.asked = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: 50 }, () => fetch(url, { headers: USER }).then((answer) => answer.text())),
  );
  const rounds = Math.floor((performance.now() - started) / 2_000) + 1;
  expect(store.asked).toBeLessThanOrEqual(rounds);
});

test('a store that was away from the start: nothing is known, and nothing is called fine', async () => {
  const store = new LostStore();
  store.lost = new Error('away');
  place = await site({ store });
  const answer = await fetch(place.url, { headers: USER });
  expect(answer.status).toBe(503);
  const body = await answer.text();
  expect(body).toContain('Nothing is known');
  expect(body).not.toContain('fine');
  const { url } = place;
  store.lost = undefined;
  await until(async () => (await fetch(url, { headers: USER })).status === 200, { message: 'the page' });
});

test('a record that is broken does not take the others with it', async () => {
  const made = await fleet();
  const { history } = made.store;
  const entries = history.entries.bind(history);
  history.entries = async (query) =>
    (await entries(query)).map((entry) =>
      entry.type === 'run' && entry.job === 'InvoiceJobs.send'
        ? { ...entry, instance: null as never }
        : entry,
    );
  place = await site({ store: made.store, clock: made.clock });
  const body = await (await fetch(place.url, { headers: USER })).text();
  expect(body).toContain('CleanupJobs.sweep');
  expect(body).toContain('id="locks"');
});
