import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Cron, CronExpression, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  LeaderElection,
  SchedulerLock,
  SchedulerLockConfigError,
  SchedulerLockModule,
  type SchedulerLockModuleOptions,
  SchedulerLockService,
} from '../../lib/index.js';
import { closeApps, startApp, startFailure, startModule, type TestApp } from './app.js';

afterEach(closeApps);

const NIGHTLY = '0 0 3 * * *';
const nothing = (): void => undefined;

@Injectable()
class Jobs {
  @Cron(NIGHTLY, { name: 'named' })
  @SchedulerLock({ name: 'invoices', job: 'Jobs.invoices' })
  async invoices(): Promise<void> {}

  @Interval('poll', 60_000)
  poll(): void {}
}

@Injectable()
@LeaderElection('feed')
class Feed {
  onElected(): void {}
  onRevoked(): void {}
}

const locksOf = (app: TestApp): SchedulerLockService => app.get(SchedulerLockService);

/** What is wrong with a call, as it says itself. */
function problemsOf(call: () => unknown): readonly string[] {
  try {
    call();
  } catch (error) {
    if (error instanceof SchedulerLockConfigError) return error.problems;
    throw error;
  }
  return [];
}

test('all that is wrong with the options of a cron job is said in one error, and nothing is made', async () => {
  const app = await startApp([]);
  const options = { ttl: '1y', lokc: 'x', timeZone: 'Mars/Olympus', rerun: -1, initialDelay: '1s' };
  const problems = problemsOf(() => locksOf(app).cron('a{b}', '61 * * * * *', options as object, 5 as never));
  expect(problems).toEqual(
    [
      /lokc: /,
      /initialDelay: there is no such option here/,
      /name: "a{b}" is not valid: it holds "{", "}" or a control character\.$/,
      /5 is no function\. Give the job to run\.$/,
      /ttl: '1y' /,
      /rerun: -1 /,
    ].map(({ source }) => expect.stringMatching(`^cron\\("a{b}"\\): ${source}`)),
  );
  expect([...app.get(SchedulerRegistry).getCronJobs()]).toEqual([]);
});

test('all that is wrong with the options of an interval is said in one error, and nothing is made', async () => {
  const app = await startApp([]);
  const problems = problemsOf(() =>
    locksOf(app).interval('poll', 0, { catchUp: '1h', lock: '' } as object, nothing),
  );
  expect(problems).toEqual(
    [/catchUp: /, /lock: "" is not valid: it is empty\.$/, /every: 0 /].map(({ source }) =>
      expect.stringMatching(`^interval\\(poll\\): ${source}`),
    ),
  );
  expect(app.get(SchedulerRegistry).getIntervals()).toEqual([]);
});

test.each([
  [
    'an interval that Node cannot keep',
    (locks: SchedulerLockService) => locks.interval('a', '25d', nothing),
    /every: '25d' is out of range. Give 1 ms to 24 days/,
  ],
  [
    'an interval of nothing',
    (locks: SchedulerLockService) => locks.interval('a', undefined as never, nothing),
    /every: NaN is /,
  ],
  [
    'an expression that is none',
    (locks: SchedulerLockService) => locks.cron('a', undefined as never, nothing),
    /expression: cron cannot make a job of undefined/,
  ],
  [
    'a zone that is none',
    (locks: SchedulerLockService) => locks.cron('a', '61 * * * * *', { timeZone: 'Mars/Olympus' }, nothing),
    /expression: cron cannot make a job of '61 \* \* \* \* \*', timeZone 'Mars\/Olympus': ./,
  ],
  [
    'both zone and offset',
    (locks: SchedulerLockService) =>
      locks.cron('a', NIGHTLY, { timeZone: 'UTC', cron: { utcOffset: 60 } }, nothing),
    /expression: cron cannot make a job of .*: You can't specify both/,
  ],
  [
    'a date that has passed',
    (locks: SchedulerLockService) => locks.cron('a', new Date(1), nothing),
    /expression: cron cannot make a job of .*1970.*past/,
  ],
  [
    'an identity beside its name',
    (locks: SchedulerLockService) => locks.cron('a', NIGHTLY, { job: 'b' } as object, nothing),
    /job: there is no such option here. There are .*\block, /,
  ],
  [
    'a parameter of cron among the options of the lock',
    (locks: SchedulerLockService) => locks.cron('a', NIGHTLY, { waitForCompletion: true } as object, nothing),
    /waitForCompletion: there is no such option here. There are .*\bcron\b/,
  ],
  [
    'a parameter that cron does not have',
    (locks: SchedulerLockService) =>
      locks.cron('a', NIGHTLY, { cron: { runOnInit: true } } as object, nothing),
    /cron.runOnInit: there is no such option here/,
  ],
  ['no function', (locks: SchedulerLockService) => locks.cron('a', NIGHTLY, {} as never), /is no function/],
  [
    'a name that is a number',
    (locks: SchedulerLockService) => locks.cron(7 as never, NIGHTLY, nothing),
    /name: \(number\) is not valid: expected a string/,
  ],
])('%s is an error, and nothing is made', async (_, call, message) => {
  const app = await startApp([]);
  expect(problemsOf(() => call(locksOf(app)))).toEqual([expect.stringMatching(message)]);
  const registry = app.get(SchedulerRegistry);
  expect([...registry.getCronJobs().keys(), ...registry.getIntervals()]).toEqual([]);
});

