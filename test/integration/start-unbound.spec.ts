import { afterEach, expect, test } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { SchedulerLock, SchedulerLockModule, SchedulerLockService } from '../../lib/index.js';
import { closeApps, LogLines, startApp } from './app.js';

const open = new Set<TestingModule>();

afterEach(async () => {
  await closeApps();
  for (const module of open) await module.close();
  open.clear();
});

const YEARLY = '0 0 1 1 *';

test('an application none of whose providers has a guarded method is told so, and which there are', async () => {
  class Forgotten {
    @SchedulerLock()
    async run(): Promise<void> {}
  }
  const app = await startApp([]);
  const [line] = app.logs.own.filter((text) => text.includes('Forgotten.run'));
  expect(line).toMatch(
    /^warn: \d+ methods? (is|are) guarded by @SchedulerLock\(\), and none is bound: .*Forgotten\.run/,
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

test('a class that two modules provide is told of at the start: the scheduler fires it twice', async () => {
  @Injectable()
  class Mails {
    @Cron(YEARLY)
    @SchedulerLock()
    async send(): Promise<void> {}
    @SchedulerLock()
    async byHand(): Promise<void> {}
  }
  @Module({ providers: [Mails] })
  class Billing {}
  @Module({ providers: [Mails] })
  class Shop {}
  const logs = new LogLines();
  const module = await Test.createTestingModule({
    imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRoot({ store: 'memory' }), Billing, Shop],
  })
    .setLogger(logs)
    .compile();
  open.add(module);
  await module.init();
  expect(logs.own.filter((line) => line.startsWith('warn'))).toEqual([
    'warn: The scheduler fires the same method of several instances: Mails.send (2 instances, of Billing and Shop). Each tick runs on one of them only. ' +
      'Let one module provide the class and export it, and the others import that module.',
  ]);
});
