import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { SchedulerLockService } from '../../lib/index.js';
import { closeApps, type LogLines, startApp } from './app.js';

afterEach(closeApps);

const YEARLY = '0 0 1 1 *';

const startLines = (logs: LogLines): string[] =>
  logs.own.filter((line) => line.includes('on one instance at a time'));

test('an application with dynamic jobs only gets its line at the start', async () => {
  @Injectable()
  class Tenants {
    constructor(private readonly locks: SchedulerLockService) {}
    onModuleInit(): void {
      for (const name of ['acme', 'umbrella']) this.locks.cron(name, YEARLY, () => undefined);
    }
  }
  const app = await startApp([Tenants]);
  expect(startLines(app.logs)).toEqual([
    expect.stringMatching(
      /^log: 2 scheduled jobs run on one instance at a time \(acme, umbrella\): this is instance /,
    ),
  ]);
});
