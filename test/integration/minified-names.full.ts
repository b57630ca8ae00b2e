import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, type Type } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { SchedulerLock } from '../../lib/index.js';
import { closeApps, startApp } from './app.js';

afterEach(closeApps);

/** A class of a name of its bundler's. */
function named(name: string, options: { job?: string; name?: string } = {}): Type {
  @Injectable()
  class Jobs {
    @Interval(3_600_000)
    @SchedulerLock(options)
    async report(): Promise<void> {}
    @SchedulerLock(options.job === undefined ? options : { ...options, job: `${options.job}:again` })
    async again(): Promise<void> {}
  }
  Object.defineProperty(Jobs, 'name', { value: name });
  return Jobs;
}

/** What the start warns of. */
async function warnings(...jobs: Type[]): Promise<string[]> {
  const app = await startApp(jobs);
  return app.logs.own.filter((line) => line.startsWith('warn: ') && line.includes('minified'));
}

describe('jobs of minified classes', () => {
  it('are warned of at the start, once, with what to do', async () => {
    expect(await warnings(named('r'), named('t$'), named('Reports'))).toEqual([
      'warn: These jobs seem to be called after minified classes: r.report, r.again, t$.report, t$.again. The next build may call them ' +
        'otherwise: then their last runs are forgotten, and while both versions run, locks without a `name` do not exclude each other. ' +
        "Give each a job: '…', or have the bundler keep the names of classes.",
    ]);
  });

  it('are warned of though their lock has a name: their last runs are kept by the job', async () => {
    expect(await warnings(named('r', { name: 'report' }))).toEqual([
      expect.stringContaining('minified classes: r.report, r.again.'),
    ]);
  });

  it.each([
    ['with a job of their own', named('r', { job: 'reports' })],
    ['of classes that people have named', named('Job')],
  ])('are not: those %s', async (_what, jobs) => {
    expect(await warnings(jobs)).toEqual([]);
  });
});
