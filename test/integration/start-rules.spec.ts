import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, Interval } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import {
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockModule,
  SchedulerLockService,
  type SchedulerLockModuleOptions,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, type TestApp } from './app.js';

const YEARLY = '0 0 1 1 *';

@Injectable()
class Mails {
  @Cron(YEARLY, { timeZone: 'UTC' })
  @SchedulerLock()
  async send(): Promise<void> {}
}

const warnings = ({ logs }: TestApp): string[] => logs.own.filter((line) => line.startsWith('warn: '));

const main = process.argv[1];
afterEach(async () => {
  await closeApps();
  jest.restoreAllMocks();
  process.argv[1] = main as string;
});

describe('an application that no runner of tests has started', () => {
  beforeEach(() => {
    process.argv[1] = '/srv/app/dist/main.js';
  });

  const HOOKS = expect.stringContaining('warn: Shutdown hooks are off');

  test('is told that nothing listens to SIGTERM, once, when main.ts has had the time to call enableShutdownHooks()', async () => {
    const clock = new ManualClock(Date.now());
    const app = await startApp([Mails], { store: 'memory', clock });
    expect(warnings(app)).toEqual([]);
    await clock.advance(60_000);
    expect(warnings(app)).toEqual([HOOKS]);
  });

  test('is told nothing if hooks are on, if it has been closed, or if nothing is guarded', async () => {
    const clock = new ManualClock(Date.now());
    const options = { store: 'memory', clock } as const;
    const closed = await startApp([Mails], options);
    await closed.close();
    const empty = await startApp([], options);
    await clock.advance(60_000);
    const hooked = await startApp([Mails], options);
    hooked.module.enableShutdownHooks();
    await clock.advance(60_000);
    expect([closed, empty, hooked].flatMap(warnings)).toEqual([]);
  });

  test('is told of jobs whose dates the zone of the process decides', async () => {
    const real = new Intl.DateTimeFormat().resolvedOptions();
    jest
      .spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions')
      .mockReturnValue({ ...real, timeZone: 'Europe/Berlin' });
    @Injectable()
    class Jobs {
      @Cron('0 3 * * *')
      @SchedulerLock()
      async nightly(): Promise<void> {}
      @Cron('@weekly')
      @SchedulerLock()
      async weekly(): Promise<void> {}
      @Cron('*/10 * * * *')
      @SchedulerLock()
      async often(): Promise<void> {}
      @Cron('30 0 * * * *')
      @SchedulerLock()
      async hourly(): Promise<void> {}
      @Cron('0 3 * * *', { utcOffset: 0 })
      @SchedulerLock()
      async offset(): Promise<void> {}
      @Cron(new Date(Date.now() + 86_400_000))
      @SchedulerLock()
      async once(): Promise<void> {}
      @Interval(60_000)
      @SchedulerLock()
      async interval(): Promise<void> {}
      @SchedulerLock()
      async byHand(): Promise<void> {}
    }
    class Made {
      constructor(private readonly locks: SchedulerLockService) {}
      onModuleInit(): void {
        this.locks.cron('made', '0 3 * * *', {}, async () => undefined);
      }
    }
    const made = {
      provide: Made,
      inject: [SchedulerLockService],
      useFactory: (locks: SchedulerLockService) => new Made(locks),
    };
    const app = await startApp([Jobs, Mails, made], { store: 'memory', clock: new ManualClock(Date.now()) });
    expect(warnings(app)).toEqual([
      'warn: The time zone of this process, Europe/Berlin, decides when Jobs.nightly, Jobs.weekly, made run. On an instance with another one they run ' +
        "at other times, too. Give each a timeZone, such as { timeZone: 'Europe/Berlin' }.",
    ]);
  });
});

test('in a test neither the signals nor the zone of the process are told of', async () => {
  const clock = new ManualClock(Date.now());
  const app = await startApp([Mails], { store: 'memory', clock });
  await clock.advance(60_000);
  expect(warnings(app)).toEqual([]);
});

test('a method with two schedules of one kind, one above and one below the lock, is told of', async () => {
  @Injectable()
  class Jobs {
    @Cron('0 3 * * *', { timeZone: 'UTC' })
    @SchedulerLock()
    @Cron('0 4 * * *', { timeZone: 'UTC' })
    async nightly(): Promise<void> {}
    @Interval(60_000)
    @SchedulerLock()
    @Interval(30_000)
    async often(): Promise<void> {}
  }
  const app = await startApp([Jobs, Mails]);
  expect(warnings(app)).toEqual([
    'warn: A method has one schedule, that of the decorator on top: Jobs.nightly is fired by @Cron(), not by another @Cron(); ' +
      'Jobs.often is fired by @Interval(), not by another @Interval(). Give the other schedule a method of its own.',
  ]);
});

test('all that is wrong at the start is told in one message, beside the one line of what is guarded', async () => {
  class Weak extends MemoryLockStore {
    async warning(): Promise<string> {
      return 'This store evicts locks.';
    }
  }
  @Injectable()
  class Jobs {
    @Cron('0 3 * * *', { timeZone: 'UTC' })
    @SchedulerLock('shared')
    @Cron('0 4 * * *', { timeZone: 'UTC' })
    async nightly(): Promise<void> {}
    @Interval(60_000)
    @SchedulerLock('shared')
    async often(): Promise<void> {}
  }
  const app = await startApp([Jobs, Mails], { store: new Weak() });
  expect(app.logs.own).toEqual([
    [
      'warn: 3 problems at the start:',
      '  - This store evicts locks.',
      '  - A method has one schedule, that of the decorator on top: Jobs.nightly is fired by @Cron(), not by another @Cron(). Give the other schedule a method of its own.',
      '  - Scheduled jobs share a lock: "shared" (Jobs.nightly, Jobs.often). Of two ticks at one time one is skipped as held, unless its job has wait or catchUp. ' +
        'Jobs that may run side by side need locks of their own.',
    ].join('\n'),
    expect.stringMatching(/^log: 3 scheduled jobs run on one instance at a time /),
  ]);
});

test.each([
  [10_000, '10 s behind'],
  [-75_000, '1.3 min ahead of'],
])(
  'an instance whose clock differs by %i ms from that of the store is told so at its start',
  async (ahead, text) => {
    const clock = new ManualClock(Date.now());
    const store = new MemoryLockStore({ clock: new ManualClock(clock.now() + ahead) });
    const app = await startApp([Mails], { store, clock });
    await until(() => warnings(app).length > 0);
    await clock.advance(600_000);
    expect(warnings(app)).toEqual([
      expect.stringContaining(`warn: The clock of this machine is ${text} that of the store`),
    ]);
  },
);

test('one whose clock differs by less is told nothing', async () => {
  const clock = new ManualClock(Date.now());
  const store = new MemoryLockStore({ clock: new ManualClock(clock.now() + 9_000) });
  const app = await startApp([Mails], { store, clock });
  await clock.advance(600_000);
  expect(warnings(app)).toEqual([]);
});

test('a store that is away at the start is told of by the logger of the testing module, too', async () => {
  const options: SchedulerLockModuleOptions = { connection: 'redis://127.0.0.1:9' };
  const errors = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  const module = await Test.createTestingModule({
    imports: [SchedulerLockModule.forRoot(options)],
    providers: [Mails],
  }).compile();
  await module.init();
  const said = errors.mock.calls.map(([text]) => String(text)).join('');
  await module.close();
  expect(said).toContain('The lock store is not available');
});