describe('what another job has already is an error:', () => {
  test.each([
    [
      'the name of a cron job in the registry',
      (locks: SchedulerLockService) => locks.cron('named', NIGHTLY, nothing),
      'cron(named): name: the registry has a cron job of this name already.',
    ],
    [
      'the name of an interval in the registry',
      (locks: SchedulerLockService) => locks.interval('poll', 1_000, nothing),
      'interval(poll): name: the registry has an interval of this name already.',
    ],
    [
      'the identity of a decorated job',
      (locks: SchedulerLockService) => locks.cron('Jobs.invoices', NIGHTLY, nothing),
      'cron(Jobs.invoices): job: "Jobs.invoices" is a job already, and they would share their ticks. Give one of them another name.',
    ],
    [
      'the lock of an election',
      (locks: SchedulerLockService) => locks.cron('a', NIGHTLY, { lock: 'feed' }, nothing),
      'cron(a): lock: "feed" is the lock of an election. Give the job another lock.',
    ],
  ])('%s', async (_, call, message) => {
    const app = await startApp([Jobs, Feed]);
    expect(problemsOf(() => call(locksOf(app)))).toEqual([message]);
  });

  test('the identity of another dynamic job, unless that was deleted', async () => {
    const app = await startApp([]);
    const [locks, registry] = [locksOf(app), app.get(SchedulerRegistry)];
    locks.cron('report', NIGHTLY, nothing);
    const again = (): unknown => locks.interval('report', '1h', nothing);
    const message =
      'interval(report): job: "report" is a job already, and they would share their ticks. Give one of them another name.';
    expect(problemsOf(again)).toEqual([message]);
    void registry.getCronJob('report').stop();
    expect(problemsOf(again)).toEqual([message]);
    registry.deleteCronJob('report');
    again();
    expect(problemsOf(() => locks.cron('report', NIGHTLY, nothing))).toHaveLength(1);
    registry.deleteInterval('report');
    locks.cron('report', NIGHTLY, nothing);
  });
});

test('a lock that is given no key in Redis is an error', async () => {
  const options: SchedulerLockModuleOptions = {
    connection: 'redis://127.0.0.1:1',
    key: (name) => (name === 'inventory' ? '' : `jobs/${name}`),
  };
  const app = await startApp([Jobs, Feed], options);
  expect(problemsOf(() => locksOf(app).cron('inventory', NIGHTLY, nothing))).toEqual([
    expect.stringMatching(/^cron\(inventory\): key: /),
  ]);
});

describe('a job that is made early', () => {
  function early(made: unknown[], name = 'early') {
    @Injectable()
    class Early {
      constructor(private readonly locks: SchedulerLockService) {}
      onModuleInit(): void {
        made.push(this.locks.cron(name, NIGHTLY, nothing));
        this.locks.interval('soon', '1h', nothing);
      }
    }
    return Early;
  }

  test('in onModuleInit() is in the registry at once', async () => {
    const made: unknown[] = [];
    const app = await startApp([early(made)]);
    expect(app.get(SchedulerRegistry).getCronJob('early')).toBe(made[0]);
    expect(app.get(SchedulerRegistry).getIntervals()).toEqual(['soon']);
  });

  test('in a constructor, too', async () => {
    const made: unknown[] = [];
    @Injectable()
    class Early {
      constructor(locks: SchedulerLockService) {
        made.push(locks.cron('early', NIGHTLY, nothing));
      }
    }
    const app = await startApp([Early]);
    expect(app.get(SchedulerRegistry).getCronJob('early')).toBe(made[0]);
  });

  test('with the identity of a decorated one stops the start', async () => {
    const message = await startFailure(startApp([Jobs, early([], 'Jobs.invoices')]));
    expect(message).toContain('job: "Jobs.invoices" is a job already');
  });
});

test('a job that nothing would fire is an error', async () => {
  const app = await startModule({ imports: [SchedulerLockModule.forRoot({ store: 'memory' })] });
  expect(problemsOf(() => locksOf(app).cron('a', NIGHTLY, nothing))).toEqual([
    'cron(a): nothing would fire it: no module imports ScheduleModule.forRoot() of @nestjs/schedule, or it is not complete yet. Make jobs in onModuleInit() or later, not in a constructor.',
  ]);
});

test('a job that is made when the application shuts down is an error', async () => {
  const app = await startApp([]);
  const locks = locksOf(app);
  await app.close();
  expect(problemsOf(() => locks.cron('a', NIGHTLY, nothing))).toEqual([
    'cron(a): the application is shutting down.',
  ]);
});

