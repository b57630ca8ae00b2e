import { afterEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { SchedulerLock, SchedulerLockService } from '../../lib/index.js';
import { closeApps, type LogLines, startApp } from './app.js';

afterEach(closeApps);

const YEARLY = '0 0 1 1 *';

test('an application none of whose providers has a guarded method is told so, and which there are', async () => {
  class Forgotten {
    @SchedulerLock()
    async run(): Promise<void> {}
  }
  const app = await startApp([]);
  const [line] = app.logs.own.filter((text) => text.includes('Forgotten.run'));
  expect(line).toMatch(
    /^log: No method is guarded\. In no providers of this application, so never scheduled here: .*Forgotten\.run/,
  );
  expect(Forgotten.name).toBe('Forgotten');
});

test('a guarded class that is in no providers is named at the start', async () => {
  class Left {
    @SchedulerLock()
    async out(): Promise<void> {}
  }
  @Injectable()
  class Invoices {
    @SchedulerLock()
    async send(): Promise<void> {}
  }
  const app = await startApp([Invoices]);
  const [line] = app.logs.own.filter((text) => text.includes('Left.out'));
  expect(line).toMatch(
    /^log: 1 method runs on one instance .*\. In no providers of this application, so never scheduled here: /,
  );
  expect(line?.split('In no providers')[1]).not.toContain('Invoices.send');
  expect(Left.name).toBe('Left');
});

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
