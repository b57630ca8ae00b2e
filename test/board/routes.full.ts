import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VersioningType } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SchedulerLockBoardModule } from '../../lib/show/board/index.js';
import { MemoryLockStore } from '../../lib/index.js';
import type { KnownJob } from '../../lib/contract/history-store.js';
import { projectRoot } from '../support/machine.js';
import { type Fleet, fleet, JOBS, NOW } from './support/fleet.js';
import { PLATFORMS, type Site, site, USER, statusOf } from './support/site.js';

const ROUTES = [
  '',
  '?job=InvoiceJobs.send',
  '?asset=board.js',
  '?asset=board.css',
  '/api/v1/verdict',
  '/api/v1/jobs',
  '/api/v1/job?job=InvoiceJobs.send',
  '/api/v1/runs?job=InvoiceJobs.send',
  '/api/v1/why?job=InvoiceJobs.send',
  '/api/v1/instances',
  '/api/v1/locks',
];

test('these are all routes that the description of the JSON has', () => {
  const file = readFileSync(join(projectRoot, 'monitoring', 'board-api.json'), 'utf8');
  const { paths } = JSON.parse(file) as { paths: Record<string, { get?: object }> };
  const read = Object.keys(paths).filter((path) => paths[path]?.get !== undefined);
  const known = ROUTES.map((route) => route.replace(/\?.*/, ''));
  expect(read.filter((path) => !known.includes(`/api/v1${path}`))).toEqual([]);
});

const MEMBER = { instance: 'api-7f9c-x2kq', version: '1.5.0', startedAt: NOW - 95 * 60_000 };

