/// <reference lib="dom" />
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { type CanActivate, type ExecutionContext, Injectable, Module } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { MemoryLockStore, SchedulerLock } from '../../lib/index.js';
import { processOf } from '../../lib/contract/line.js';
import { until } from '../support/until.js';
import type { KnownJob } from '../../lib/contract/history-store.js';
import { fleet, JOBS, NOW } from './support/fleet.js';
import { PLATFORMS, type Platform, type Site, site, statusOf, USER } from './support/site.js';
import { closeBrowser, testInBrowser, violationsOf, visitor } from './support/visitor.js';

/** Of those who may see the page, only operators may use its switches. */
@Injectable()
class OperatorGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, unknown> }>();
    return headers['x-role'] === 'operator';
  }
}

const OPERATOR = { ...USER, 'x-role': 'operator' };
const JSON_BODY = { 'content-type': 'application/json' };
const SAME = { 'sec-fetch-site': 'same-origin' };
const actor = (request: never): string =>
  (request as { headers: Record<string, string> }).headers['x-user'] ?? '';

const inBrowser = await testInBrowser('the switches of the page');
let place: Site | undefined;
afterEach(async () => {
  await place?.close();
  place = undefined;
});
afterAll(closeBrowser);

async function opened(platform: Platform): Promise<{ url: string; made: Awaited<ReturnType<typeof fleet>> }> {
  const made = await fleet();
  place = await site({
    platform,
    store: made.store,
    clock: made.clock,
    board: { control: { guards: [OperatorGuard], actor } },
  });
  return { url: place.url, made };
}

const ACTIONS: readonly [path: string, body: object][] = [
  ['jobs/pause', { job: 'RefreshJobs.refresh', reason: 'migration', for: '1h' }],
  ['jobs/resume', { job: 'RefreshJobs.refresh' }],
  ['jobs/run', { job: 'housekeeping' }],
  ['locks/break', { lock: 'ExportJobs.warehouse', reason: 'stuck', fencingToken: 1 }],
  ['locks/redeliver', { lock: 'WebhookJobs.deliver' }],
  ['jobs/forget', { job: 'housekeeping', reason: 'it is gone' }],
];

