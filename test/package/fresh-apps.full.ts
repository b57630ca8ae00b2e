import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { TestChild } from '../support/child.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { redisCommand } from '../support/local-redis.js';
import { FreshApp } from './support/fresh-app.js';
import { withoutLateness } from './support/lateness.js';

// npm, a compiler and an application, on a machine that does other things as well.
jest.setTimeout(300_000);

/** The oldest and the newest versions that are supported. */
const apps = [
  {
    fixture: 'nest12',
    format: 'ESM',
    nest: /^12\./,
    schedule: /^12\./,
    ioredis: /^6\./,
    knowsDegraded: true,
  },
  {
    fixture: 'nest11',
    format: 'CommonJS',
    nest: /^11\./,
    schedule: /^5\./,
    ioredis: /^5\./,
    knowsDegraded: false,
  },
];

let redis: RedisServer;

beforeAll(async () => {
  redis = await provideRedis();
});

afterAll(() => redis.stop());

describe.each(apps)(
  'a fresh $fixture app ($format)',
  ({ fixture, format, nest, schedule, ioredis, knowsDegraded }) => {
    const prefix = uniquePrefix(fixture);
    let app: FreshApp;
    let child: TestChild;
    let result: Record<string, unknown>;

    beforeAll(async () => {
      app = await FreshApp.install(fixture, 'app');
      await app.compile();
      // Somebody else has the lock "held" for the whole time.
      await redisCommand(redis.url, 'SET', `${prefix}:held:lock`, 'somebody-else', 'PX', 3_600_000);
      child = await app.start('dist/main.js', { TEST_REDIS_URL: redis.url, TEST_KEY_PREFIX: prefix });
      result = await child.next('result', 120_000);
    });

    afterAll(async () => {
      await child?.kill();
      await app?.remove();
      await redisCommand(redis.url, 'DEL', `${prefix}:held:lock`, `{${prefix}:held:lock}:state`);
    });

    test('is compiled to its own module format, and has the versions it is about', async () => {
      expect(await app.read('dist/main.js')).toMatch(format === 'ESM' ? /^import / : /^"use strict"/);
      expect(await app.copies('@nestjs/schedule')).toEqual([expect.stringMatching(schedule)]);
      expect(await app.copies('ioredis')).toEqual([expect.stringMatching(ioredis)]);
    });

    test('has one copy of @nestjs/common', async () => {
      expect(await app.copies('@nestjs/common')).toEqual([expect.stringMatching(nest)]);
    });

    test('runs a job that the scheduler fires, under a lease in Redis', async () => {
      const fencingToken = expect.any(Number);
      const quick = { name: 'quick', job: 'QuickJob.run', fencingToken, aborted: false, ofWholeSecond: true };
      expect(result['quick']).toEqual(quick);
      expect(await redisCommand(redis.url, 'EXISTS', `{${prefix}:quick:lock}:state`)).toBe(1);
      expect(await redisCommand(redis.url, 'EXISTS', `${prefix}:quick:lock`)).toBe(0);
    });

    test('calls that the scheduler fires have a tick, and resolve when they are skipped, with onSkip "throw" too', () => {
      const skipped = (job: string) => ({ skipped: [job], ticked: [true], errors: [] });
      expect(result['scheduled']).toEqual({
        below: skipped('HeldJobs.below'),
        above: skipped('HeldJobs.above'),
        wrapped: skipped('HeldJobs.wrapped'),
        inherited: skipped('HeldJobs.inherited'),
        route: skipped('ReportsController.held'),
      });
    });

    test('calls by hand of the same methods have none, and reject', () => {
      const rejected = 'LOCK_NOT_ACQUIRED';
      expect(result['byHand']).toEqual({
        below: rejected,
        above: rejected,
        wrapped: rejected,
        inherited: rejected,
        'of a route': rejected,
        'by .call()': rejected,
        'in a bootstrap hook': rejected,
        'from a scheduled job': rejected,
        'with a tick': '0',
      });
    });

    test('a route that is a cron job too is called by hand, and a lock may be named by its arguments', () => {
      expect(result['http']).toEqual({
        '/reports/held': '409 LOCK_NOT_ACQUIRED',
        '/reports/7': '200 ran under report-7',
      });
    });

    test('refuses jobs of all kinds where they are not to run, and changes over when the leader resigns', async () => {
      const program = await app.start('dist/standby-jobs.js');
      expect(await program.next('result', 120_000)).toMatchObject({
        refused: { runs: [], active: true },
        after: { runs: [], active: true },
        twins: { inTime: true, first: [], second: ['twin-1'] },
      });
      await expect(program.ended()).resolves.toEqual({ code: 0, signal: null });
      expect(withoutLateness(program.stderr)).toBe('');
    });

    test('tells its health to Terminus, and its metrics to prom-client; OpenTelemetry may be without an SDK', async () => {
      const program = await app.start('dist/observed.js');
      const { health, metrics } = await program.next('result', 120_000);
      expect(health).toEqual({
        // Terminus 11 drops a word that it does not know, and the whole answer with it.
        degraded: knowsDegraded ? [200, 'degraded', 'away'] : [200, 'ok', null],
        up: [200, 'ok', 'away'],
        down: [503, 'error', 'away'],
      });
      expect(metrics).toEqual([
        'scheduler_lock_run_duration_seconds_count{scheduler_lock_job_name="import",scheduler_lock_run_outcome="completed"} 1',
        'scheduler_lock_skips_total{scheduler_lock_job_name="import",scheduler_lock_skip_reason="store-unavailable"} 1',
        'scheduler_lock_store_available 0',
      ]);
      await expect(program.ended()).resolves.toEqual({ code: 0, signal: null });
      expect(program.stderr).toBe('');
    });

    test('ends by itself after app.close(), without another warning', async () => {
      await expect(child.ended()).resolves.toEqual({ code: 0, signal: null });
      expect(withoutLateness(child.stderr)).toBe('');
      // All that the log says: the jobs that are to find their lock taken share it.
      const lines = child.stdout
        .split('\n')
        .filter((line) => !line.includes('Scheduled jobs share a lock: "held"'));
      expect(lines).toEqual(['']);
    });
  },
);
