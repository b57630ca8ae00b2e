import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, type OnModuleInit, Inject, Optional } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import {
  currentLock,
  LockShutdownError,
  SchedulerLock,
  SchedulerLockConfigError,
  SchedulerLockService,
} from '../../lib/index.js';
import { activeHandles, newHandles, until } from '../support/until.js';
import { freePort } from '../support/machine.js';
import { startRedis, type LocalRedis } from '../support/local-redis.js';
import { closeApps, gate, NotedStore, startApp, startFailure } from './app.js';
import { daily, fireAndWait } from './tick-support.js';

// Servers start slowly on a busy machine.
jest.setTimeout(60_000);

const servers: LocalRedis[] = [];

async function server(...options: Parameters<typeof startRedis>): Promise<LocalRedis> {
  const started = await startRedis(...options);
  servers.push(started);
  return started;
}

/** A server that asks for a password, since its first connection has closed the door behind it. */
async function lockedServer(): Promise<LocalRedis> {
  const redis = await server();
  await redis.command('CONFIG', 'SET', 'requirepass', 'right');
  return redis;
}

/** What is open, once the connections of setting up have gone. */
async function quietHandles(): Promise<string[]> {
  await until(() => !activeHandles().some((name) => name.startsWith('TCP')));
  return activeHandles();
}

afterEach(async () => {
  await closeApps();
  await Promise.all(servers.splice(0).map((started) => started.stop()));
});

/** A job that lasts until its `ended` is opened or, if it listens, until it is told to stop. */
@Injectable()
class Jobs {
  readonly ended = gate();
  signal: AbortSignal | undefined;

  constructor(@Optional() @Inject('OBEDIENT') private readonly obedient = false) {}

  @SchedulerLock('report')
  async report() {
    const { signal } = currentLock();
    this.signal = signal;
    const told = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    await (this.obedient ? Promise.race([this.ended.opened, told]) : this.ended.opened);
    return 'done';
  }
}

describe('closing an application', () => {
  it('waits for running jobs, then for the store, which is closed last', async () => {
    const store = new NotedStore();
    const app = await startApp([Jobs], { store });
    const jobs = app.get(Jobs);
    const report = jobs.report();
    await until(() => jobs.signal);
    const closed = app.close();
    await until(async () => {
      await jobs.report();
      return app.events.some((event) => event.type === 'skipped' && event.reason === 'shutting-down');
    });
    expect(store.calls).toEqual(['init', 'acquire report']);
    jobs.ended.open();
    expect(await report).toBe('done');
    await closed;
    expect(store.calls).toEqual(['init', 'acquire report', 'release report completed', 'close']);
    expect(jobs.signal?.aborted).toBe(false);
  });

  it('aborts the signals after shutdownTimeout, and gives back the lease of a job that listens', async () => {
    const store = new NotedStore();
    const app = await startApp([Jobs, { provide: 'OBEDIENT', useValue: true }], {
      store,
      shutdownTimeout: 20,
    });
    const jobs = app.get(Jobs);
    const report = jobs.report();
    await until(() => jobs.signal);
    await app.close();
    expect(await report).toBe('done');
    expect(jobs.signal?.reason).toBeInstanceOf(LockShutdownError);
    expect(store.calls).toEqual(['init', 'acquire report', 'release report aborted', 'close']);
  });

  it('leaves the lease of a job that goes on to expire', async () => {
    const store = new NotedStore();
    const app = await startApp([Jobs], { store, shutdownTimeout: 20, ttl: '10m' });
    const jobs = app.get(Jobs);
    const report = jobs.report();
    await until(() => jobs.signal);
    await app.close();
    expect(jobs.signal?.aborted).toBe(true);
    expect(store.calls).toEqual(['init', 'acquire report', 'close']);
    const other = await startApp([], { store });
    expect(await other.get(SchedulerLockService).run('report', () => 1)).toMatchObject({ reason: 'held' });
    jobs.ended.open();
    expect(await report).toBe('done');
    expect(store.calls).not.toContain('release report aborted');
  });

  it('keeps atLeast for the next instance', async () => {
    const redis = await server();
    const app = await startApp([], { connection: redis.url, ttl: '10m', atLeast: '10m' });
    await app.get(SchedulerLockService).run('report', () => 1);
    await app.close();
    const next = await startApp([], { connection: redis.url });
    expect(await next.get(SchedulerLockService).run('report', () => 1)).toMatchObject({
      reason: 'cooling-down',
    });
  });

  it('leaves no timer and no connection', async () => {
    const redis = await server();
    const before = await quietHandles();
    const app = await startApp([Jobs], { connection: redis.url });
    const jobs = app.get(Jobs);
    jobs.ended.open();
    expect(await jobs.report()).toBe('done');
    expect(newHandles(before)).not.toEqual([]);
    await app.close();
    await until(() => newHandles(before).length === 0, {
      message: () => `no handles but those from before; there are ${newHandles(before).join()}`,
    });
  });

  it('does nothing to another application in this process', async () => {
    const redis = await server();
    const options = { connection: redis.url };
    const [blue, green] = [await startApp([Jobs], options), await startApp([Jobs], options)];
    expect(blue.get(SchedulerLockService).instanceId).not.toBe(green.get(SchedulerLockService).instanceId);
    const jobs = green.get(Jobs);
    const report = jobs.report();
    await until(() => jobs.signal);
    expect(await blue.get(Jobs).report()).toBeUndefined();
    expect(blue.events).toMatchObject([{ holder: green.get(SchedulerLockService).instanceId }]);
    await blue.close();
    expect(jobs.signal?.aborted).toBe(false);
    jobs.ended.open();
    expect(await report).toBe('done');
    expect(green.events.map(({ type }) => type)).toEqual(['acquired', 'released']);
  });
});