describe.each(PLATFORMS)('on %s', (platform) => {
  let made: Fleet;
  let place: Site;
  beforeAll(async () => {
    made = await fleet();
    place = await site({ platform, store: made.store, clock: made.clock });
  });
  afterAll(() => place.close());

  test.each(ROUTES)(
    '%s is there for who passes the guard, with the policy of the page, and for nobody else',
    async (route) => {
      const found = await fetch(place.url + route, { headers: USER });
      await found.text();
      expect(found.status).toBe(200);
      expect(found.headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; /,
      );
      const refused = await fetch(place.url + route);
      expect(refused.status).toBe(403);
      expect(await refused.text()).not.toContain('InvoiceJobs');
    },
  );

  test('without `control` nothing takes a POST', async () => {
    for (const route of ['', '/api/v1/jobs/pause', '/api/v1/locks/break']) {
      const answer = await fetch(place.url + route, { method: 'POST', headers: USER });
      await answer.text();
      expect(answer.status).toBe(404);
    }
    expect(await (await fetch(`${place.url}?job=InvoiceJobs.send`, { headers: USER })).text()).not.toContain(
      'data-action',
    );
  });

  test('all links are relative, to where they stand', async () => {
    const body = await (await fetch(place.url, { headers: USER })).text();
    const links = [...body.matchAll(/(?:href|src|action)="([^"]*)"/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(50);
    expect(links.filter((link) => !/^[?#]|^data:image\/svg/.test(link))).toEqual([]);
  });

  test('a job with a name of 200 characters is reached, whatever they are', async () => {
    const name = `Räume/${'%&?#+ "ü'.repeat(24)}xy`;
    expect(name).toHaveLength(200);
    await made.beat({ ...MEMBER, jobs: [...JOBS, { ...JOBS[1], job: name, lock: name } as KnownJob] });
    await made.clock.advance(3_000);
    const job = encodeURIComponent(name);
    const asked = async (path: string): Promise<unknown> => {
      const answer = await fetch(place.url + path, { headers: USER });
      return [
        answer.status,
        answer.status === 200 && path !== `?job=${job}` ? await answer.json() : await answer.text(),
      ];
    };
    expect(await asked(`/api/v1/job?job=${job}`)).toEqual([
      200,
      expect.objectContaining({ job: expect.objectContaining({ job: name }) }),
    ]);
    expect(await asked(`/api/v1/runs?job=${job}&limit=1`)).toEqual([
      200,
      expect.objectContaining({ runs: [] }),
    ]);
    expect(await asked(`/api/v1/why?job=${job}`)).toEqual([
      200,
      expect.objectContaining({ why: expect.objectContaining({ job: name }) }),
    ]);
    expect(await asked(`?job=${job}`)).toEqual([200, expect.stringContaining('Räume/')]);
    expect(await asked('/api/v1/runs')).toEqual([400, expect.any(String)]);
  });

  test('what is not there is said to be so', async () => {
    expect(await statusOf(fetch(`${place.url}?job=Nobody.knows`, { headers: USER }))).toBe(404);
    expect(await statusOf(fetch(`${place.url}/api/v1/job?job=Nobody.knows`, { headers: USER }))).toBe(404);
    expect(await statusOf(fetch(`${place.url}/api/v1/why?job=Nobody.knows`, { headers: USER }))).toBe(404);
    const bad = await fetch(`${place.url}/api/v1/why?job=InvoiceJobs.send&at=yesterday`, { headers: USER });
    expect(bad.status).toBe(400);
    // It is the viewer who is wrong, and not the set-up.
    expect(await bad.json()).toEqual({
      error: expect.stringMatching(/^why\(\): at: 'yesterday' is no time/),
    });
    const limit = await fetch(`${place.url}/api/v1/runs?job=InvoiceJobs.send&limit=0`, { headers: USER });
    await limit.text();
    expect(limit.status).toBe(400);
  });

  test('a query that makes no sense leads to the page', async () => {
    for (const query of [
      '?zone=Mars/Olympus',
      '?hours=-1&skip=x',
      '?job=&at=12',
      `?find=${'x'.repeat(5_000)}`,
      '?at=99999999999999999',
    ])
      expect(await statusOf(fetch(place.url + query, { headers: USER }))).toBe(200);
  });

  test('a page of one job has its permanent links, and an answer for a tick', async () => {
    const body = await (
      await fetch(`${place.url}?job=InvoiceJobs.send&zone=Europe/Berlin`, { headers: USER })
    ).text();
    const [, at] = /job=InvoiceJobs\.send&amp;at=(\d+)/.exec(body) ?? [];
    const answer = await (
      await fetch(`${place.url}?job=InvoiceJobs.send&at=${at}&zone=Europe/Berlin`, { headers: USER })
    ).text();
    expect(answer).toMatch(/The tick of \d\d:00 ran on .*: started at \d\d:00/);
    expect(answer).toContain('+02:00');
  });
});

describe.each(PLATFORMS)('versions and prefixes on %s', (platform) => {
  test.each<[string, VersioningType]>([
    ['in the path', VersioningType.URI],
    ['in a media type', VersioningType.MEDIA_TYPE],
  ])('%s: the page stays where it is, without a prefix, too', async (_name, type) => {
    const place = await site({
      platform,
      store: new MemoryLockStore(),
      prefix: '',
      board: { path: 'jobs', guards: [] },
      prepare: (app) => {
        if (type === VersioningType.MEDIA_TYPE) app.enableVersioning({ type, key: 'v=' });
        else app.enableVersioning({ type: VersioningType.URI, defaultVersion: '2' });
      },
    });
    try {
      expect(await statusOf(fetch(place.url))).toBe(200);
      expect(await (await fetch(`${place.url}/api/v1/jobs`)).json()).toMatchObject({
        stale: false,
        jobs: expect.any(Array),
      });
    } finally {
      await place.close();
    }
  });
});

describe('options', () => {
  const problem = (options: unknown): string => {
    try {
      SchedulerLockBoardModule.forRoot(options as never);
    } catch (error) {
      return (error as Error).message;
    }
    return '';
  };

  test.each<[string, unknown, RegExp]>([
    ['none', undefined, /is no options/],
    ['no guards', { path: 'jobs' }, /guards: undefined is no list of guards.*\[\] says that a global guard/],
    ['a path that is none', { path: '', guards: [] }, /path: '' is no path/],
    ['an unknown name', { path: 'jobs', guards: [], guard: [] }, /guard/],
    [
      'switches without a person',
      { path: 'jobs', guards: [], control: { guards: [] } },
      /control\.actor: undefined is no function/,
    ],
    [
      'switches without guards',
      { path: 'jobs', guards: [], control: { actor: () => 'x' } },
      /control\.guards: undefined/,
    ],
    ['traces that are a script', { path: 'jobs', guards: [], traceUrl: 'javascript:{traceId}' }, /traceUrl/],
  ])('%s are refused', (_name, options, message) => {
    expect(problem(options)).toMatch(message);
  });
});