describe.each(PLATFORMS)('on %s', (platform) => {
  test('each switch needs both guards, the page itself as its origin, and JSON', async () => {
    const { url, made } = await opened(platform);
    const post = (path: string, headers: Record<string, string>, body: object): Promise<Response> =>
      fetch(`${url}/api/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const before = JSON.stringify(await made.store.inspect());
    for (const [path, body] of ACTIONS) {
      expect((await post(path, { ...JSON_BODY, ...SAME }, body)).status).toBe(403);
      expect((await post(path, { ...JSON_BODY, ...SAME, ...USER }, body)).status).toBe(403);
      expect((await post(path, { ...JSON_BODY, ...SAME, 'x-role': 'operator' }, body)).status).toBe(403);
      for (const from of ['cross-site', 'same-site', 'none'])
        expect((await post(path, { ...JSON_BODY, ...OPERATOR, 'sec-fetch-site': from }, body)).status).toBe(
          403,
        );
      const bare = await post(path, { ...JSON_BODY, ...OPERATOR, 'sec-fetch-site': '' }, body);
      expect(bare.status).toBe(403);
      expect((await post(path, { ...OPERATOR, ...SAME, 'content-type': 'text/plain' }, body)).status).toBe(
        415,
      );
    }
    expect(JSON.stringify(await made.store.inspect())).toBe(before);
  });

  test('pause, resume and break say what became of them, by whom, and are on record', async () => {
    const { url, made } = await opened(platform);
    const post = async (
      path: string,
      body: object,
    ): Promise<{ status: number; answer: Record<string, unknown> }> => {
      const answer = await fetch(`${url}/api/v1/${path}`, {
        method: 'POST',
        headers: { ...JSON_BODY, ...OPERATOR, ...SAME },
        body: JSON.stringify(body),
      });
      return { status: answer.status, answer: (await answer.json()) as Record<string, unknown> };
    };
    const paused = await post('jobs/pause', { job: 'RefreshJobs.refresh', reason: 'migration', for: '1h' });
    expect(paused).toMatchObject({
      status: 200,
      answer: { result: 'paused', sentence: expect.stringContaining('paused by ada@example.com') },
    });
    expect(await post('jobs/pause', { job: 'RefreshJobs.refresh', reason: 'again' })).toMatchObject({
      status: 409,
      answer: { result: 'paused-already' },
    });
    expect(await post('jobs/resume', { job: 'RefreshJobs.refresh' })).toMatchObject({
      status: 200,
      answer: { result: 'resumed' },
    });
    expect(await post('jobs/resume', { job: 'RefreshJobs.refresh' })).toMatchObject({
      status: 409,
      answer: { result: 'not-paused' },
    });
    const [lock] = await made.store.inspect(['ExportJobs.warehouse']);
    expect(
      await post('locks/break', { lock: 'ExportJobs.warehouse', reason: 'stuck', fencingToken: 1 }),
    ).toMatchObject({ status: 409, answer: { result: 'gone' } });
    expect(
      await post('locks/break', {
        lock: 'ExportJobs.warehouse',
        reason: 'stuck',
        fencingToken: lock?.fencingToken,
      }),
    ).toMatchObject({ status: 200, answer: { result: 'broken' } });
    expect((await post('jobs/pause', { job: 'RefreshJobs.refresh' })).status).toBe(400);
    expect((await post('jobs/pause', { job: 'Nobody.knows', reason: 'x' })).status).toBe(404);
    expect((await post('jobs/explode', { job: 'RefreshJobs.refresh' })).status).toBe(404);
    await made.clock.advance(3_000);
    const acts = async (job: string): Promise<string> =>
      (await (await fetch(`${url}?job=${job}`, { headers: USER })).text()).replaceAll(/<[^>]*>/g, '');
    expect(await acts('RefreshJobs.refresh')).toContain('ada@example.com paused it (migration)');
    expect(await acts('ExportJobs.warehouse')).toContain('ada@example.com ended its lease (stuck)');
  });

  test('a job that no instance has any more is forgotten, one that is up is not', async () => {
    const { url, made } = await opened(platform);
    const old = { ...JOBS[1], job: 'OldJobs.sweep', lock: 'OldJobs.sweep' } as KnownJob;
    await made.beat({ instance: 'old-1', version: '0.9.0', startedAt: NOW - 95 * 60_000, jobs: [old] });
    await made.clock.advance(10 * 60_000);
    await made.beat({
      instance: 'api-7f9c-x2kq',
      version: '1.5.0',
      startedAt: NOW - 95 * 60_000,
      jobs: JOBS,
    });
    const page = async (query: string): Promise<string> =>
      (await fetch(url + query, { headers: USER })).text();
    const forget = (job: string): Promise<Response> =>
      fetch(`${url}/api/v1/jobs/forget`, {
        method: 'POST',
        headers: { ...JSON_BODY, ...OPERATOR, ...SAME },
        body: JSON.stringify({ job, reason: 'it is gone' }),
      });
    expect(await page('?job=OldJobs.sweep')).toContain('data-action="api/v1/jobs/forget"');
    expect(await page(`?job=${JOBS[1]?.job}`)).not.toContain('data-action="api/v1/jobs/forget"');
    expect(await page('')).toContain('OldJobs.sweep');
    expect(await statusOf(forget(String(JOBS[1]?.job)))).toBe(409);
    expect(await statusOf(forget('OldJobs.sweep'))).toBe(200);
    await made.clock.advance(3_000);
    expect(await page('')).not.toContain('OldJobs.sweep');
    const gone = await page('?job=OldJobs.sweep');
    expect(gone).toContain('It is forgotten since');
    expect(gone).not.toContain('jobs/forget');
    expect(gone.replaceAll(/<[^>]*>/g, '')).toContain('ada@example.com had it forgotten (it is gone)');
  });

  test('a name of 200 characters is that of a lock or a job as any other, in the body', async () => {
    const { url, made } = await opened(platform);
    const name = `${'%/é?'.repeat(49)}last`;
    const member = { instance: 'api-7f9c-x2kq', version: '1.5.0', startedAt: NOW - 95 * 60_000 };
    await made.beat({ ...member, jobs: [...JOBS, { ...JOBS[1], job: name, lock: name } as KnownJob] });
    const post = (action: string, body: object): Promise<Response> =>
      fetch(`${url}/api/v1/${action}`, {
        method: 'POST',
        headers: { ...JSON_BODY, ...OPERATOR, ...SAME },
        body: JSON.stringify(body),
      });
    expect(await statusOf(post('jobs/pause', { job: name, reason: 'migration' }))).toBe(200);
    expect((await made.store.inspect([name]))[0]?.paused).toMatchObject({
      actor: 'ada@example.com',
      reason: 'migration',
    });
    expect(await statusOf(post('jobs/resume', { job: name }))).toBe(200);
    expect(await statusOf(post('locks/break', { lock: name, reason: 'x', fencingToken: 1 }))).toBe(409);
    expect(await statusOf(post('jobs/resume', {}))).toBe(400);
    expect(await statusOf(post('jobs/explode', { job: name }))).toBe(404);
  });

  test('who waits in line is shown, since when, and a pause names the run that goes on', async () => {
    const { url, made } = await opened(platform);
    const { store } = made;
    const name = 'ExportJobs.warehouse';
    const [held] = await store.inspect([name]);
    // It holds on while others wait.
    await store.extend([
      { name, token: held?.token ?? '', ttl: 3_600_000, holder: '', fencingToken: held?.fencingToken ?? 0 },
    ]);
    const wait = { limit: 60_000, priority: 0, process: processOf('worker-1') };
    await store.acquire({ name, token: 'waits', ttl: 30_000, holder: 'worker-1', wait });
    const text = async (query: string): Promise<string> => {
      const body = await (await fetch(url + query, { headers: USER })).text();
      return body.replaceAll(/<[^>]*>/g, '');
    };
    const line = /worker-1, since today 20:17:30/;
    expect(await text('')).toMatch(line);
    const asked = await fetch(`${url}/api/v1/jobs/pause`, {
      method: 'POST',
      headers: { ...JSON_BODY, ...OPERATOR, ...SAME },
      body: JSON.stringify({ job: name, reason: 'migration', for: '1h' }),
    });
    const answer = await asked.json();
    expect(answer).toMatchObject({ result: 'paused', running: { holder: 'api-7f9c-m8vd' } });
    const job = await text(`?job=${name}`);
    expect(job).toMatch(line);
    expect(job).toContain('Paused by ada@example.com until');
  });

  test('JSON never tells the token of a lease, with which one could end it', async () => {
    const { url } = await opened(platform);
    const locks = (await (await fetch(`${url}/api/v1/locks`, { headers: USER })).json()) as {
      locks: object[];
    };
    expect(locks.locks.length).toBeGreaterThan(5);
    expect(locks.locks.filter((lock) => 'token' in lock)).toEqual([]);
  });

  inBrowser(
    'a person pauses a job in a browser, sees it paused, and resumes it; a viewer gets 403',
    async () => {
      const { url, made } = await opened(platform);
      const { page, context, complaints } = await visitor({ headers: OPERATOR });
      await page.goto(`${url}?job=RefreshJobs.refresh`);
      expect(await violationsOf(page)).toEqual([]);
      await page
        .locator('#switches form', { hasText: 'Pause' })
        .getByLabel('Reason')
        .fill('<b>migration</b>');
      await page.getByRole('button', { name: 'Pause' }).click();
      await page.locator('#done', { hasText: 'paused by ada@example.com' }).waitFor();
      await made.clock.advance(3_000);
      await page.locator('#done').hover();
      await page.evaluate(() => (document.activeElement as { blur?: () => void } | null)?.blur?.());
      await page.locator('#job .status', { hasText: 'paused' }).waitFor();
      expect(await page.locator('#job b').count()).toBe(0);
      expect(await violationsOf(page)).toEqual([]);
      await page.getByRole('button', { name: 'Resume' }).click();
      await page.locator('#done', { hasText: 'It is resumed' }).waitFor();
      expect(complaints).toEqual([]);
      await context.close();
      const other = await visitor({ headers: USER });
      await other.page.goto(`${url}?job=RefreshJobs.refresh`);
      await other.page.locator('#switches form', { hasText: 'Pause' }).getByLabel('Reason').fill('x');
      await other.page.getByRole('button', { name: 'Pause' }).click();
      await other.page.locator('#done', { hasText: 'Forbidden' }).waitFor();
      await other.context.close();
    },
  );

  inBrowser(
    'a person runs a job, through its pause too, breaks a lock and puts dead letters back',
    async () => {
      const { url, made } = await opened(platform);
      await made.dead('WebhookJobs.deliver', 2);
      const { page, context, complaints } = await visitor({ headers: OPERATOR });
      const open = async (job: string): Promise<void> => void (await page.goto(`${url}?job=${job}`));
      const form = (name: string) =>
        page.locator('#switches form', { has: page.getByRole('button', { name, exact: true }) }).first();
      /** Uses a switch, and waits until the page says what became of it. */
      const use = async (name: string, says: RegExp | string, reason = 'because'): Promise<void> => {
        await form(name).getByLabel('Reason').fill(reason);
        await form(name).getByRole('button').click();
        await page.locator('#done', { hasText: says }).waitFor();
      };
      await open('HousekeepingJobs.tidy');
      await use('Run now', /It (runs|ran) on api-7f9c-q1zz/);
      await use('Pause', 'paused by ada@example.com');
      await open('HousekeepingJobs.tidy');
      await use('Run now', 'Not started: it is paused by ada@example.com');
      await form('Run now').getByLabel('through the pause').check();
      const used = use('Run now', /It (runs|ran) on/);
      let isTold = false;
      void used.finally(() => (isTold = true)).catch(() => undefined);
      await until(
        async () => {
          await made.clock.advance(50);
          return isTold;
        },
        { timeout: 30_000, message: 'the run' },
      );
      await used;
      expect((await made.store.inspect(['HousekeepingJobs.tidy']))[0]).toHaveProperty('paused');
      await open('ExportJobs.warehouse');
      await use('Break its lock', 'Ended the lease of api-7f9c-m8vd', 'it hangs');
      await open('WebhookJobs.deliver');
      // Where the focus is, the page leaves the part as it is.
      await form('Put back').getByLabel('dead letters').focus();
      await form('Put back').getByLabel('dead letters').selectOption({ index: 1 });
      await use('Put back', 'Put 1 dead letter of the lock WebhookJobs.deliver back');
      await open('WebhookJobs.deliver');
      await use('Put back', 'Put 1 dead letter of the lock WebhookJobs.deliver back');
      // What a browser notes of the answer that the job is paused.
      expect(complaints.filter((text) => !text.includes('409'))).toEqual([]);
      await context.close();
    },
  );
});

/** Longer than the answer of the page waits for the end of a run. */
const LONG = 5_500;

@Injectable()
class LongJobs {
  @Cron('0 0 1 1 *')
  @SchedulerLock({ name: 'long' })
  async export(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, LONG));
    throw new Error('SMTP 421');
  }
}

@Module({ providers: [LongJobs] })
class LongModule {}

inBrowser.each(PLATFORMS)(
  'on %s, by the clock of the machine, a person runs a job that takes long: the page says that it runs, and then how it has ended',
  async (platform) => {
    place = await site({
      platform,
      store: new MemoryLockStore(),
      board: { control: { guards: [OperatorGuard], actor } },
      imports: [LongModule],
    });
    const { page, context, complaints } = await visitor({ headers: OPERATOR });
    await page.goto(`${place.url}?job=LongJobs.export`);
    await page.getByRole('button', { name: 'Run now' }).click();
    const done = page.locator('#done');
    await done.filter({ hasText: /^It runs on api-7f9c-q1zz, with fencing token \d+\.$/ }).waitFor();
    await done
      .filter({
        hasText:
          /It ran on api-7f9c-q1zz: started by ada@example.com at .*, failed after \d+(\.\d+)? s \(.*SMTP 421\)/,
      })
      .waitFor();
    await page.locator('#job', { hasText: 'failing' }).waitFor();
    await done.hover();
    await page.evaluate(() => (document.activeElement as { blur?: () => void } | null)?.blur?.());
    await page.locator('#acts', { hasText: 'ada@example.com ran it' }).waitFor();
    expect(complaints).toEqual([]);
    await context.close();
  },
);

test('where a browser does not say where a request comes from, as over plain HTTP, its origin does', async () => {
  const { url } = await opened('express');
  const { host } = new URL(url);
  const { request } = await import('node:http');
  // Unlike fetch(), this one sends no `Sec-Fetch-Site` of its own.
  const post = (headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) =>
      request(
        `${url}/api/v1/jobs/resume`,
        { method: 'POST', headers: { ...JSON_BODY, ...OPERATOR, ...headers } },
        (answer) => {
          answer.resume();
          resolve(answer.statusCode);
        },
      )
        .on('error', reject)
        .end('{"job":"RefreshJobs.refresh"}'),
    );
  expect(await post({})).toBe(403);
  for (const origin of ['http://evil.example', 'null', `http://${host}.evil.example`, 'http://127.0.0.1:1'])
    expect(await post({ origin })).toBe(403);
  expect(await post({ origin: `http://${host}`, 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await post({ origin: `http://${host}` })).toBe(409);
});
