import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { TestChild } from '../support/child.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { FreshApp } from './support/fresh-app.js';

// npm, a compiler and an application, on a machine that does other things as well.
jest.setTimeout(600_000);

let redis: RedisServer;

beforeAll(async () => {
  redis = await provideRedis();
});

afterAll(() => redis.stop());

const FROM_PAGE = { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' };

describe.each([
  ['nest11', '11.0.0'],
  ['nest12', '12.0.0'],
])('a fresh %s app that has the page', (fixture, version) => {
  let app: FreshApp;

  beforeAll(async () => {
    const packages = { '@nestjs/platform-fastify': `^${version}` };
    app = await FreshApp.install(fixture, 'page', packages);
  });

  afterAll(() => app?.remove());

  test('is compiled without the types of a browser, and with those of all its libraries checked', async () => {
    const { compilerOptions } = JSON.parse(await app.read('tsconfig.json')) as {
      compilerOptions: Record<string, unknown>;
    };
    expect(compilerOptions['lib']).toEqual(['es2023', 'esnext.disposable']);
    expect(compilerOptions).not.toHaveProperty('skipLibCheck');
    await app.compile();
  });

  test.each(['express', 'fastify'])(
    'shows it on %s to who may see it, and takes switches of who may use them',
    async (platform) => {
      const child: TestChild = await app.start('dist/main.js', {
        TEST_REDIS_URL: redis.url,
        TEST_KEY_PREFIX: uniquePrefix(`${fixture}-${platform}`),
        PLATFORM: platform,
      });
      try {
        const { url } = await child.next<{ type: string; url: string }>('page', 120_000);
        const asked = async (path: string, role: string | undefined, body?: object): Promise<string> => {
          const answer = await fetch(url + path, {
            headers: { ...(role !== undefined && { 'x-role': role }), ...(body && FROM_PAGE) },
            ...(body && { method: 'POST', body: JSON.stringify(body) }),
          });
          return `${answer.status} ${await answer.text()}`;
        };
        const pause = '/api/v1/jobs/pause';
        const post = { job: 'InvoiceJobs.send', reason: 'migration' };
        for (const path of ['', '?asset=board.js', '/api/v1/jobs', '/api/v1/locks'])
          expect(await asked(path, undefined)).toMatch(/^403 /);
        expect(await asked(pause, undefined, post)).toMatch(/^403 /);
        expect(await asked(pause, 'admin', post)).toMatch(/^403 /);
        expect(await asked('', 'admin')).toMatch(/^200 <!doctype html>.*InvoiceJobs\.send/s);
        expect(await asked(pause, 'operator', post)).toMatch(/^200 .*paused by operator/);
        expect(await asked('/api/v1/jobs', 'admin')).toMatch(/^200 .*"status":"paused"/);
      } finally {
        await child.kill();
      }
    },
  );
});