describe('an instance that was made outside of the application', () => {
  /** The options do not matter: `useValue` gives the very same instance to each application. */
  const start = (jobs: Jobs) => startApp([{ provide: Jobs, useValue: jobs }]);
  const message =
    'Jobs.report: this very instance is already bound by another application that has not been closed.';

  it('is bound by one application after the other', async () => {
    const jobs = new Jobs();
    jobs.ended.open();
    for (let i = 0; i < 3; i++) {
      const app = await start(jobs);
      expect(await jobs.report()).toBe('done');
      expect(app.events.map(({ type }) => type)).toEqual(['acquired', 'released']);
      await app.close();
    }
  });

  it('is fired by the scheduler of one application after the other', async () => {
    const { expression, tick } = daily();
    const runs: (number | undefined)[] = [];
    @Injectable()
    class Nightly {
      @Cron(expression, { name: 'nightly', timeZone: 'UTC' })
      @SchedulerLock({ job: 'nightly' })
      async run(): Promise<void> {
        runs.push(currentLock().tick);
      }
    }
    const nightly = new Nightly();
    for (let i = 0; i < 2; i++) {
      const app = await startApp([{ provide: Nightly, useValue: nightly }]);
      await fireAndWait(app, 'nightly');
      await nightly.run();
      await app.close();
    }
    expect(runs).toStrictEqual([tick, undefined, tick, undefined]);
  });

  it('is not bound by two applications that start at a time', async () => {
    const jobs = new Jobs();
    const [bound, slow] = [gate(), gate()];
    const onModuleInit = (): Promise<void> => {
      bound.open();
      return slow.opened;
    };
    const first = startApp([
      { provide: Jobs, useValue: jobs },
      { provide: 'SLOW', useValue: { onModuleInit } },
    ]);
    await bound.opened;
    expect(await startFailure(start(jobs))).toContain(message);
    slow.open();
    jobs.ended.open();
    const { events } = await first;
    expect(await jobs.report()).toBe('done');
    expect(events.map(({ type }) => type)).toEqual(['acquired', 'released']);
  });

  it('is not bound by two applications at a time', async () => {
    const jobs = new Jobs();
    const first = await start(jobs);
    expect(await startFailure(start(jobs))).toContain(message);
    await first.close();
    await start(jobs);
    expect(await startFailure(start(jobs))).toContain(message);
  });

  it('is skipped when its application has been closed, until another one binds it', async () => {
    const jobs = new Jobs();
    jobs.ended.open();
    const closed = await start(jobs);
    await closed.close();
    expect(await jobs.report()).toBeUndefined();
    expect(closed.events).toMatchObject([{ type: 'skipped', reason: 'shutting-down' }]);
    await start(jobs);
    expect(await jobs.report()).toBe('done');
    expect(closed.events).toHaveLength(1);
  });
});

