import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import {
  SchedulerLock,
  SchedulerLockModule,
  type SchedulerLockModuleOptions,
  type SchedulerLockOptions,
} from '../../lib/index.js';
import { closeApps, startApp, startModule, startFailure as failure } from './app.js';

const INTRO = 'nestjs-scheduler-lock is misconfigured';

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
      @SchedulerLock({ ttl: 'soon' })
      async export() {}
    }
    const message = await failure(
      startModule({
        imports: [
          ScheduleModule.forRoot(),
          SchedulerLockModule.forRoot({ store: 'memory', shutdownTimeout: 'never', ttl: 50 }),
        ],
        providers: [Invoices],
        controllers: [Orders],
      }),
    );
    expect(message).toBe(
      [
        `${INTRO}, 7 problems:`,
        "  - SchedulerLockModule: shutdownTimeout: 'never' is no duration. Give milliseconds or a text such as '30s' or '10m'.",
        '  - SchedulerLockModule: ttl: 50 is out of range. Give 100 ms to 30 days.',
        "  - Orders.export: ttl: 'soon' is no duration. Give milliseconds or a text such as '30s' or '10m'.",
        "  - Invoices.send: atLeast: '1m' is longer than the ttl of 30 s. Give a longer ttl.",
        "  - Invoices.send: heartbeat: '20s' is longer than a third of the ttl of 30 s. Two more tries must fit in before the lease expires: give at most 10 s, or a longer ttl.",
        '  - Invoices.remind: name: "a{b}" is not valid: it holds "{", "}" or a control character.',
        "  - Invoices.remind: timeout: 0 is no duration. Give milliseconds or a text such as '30s' or '10m'.",
      ].join('\n'),
    );
  });

  const LOCK_OPTIONS =
    'ttl, heartbeat, timeout, atLeast, enabled, onStoreError, maxClockSkew, onSkip, oncePerTick, rerun, catchUp';
  const MODULE_OPTIONS = `connection, store, keyPrefix, key, instanceId, storeTimeout, shutdownTimeout, leader, ${LOCK_OPTIONS}`;
  const STORES =
    "Give a store such as new PostgresLockStore(pool), or 'memory'; for Redis give connection instead.";
  const DURATION = "is no duration. Give milliseconds or a text such as '30s' or '10m'.";
  it.each([
    [{ ttl: 0 }, `ttl: 0 ${DURATION}`],
    [{ ttl: -5 }, `ttl: -5 ${DURATION}`],
    [{ ttl: Number.POSITIVE_INFINITY }, `ttl: Infinity ${DURATION}`],
    [{ ttl: Number.NaN }, `ttl: NaN ${DURATION}`],
    [{ ttl: '10 minutes' }, `ttl: '10 minutes' ${DURATION}`],
    [{ ttl: null }, `ttl: null ${DURATION}`],
    [{ heartbeat: true }, `heartbeat: true ${DURATION}`],
    [{ ttl: 99 }, 'ttl: 99 is out of range. Give 100 ms to 30 days.'],
    [{ ttl: '31d' }, "ttl: '31d' is out of range. Give 100 ms to 30 days."],
    [{ timeout: '31d' }, "timeout: '31d' is longer than 30 days."],
    [
      { ttl: '1m', heartbeat: false, timeout: '1m' },
      "timeout: '1m' with heartbeat: false. The lease ends after its ttl of 1 min, before the timeout. Give a shorter timeout, a longer ttl, or a heartbeat.",
    ],
    [{ enabled: 'no' }, "enabled: 'no' is neither true nor false."],
    [{ onStoreError: 'ignore' }, "onStoreError: 'ignore' is not one of 'skip', 'throw', 'run'."],
    [{ onSkip: 'reject' }, "onSkip: 'reject' is not one of 'ignore', 'throw'."],
    [{ name: '' }, 'name: "" is not valid: it is empty.'],
    [{ name: 7 }, 'name: (number) is not valid: expected a string, got number.'],
    [{ name: 'a\nb' }, 'name: "a\\nb" is not valid: it holds "{", "}" or a control character.'],
    [{ name: 'a\ud800' }, 'name: "a\\ud800" is not valid: it holds half of a surrogate pair.'],
    [
      { name: 'x'.repeat(201) },
      `name: "${'x'.repeat(80)}" is not valid: it has 201 characters, at most 200 are allowed.`,
    ],
    [{ job: '{' }, 'job: "{" is not valid: it holds "{", "}" or a control character.'],
    [
      { tttl: '1m', off: undefined },
      `tttl: there is no such option here. There are name, job, ${LOCK_OPTIONS}.`,
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
      'store: an object of class Object is no LockStore: it has no acquire(), extend(), release(). ' + STORES,
    ],
    [{ store: null }, 'store: null is no LockStore: it has no acquire(), extend(), release(). ' + STORES],
    [
      { store: 'memory', connection: 'redis://localhost' },
      'connection and store are both given. Give one: a connection for Redis, or a store.',
    ],
    [{ store: 'memory', keyPrefix: '' }, "keyPrefix: '' is not valid. Give a text that is not empty."],
    [
      { store: 'memory', key: 'locks:' },
      "key: 'locks:' is no function. Give one that makes the Redis key of a lock from its name.",
    ],
    [{ store: 'memory', instanceId: '' }, "instanceId: '' is not valid: it is empty."],
    [
      { store: 'memory', storeTimeout: '30s' },
      'storeTimeout: 30 s is longer than a third of the ttl of 1 min. Give at most 20 s, or a longer ttl.',
    ],
    [
      { connection: 'localhost:6379' },
      'connection: a Redis URL begins with redis:// or rediss://, this one with localhost:',
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
    [{ store: 'memory', tll: '1m' }, `tll: there is no such option here. There are ${MODULE_OPTIONS}.`],
    [
      { store: 'memory', leader: { name: 'jobs', tll: '1m' } },
      'leader.tll: there is no such option here. There are name, ttl.',
    ],
    [
      { connection: 'redis://host/orders' },
      'connection: the path of a Redis URL is the number of the database, such as redis://host:6379/2.',
    ],
    [
      { connection: 6379 },
      'connection: expected a URL, ioredis options or an ioredis client, got a value of type number.',
    ],
    [{ connection: { host: '' } }, 'connection.host: expected the name or address of a host.'],
    [{ connection: { port: 70_000 } }, 'connection.port: 70000 is no port number.'],
    [
      { connection: new Map() },
      'connection: an object of class Map is no ioredis client. Pass an ioredis Redis or Cluster, its options, or a URL; clients of other libraries do not fit.',
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
    const leader = { name: 'mail:leader', ttl: '1m' };
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

  it('are refused where a name is made of undefined: the module says what is missing, not the driver', async () => {
    // The usual way to get there: an environment variable that is not set.
    const connection = undefined;
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      expect(await failure(startApp([], { connection }))).toBe(
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
