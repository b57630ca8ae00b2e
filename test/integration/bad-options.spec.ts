import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import {
  type Duration,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockModule,
  type SchedulerLockModuleOptions,
  type SchedulerLockOptions,
} from '../../lib/index.js';
import { closeApps, startApp, startModule, startFailure as failure } from './app.js';

const INTRO = 'nestjs-scheduler-lock is misconfigured';
const GIVE =
  "Give positive milliseconds, or a text of a positive number and a unit (ms, s, m, h, d), such as '30s' or '10m'.";

afterEach(closeApps);

/** What the start says to one job with these options. */
function jobFailure(
  options: unknown,
  module: SchedulerLockModuleOptions = { store: 'memory' },
): Promise<string> {
  @Injectable()
  class Jobs {
    @SchedulerLock(options as SchedulerLockOptions)
    async report() {}
  }
  return failure(startApp([Jobs], module));
}

describe('options that cannot work', () => {
  it('of the module and of all jobs are told in one message, with class, method, option and value', async () => {
    @Injectable()
    class Invoices {
      @SchedulerLock({ ttl: '30s', heartbeat: '20s', atLeast: '1m' })
      async send() {}
      @SchedulerLock({ name: 'a{b}', timeout: 0 })
      async remind() {}
    }
    @Controller()
    class Orders {
      @Get()
      @SchedulerLock({ ttl: 'soon' as Duration })
      async export() {}
    }
    const message = await failure(
      startModule({
        imports: [
          ScheduleModule.forRoot(),
          SchedulerLockModule.forRoot({ store: 'memory', shutdownTimeout: 'never' as Duration, ttl: 50 }),
        ],
        providers: [Invoices],
        controllers: [Orders],
      }),
    );
    expect(message).toBe(
      [
        `${INTRO}, 7 problems:`,
        `  - SchedulerLockModule: shutdownTimeout: 'never' is no duration. ${GIVE}`,
        '  - SchedulerLockModule: ttl: 50 is out of range. Give 100 ms to 30 days.',
        `  - Orders.export: ttl: 'soon' is no duration. ${GIVE}`,
        "  - Invoices.send: atLeast: '1m' is longer than the ttl of 30 s. Give a longer ttl.",
        "  - Invoices.send: heartbeat: '20s' is longer than a third of the ttl of 30 s. Two more tries must fit in before the lease expires: give at most 10 s, or a longer ttl.",
        '  - Invoices.remind: name: "a{b}" is not valid: it holds "{", "}" or a control character.',
        `  - Invoices.remind: timeout: 0 is no duration. ${GIVE}`,
      ].join('\n'),
    );
  });

  const LOCK_OPTIONS =
    'ttl, heartbeat, timeout, atLeast, wait, priority, enabled, onStoreError, onSkip, oncePerTick, rerun, spread, catchUp, overdue';
  const JOB_OPTIONS = LOCK_OPTIONS.replace('spread', 'retry, expect, spread');
  const MODULE_OPTIONS = `connection, store, keyPrefix, key, instanceId, storeTimeout, shutdownTimeout, leader, log, clock, insight, ${LOCK_OPTIONS}`;
  const EVENTS =
    'acquired, renewed, released, waiting, skipped, dead-lettered, interrupted, renewal-failed, lost, timeout, overrun, unlocked, controlled, overdue, hung, leader, shutdown, outage';
  const STORES =
    "Give a store such as new PostgresLockStore(pool), or 'memory'; for Redis give connection instead.";
  it.each([
    [{ ttl: 0 }, `ttl: 0 is no duration. ${GIVE}`],
    [{ ttl: -5 }, `ttl: -5 is no duration. ${GIVE}`],
    [{ ttl: '-5s' }, `ttl: '-5s' is no duration. ${GIVE}`],
    [{ timeout: '0m' }, `timeout: '0m' is no duration. ${GIVE}`],
    [{ ttl: Number.POSITIVE_INFINITY }, `ttl: Infinity is no duration. ${GIVE}`],
    [
      { ttl: Number.NaN },
      `ttl: NaN is no duration: mostly it comes from an environment variable that is not set. ${GIVE}`,
    ],
    [{ ttl: '5 minutes' }, `ttl: '5 minutes' is no duration. ${GIVE}`],
    [{ ttl: '60000' }, `ttl: '60000' is no duration. ${GIVE}`],
    [{ ttl: '' }, `ttl: '' is no duration. ${GIVE}`],
    [{ ttl: null }, `ttl: null is no duration. ${GIVE}`],
    [{ heartbeat: true }, `heartbeat: true is no duration. ${GIVE}`],
    [{ catchUp: true }, `catchUp: true is no duration. ${GIVE}`],
    [{ timeout: false }, `timeout: false is no duration. ${GIVE}`],
    [{ ttl: 99 }, 'ttl: 99 is out of range. Give 100 ms to 30 days.'],
    [{ ttl: '31d' }, "ttl: '31d' is out of range. Give 100 ms to 30 days."],
    [{ timeout: '31d' }, "timeout: '31d' is out of range. Give 1 ms to 30 days."],
    [
      { ttl: '1m', heartbeat: false, timeout: '1m' },
      "timeout: '1m' with heartbeat: false. The lease ends after its ttl of 1 min, before the timeout. Give a shorter timeout, a longer ttl, or a heartbeat.",
    ],
    [{ enabled: 'no' }, "enabled: 'no' is neither true nor false."],
    [{ onStoreError: 'ignore' }, "onStoreError: 'ignore' is not one of 'skip', 'run'."],
    [{ onSkip: 'reject' }, "onSkip: 'reject' is not one of 'ignore', 'throw'."],
    [{ name: '' }, 'name: "" is not valid: it is empty.'],
    [{ name: ' \u00a0' }, 'name: " \u00a0" is not valid: it holds nothing but blanks.'],
    [{ job: '  ' }, 'job: "  " is not valid: it holds nothing but blanks.'],
    [{ name: 7 }, 'name: (number) is not valid: expected a string, got number.'],
    [{ name: 'a\nb' }, 'name: "a\\nb" is not valid: it holds "{", "}" or a control character.'],
    [{ name: 'a\ud800' }, 'name: "a\\ud800" is not valid: it holds half of a surrogate pair.'],
    [
      { name: 'x'.repeat(201) },
      `name: "${'x'.repeat(80)}" is not valid: it has 201 characters, at most 200 are allowed.`,
    ],
    [{ job: '{' }, 'job: "{" is not valid: it holds "{", "}" or a control character.'],
    [
      { lease: '1m', off: undefined },
      `lease: there is no such option here. There are name, job, onHeld, queue, history, ${JOB_OPTIONS}.`,
    ],
    [{ tttl: '1m' }, 'tttl: there is no such option here. Did you mean `ttl`?'],
    [{ heartBeat: '1m' }, 'heartBeat: there is no such option here. Did you mean `heartbeat`?'],
    [{ rerun: true }, 'rerun: true is no whole number from 0 to 1000.'],
    [
      { priority: 5 },
      'priority: 5 has no effect without wait: it is a place in line. Give `wait` as well, or leave it out.',
    ],
    [
      { rerun: 1, oncePerTick: false },
      'rerun: 1 has no effect with oncePerTick: false: nobody knows then which ticks have run. Leave one of them out.',
    ],
    [
      { catchUp: '1h', oncePerTick: false },
      "catchUp: '1h' has no effect with oncePerTick: false: nobody knows then which ticks have run. Leave one of them out.",
    ],
    [null, '@SchedulerLock(null): expected a name or options.'],
    [42, '@SchedulerLock(42): expected a name or options.'],
  ])('of one job: %p', async (options, problem) => {
    expect(await jobFailure(options)).toBe(`${INTRO}: Jobs.report: ${problem}`);
  });

  it('of a job are told with what it takes over from the module', async () => {
    expect(await jobFailure({ ttl: '3s' }, { store: 'memory', storeTimeout: '2s' })).toBe(
      `${INTRO}: Jobs.report: storeTimeout: 2 s is longer than a third of the ttl of 3 s. Give at most 1 s, or a longer ttl.`,
    );
    expect(await jobFailure({ ttl: '9s' }, { store: 'memory', heartbeat: '10s' })).toBe(
      `${INTRO}: Jobs.report: heartbeat: '10s' is longer than a third of the ttl of 9 s. Two more tries must fit in before the lease expires: give at most 3 s, or a longer ttl.`,
    );
  });

  it.each<[unknown, string]>([
    [
      { store: {} },
      'store: an object of class Object is no LockStore: it has no acquire(), extend(), release(), inspect(), hints(). ' +
        STORES,
    ],
    [
      { store: null },
      'store: null is no LockStore: it has no acquire(), extend(), release(), inspect(), hints(). ' + STORES,
    ],
    [
      { store: 'memory', connection: 'redis://localhost' },
      'connection and store are both given. Give one: a connection for Redis, or a store.',
    ],
    [{ store: 'memory', keyPrefix: '' }, "keyPrefix: '' is not valid. Give a text that is not empty."],
    [
      { store: 'memory', key: 'locks:' },
      "key: 'locks:' is no function. Give one that makes the Redis key of a lock from its name.",
    ],
    [
      { store: new MemoryLockStore(), keyPrefix: 'jobs' },
      'keyPrefix: it goes with connection, and has no effect on a store. Leave it out; for Redis, give it to the store itself: new RedisLockStore(connection, { keyPrefix }).',
    ],
    [
      { store: new MemoryLockStore(), key: (name: string) => name },
      'key: it goes with connection, and has no effect on a store. Leave it out; for Redis, give it to the store itself: new RedisLockStore(connection, { key }).',
    ],
    [
      { store: 'memory', log: true },
      `log: true is no list of event types. Give false, or some of ${EVENTS}.`,
    ],
    [{ store: 'memory', log: ['lost', 'expired'] }, `log: 'expired' is no event type. There are ${EVENTS}.`],
    [
      { store: 'memory', clock: Date },
      'clock: a function is no Clock: it has no monotonic(), setTimer(). In tests give a ManualClock of nestjs-scheduler-lock/testing.',
    ],
    [{ store: 'memory', instanceId: '' }, 'instanceId: "" is not valid: it is empty.'],
    [{ store: 'memory', overdue: 'soon' }, `overdue: 'soon' is no duration. ${GIVE}`],
    [
      { store: 'memory', storeTimeout: '30s' },
      'storeTimeout: 30 s is longer than a third of the ttl of 1 min. Give at most 20 s, or a longer ttl.',
    ],
    [
      { connection: 'localhost:6379' },
      'connection: a Redis URL begins with redis:// or rediss://, this one with localhost: A database needs another store: docs/stores/choose.md.',
    ],
    [
      { connection: 'postgres://user:secret@db/app' },
      'connection: a Redis URL begins with redis:// or rediss://, this one with postgres: A database needs another store: docs/stores/choose.md.',
    ],
    [
      { connection: 'redis://:pa#ss@host:6379' },
      'connection: this is not a URL. Write redis://host:6379 (rediss:// for TLS), or percent-encode special characters in the password.',
    ],
    ...['#1', '#w/ord', '?x', '/1'].map((part): [object, string] => [
      { connection: `redis://user:my@secret${part}@host:6379` },
      'connection: a "#", "/" or "?" cuts the user name or password of the Redis URL off. Percent-encode special characters there: encodeURIComponent(password).',
    ]),
    [{ connection: '' }, 'connection: the URL is empty. Perhaps a variable of the environment is not set.'],
    [
      { connection: undefined },
      "connection: it is undefined. Perhaps a variable of the environment is not set. Give the URL of your Redis, or, for a single instance that needs to exclude nobody but itself, store: 'memory'.",
    ],
    [{ store: 'memory', tll: '1m' }, 'tll: there is no such option here. Did you mean `ttl`?'],
    [{ store: 'memory', redis: 1 }, `redis: there is no such option here. There are ${MODULE_OPTIONS}.`],
    [
      { store: 'memory', leader: { name: 'jobs', tll: '1m' } },
      'leader: tll: there is no such option here. Did you mean `ttl`?',
    ],
    [
      { store: 'memory', leader: { name: 'jobs', group: '1m' } },
      'leader: group: there is no such option here. There are name, ttl.',
    ],
    [
      { connection: 'redis://host/orders' },
      'connection: the path of a Redis URL is the number of the database, such as redis://host:6379/2.',
    ],
    [
      { connection: 6379 },
      'connection: expected a URL, ioredis options or a client of ioredis or node-redis, got a value of type number.',
    ],
    [{ connection: { host: '' } }, 'connection.host: expected the name or address of a host.'],
    [{ connection: { port: 70_000 } }, 'connection.port: 70000 is no port number.'],
    [
      { connection: new Map() },
      'connection: an object of class Map is no client of ioredis or node-redis. Pass an ioredis Redis or Cluster, its options, a client of node-redis, or a URL; clients of other libraries do not fit.',
    ],
  ])('of the module: %p', async (options, problem) => {
    expect(await failure(startApp([], options as SchedulerLockModuleOptions))).toBe(
      `${INTRO}: SchedulerLockModule: ${problem}`,
    );
  });

  it('of the module include a key of Redis that is not one for each lock, elections included', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock('billing:send')
      async send() {}
      @SchedulerLock('billing:remind')
      async remind() {}
      @SchedulerLock('mail')
      async mail() {}
      // The same lock, which is meant to be shared.
      @SchedulerLock('mail')
      async news() {}
      @SchedulerLock('none')
      async none() {}
      @SchedulerLock('fails')
      async fails() {}
      @SchedulerLock({ name: (id: string) => `of:${id}` })
      async dynamic(_id: string) {}
    }
    const key = (name: string): string => {
      if (name === 'fails') throw new Error('no such tenant');
      return name === 'none' ? '' : `app:${name.split(':')[0]}`;
    };
    const connection = 'redis://127.0.0.1:1';
    const leader = { name: 'mail:leader', ttl: '1m' } as const;
    const message = await failure(startApp([Jobs], { connection, key, leader, ttl: '1m' }));
    expect(message).toBe(
      [
        `${INTRO}, 4 problems:`,
        '  - SchedulerLockModule: key: it gave "app:billing" for the lock "billing:send" and for the lock "billing:remind", so that they would exclude each other. Give each name a key of its own; jobs that are to exclude each other share one name.',
        '  - SchedulerLockModule: key: it gave \'\' for the lock "none". Give a text that is not empty.',
        '  - SchedulerLockModule: key: it failed for the lock "fails": Error: no such tenant',
        '  - SchedulerLockModule: key: it gave "app:mail" for the lock "mail" and for the lock "mail:leader", so that they would exclude each other. Give each name a key of its own; jobs that are to exclude each other share one name.',
      ].join('\n'),
    );
  });

  it('are refused when the factory returns nothing, or forRoot() is given nothing', async () => {
    const factory = () => undefined as unknown as SchedulerLockModuleOptions;
    expect(
      await failure(startModule({ imports: [SchedulerLockModule.forRootAsync({ useFactory: factory })] })),
    ).toBe(
      `${INTRO}: SchedulerLockModule: the factory of forRootAsync() returned undefined. Return the options, such as { connection: 'redis://localhost:6379' }.`,
    );
    expect(() => SchedulerLockModule.forRoot(undefined as unknown as SchedulerLockModuleOptions)).toThrow(
      `${INTRO}: forRoot() was called without options. Give at least a \`connection\`.`,
    );
  });

  it('are refused by forRootAsync() at once if nothing makes them', () => {
    for (const options of [{}, undefined, { useValue: { store: 'memory' } }, { useFactory: undefined }]) {
      expect(() => SchedulerLockModule.forRootAsync(options as never)).toThrow(
        `${INTRO}: forRootAsync() was given nothing that makes the options. Give \`useFactory\`, such as ` +
          '{ inject: [ConfigService], useFactory: (config) => ({ connection: config.getOrThrow("REDIS_URL") }) }, or `useClass` or `useExisting`.',
      );
    }
  });

  it('are not: a connection that is undefined beside a store, and none at all outside of production', async () => {
    await startApp([], { connection: undefined, store: 'memory' });
    const { logs } = await startModule({ imports: [SchedulerLockModule.forRoot({})] });
    expect(logs.own.filter((line) => line.includes('connection'))).toEqual([
      expect.stringMatching(/^warn: No connection was given: /),
    ]);
  });

  it('include a connection that a factory made of a variable that is not set', async () => {
    const useFactory = () => ({ connection: process.env['NO_SUCH_URL'] });
    expect(
      await failure(startModule({ imports: [SchedulerLockModule.forRootAsync({ useFactory })] })),
    ).toMatch(
      /^nestjs-scheduler-lock is misconfigured: SchedulerLockModule: connection: it is undefined\. Perhaps a variable/,
    );
  });

  it('include none at all in production', async () => {
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      const start = startModule({ imports: [SchedulerLockModule.forRoot({})] });
      expect(await failure(start)).toBe(
        `${INTRO}: SchedulerLockModule: connection: none is given, and NODE_ENV is production. Give the URL of your Redis, or, ` +
          "for a single instance that needs to exclude nobody but itself, store: 'memory'.",
      );
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });

  it('of a module that is imported without forRoot() are told by Nest, which names that', async () => {
    await expect(startModule({ imports: [SchedulerLockModule] })).rejects.toThrow(
      'argument Symbol(options of SchedulerLockModule.forRoot() or forRootAsync()) at index [0]',
    );
  });
});