describe('starting an application', () => {
  it('without its Redis says so, starts and skips, and works when Redis comes up', async () => {
    const port = await freePort();
    @Injectable()
    class Early implements OnModuleInit {
      result: unknown;
      constructor(private readonly locks: SchedulerLockService) {}
      async onModuleInit() {
        this.result = await this.locks.run('migrate', () => 1);
      }
    }
    const app = await startApp([Jobs, Early], { connection: `redis://:secret@127.0.0.1:${port}` });
    expect(app.get(Early).result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    const jobs = app.get(Jobs);
    jobs.ended.open();
    expect(await jobs.report()).toBeUndefined();
    expect(app.logs.own.filter((line) => !line.startsWith('debug'))).toEqual([
      expect.stringMatching(/^error: The lock store is not available: .*Redis cannot be reached/),
      expect.stringMatching(
        `^log: 1 method runs on one instance at a time \\(Jobs.report\\): this is instance .+, its locks are in Redis 127.0.0.1:${port}$`,
      ),
    ]);

    await server({ port });
    await until(async () => (await jobs.report()) === 'done');
    const ended = app.logs.own.filter((line) => line.startsWith('log: The lock store is available again'));
    expect(ended).toHaveLength(1);
    expect(JSON.stringify([app.logs.lines, app.events])).not.toContain('secret');
  });

  it('with a wrong password fails, and does not show it', async () => {
    const redis = await lockedServer();
    const url = redis.url.replace('redis://', 'redis://:wr0ng-secret@');
    const error = await startApp([Jobs], { connection: url }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SchedulerLockConfigError);
    // The rest is what the server says, in the words of its version.
    expect((error as Error).message).toMatch(
      /^nestjs-scheduler-lock is misconfigured: connection: Redis rejected the credentials: WRONGPASS /,
    );
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain('wr0ng-secret');
  });

  it('without a password where one is needed fails', async () => {
    const redis = await lockedServer();
    await expect(startApp([Jobs], { connection: redis.url })).rejects.toThrow(
      'nestjs-scheduler-lock is misconfigured: connection: Redis asks for a password and was given none, as in redis://:password@host:6379 (NOAUTH',
    );
  });

  it('that failed leaves no connection and no timer', async () => {
    const redis = await lockedServer();
    const before = await quietHandles();
    await expect(startApp([Jobs], { connection: redis.url })).rejects.toThrow('NOAUTH');
    await until(() => newHandles(before).length === 0, {
      message: () => `no handles but those from before; there are ${newHandles(before).join()}`,
    });
  });

  it('without a connection warns that other instances are not excluded, and says how to change it', async () => {
    const app = await startApp([Jobs], {});
    expect(app.logs.own).toEqual([
      'warn: No connection was given: leases are kept in the memory of this process, and other instances are not excluded. ' +
        "Give `connection: 'redis://…'`, or `store: 'memory'` to say that this is what you want.",
      expect.stringMatching(
        /^log: 1 method runs on one instance at a time .+ in the memory of this process$/,
      ),
    ]);
    const jobs = app.get(Jobs);
    jobs.ended.open();
    expect(await jobs.report()).toBe('done');
  });

  it('with the memory store asked for explicitly warns of nothing, also in production', async () => {
    const before = process.env['NODE_ENV'];
    process.env['NODE_ENV'] = 'production';
    try {
      const app = await startApp([Jobs], { store: 'memory' });
      expect(app.logs.own.filter((line) => !line.startsWith('log'))).toEqual([]);
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });
});