test('of two schedulers the first one has the job', async () => {
  @Injectable()
  class First {
    constructor(readonly registry: SchedulerRegistry) {}
  }
  @Injectable()
  class Second {
    constructor(readonly registry: SchedulerRegistry) {}
  }
  @Module({ imports: [ScheduleModule.forRoot()], providers: [First] })
  class FirstModule {}
  @Module({ imports: [ScheduleModule.forRoot()], providers: [Second] })
  class SecondModule {}
  const app = await startModule({
    imports: [FirstModule, SecondModule, SchedulerLockModule.forRoot({ store: 'memory' })],
  });
  const job = locksOf(app).cron('a', CronExpression.EVERY_HOUR, nothing);
  const [first, second] = [app.get(First).registry, app.get(Second).registry];
  expect(first).not.toBe(second);
  expect([...first.getCronJobs().values()]).toEqual([job]);
  expect(second.getCronJobs().size).toBe(0);
});

describe('a dynamic job that is made before the start and shares its lock with another scheduled job', () => {
  const lines = (app: TestApp): string[] => app.logs.own.filter((line) => line.includes('share a lock'));
  const warning = (lock: string, jobs: string): string =>
    `warn: Scheduled jobs share a lock: "${lock}" (${jobs}). Of two ticks at one time one is skipped as held, ` +
    'unless its job has wait or catchUp. Jobs that may run side by side need locks of their own.';

  test('is named at the start', async () => {
    @Injectable()
    class Early {
      constructor(private readonly locks: SchedulerLockService) {}
      onModuleInit(): void {
        this.locks.cron('more', NIGHTLY, { lock: 'invoices' }, nothing);
      }
    }
    const app = await startApp([Jobs, Early]);
    expect(lines(app)).toEqual([warning('invoices', 'Jobs.invoices, more')]);
  });

  test('is not named if no tick can be lost, or if the other job is deleted or only called by hand', async () => {
    @Injectable()
    class ByHand {
      @SchedulerLock('calls')
      async calls(): Promise<void> {}
    }
    @Injectable()
    class Early {
      constructor(
        private readonly locks: SchedulerLockService,
        private readonly registry: SchedulerRegistry,
      ) {}
      onModuleInit(): void {
        this.locks.cron('called', NIGHTLY, { lock: 'calls' }, nothing);
        this.locks.cron('first', NIGHTLY, { catchUp: '1h' }, nothing);
        this.locks.cron('second', NIGHTLY, { lock: 'first', catchUp: '1h' }, nothing);
        this.locks.cron('old', NIGHTLY, nothing);
        this.registry.deleteCronJob('old');
        this.locks.cron('new', NIGHTLY, { lock: 'old' }, nothing);
      }
    }
    expect(lines(await startApp([ByHand, Early]))).toEqual([]);
  });
});

test('an option that does nothing is told of', async () => {
  const app = await startApp([], { store: 'memory', rerun: 1, priority: 1 });
  const cron = (options: object): readonly string[] =>
    problemsOf(() => locksOf(app).cron('report', NIGHTLY, options, nothing));
  expect(cron({ priority: 5 })).toEqual([expect.stringContaining('priority: 5 has no effect without wait')]);
  expect(cron({ rerun: 1, oncePerTick: false })).toEqual([
    expect.stringContaining('rerun: 1 has no effect with oncePerTick: false'),
  ]);
  // What the module says for all jobs may have an effect on others.
  expect(cron({ oncePerTick: false })).toEqual([]);
});

test('options that have no place on a job made at run time are told, with those that have', async () => {
  const locks = locksOf(await startApp([]));
  const given = { onSkip: 'throw', onHeld: 'queue', name: 'x', keyPrefix: 'x' };
  const common = ['onSkip', 'onHeld', 'name', 'keyPrefix'].map(
    (option) => `${option}: there is no such option here. There are `,
  );
  const own = (kind: string): unknown[] =>
    common.map((problem) => expect.stringContaining(`${kind}(x): ${problem}`));
  expect(problemsOf(() => locks.cron('x', NIGHTLY, given as object, nothing))).toEqual(own('cron'));
  const ticks = { rerun: 1, catchUp: '1h' };
  expect(problemsOf(() => locks.interval('x', 60_000, { ...given, ...ticks } as object, nothing))).toEqual([
    ...own('interval'),
    ...Object.keys(ticks).map((option): unknown =>
      expect.stringContaining(`interval(x): ${option}: there is no such option here. There are `),
    ),
  ]);
});

test('an option of a lock that an election has not is not said to be one of the module', async () => {
  @Injectable()
  @LeaderElection('other', { wait: '1m' } as object)
  class Other extends Feed {}
  expect(await startFailure(startApp([Other]))).toContain(
    'Other: @LeaderElection(): wait: there is no such option here. There are ttl.',
  );
});
