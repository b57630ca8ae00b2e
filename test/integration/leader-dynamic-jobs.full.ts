import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  currentLock,
  MemoryLockStore,
  SchedulerLeader,
  SchedulerLockModule,
  SchedulerLockService,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp, startModule, type TestApp } from './app.js';
import { elected, Idle, occupied } from './leader-support.js';
import { CronJob } from './support/cron.js';
import { skipped } from './tick-support.js';

afterEach(closeApps);

const TTL = 900;
const EVERY_SECOND = '* * * * * *';
const options = (store: MemoryLockStore) => ({ store, leader: { name: 'main', ttl: TTL } });

const add = (app: TestApp, job: CronJob): void =>
  app.get(SchedulerRegistry).addCronJob('dynamic', job as never);

describe('the leader waits for a cron job with waitForCompletion that was added to the registry', () => {
  test.each([
    ['when it resigns', (app: TestApp) => app.get(SchedulerLeader).resign()],
    ['when it is shut down', (app: TestApp) => app.close()],
  ])('%s', async (_, leave) => {
    // So long that it is not lost, however busy the machine is.
    const leader = { name: 'main', ttl: '1h' } as const;
    const app = await startApp([Idle], { store: 'memory', leader });
    await elected(app);
    const jobs = [gate(), gate()];
    const seen: string[] = [];
    const run = (place: number) => async (): Promise<void> => {
      seen.push(`began ${place} under ${currentLock().name}`);
      await jobs[place]?.opened;
      seen.push(`ended ${place}`);
    };
    const onTick = run(0);
    const job = CronJob.from({ cronTime: EVERY_SECOND, onTick, waitForCompletion: true });
    add(app, job);
    job.addCallback(run(1));
    job.start();
    await until(() => seen.length === 1);
    const left = leave(app).then(() => seen.push('left'));
    jobs[0]?.open();
    await until(() => seen.includes('began 1 under main'));
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(app.events.filter(({ type }) => type === 'released')).toEqual([]);
    jobs[1]?.open();
    await left;
    expect(seen).toEqual(['began 0 under main', 'ended 0', 'began 1 under main', 'ended 1', 'left']);
    expect(app.events.at(-1)).toMatchObject({ type: 'released', lock: 'main' });
  });

  test('and leaves its failures to the scheduler', async () => {
    const app = await startApp([Idle], options(new MemoryLockStore()));
    await elected(app);
    const errors: unknown[] = [];
    let runs = 0;
    const fail = async (): Promise<void> => {
      runs += 1;
      throw new Error('on purpose');
    };
    const errorHandler = (error: unknown): void => void errors.push(error);
    add(app, CronJob.from({ cronTime: EVERY_SECOND, onTick: fail, start: true, errorHandler }));
    await until(() => errors.length > 0);
    expect(errors[0]).toMatchObject({ message: 'on purpose' });
    await app.get(SchedulerLeader).resign();
    expect(errors).toHaveLength(runs);
  });
});

describe('a cron job that was added to the registry without waitForCompletion', () => {
  const lines = (app: TestApp): string[] => app.logs.own.filter((line) => line.includes('waitForCompletion'));
  const told = (names: string): string =>
    `warn: When this instance ceases to lead, it cannot wait for cron jobs of the registry without waitForCompletion: ${names}. Another instance may fire ` +
    'them while they still run here. Give them waitForCompletion: true, or make them by locks.cron().';
  const made = (waitForCompletion = false): never =>
    CronJob.from({ cronTime: '0 0 0 1 1 *', onTick: () => undefined, waitForCompletion }) as never;

  @Injectable()
  class Added {
    @Cron('0 0 0 1 1 *', { name: 'decorated' })
    nightly(): void {}
    constructor(
      private readonly registry: SchedulerRegistry,
      private readonly locks: SchedulerLockService,
    ) {
      registry.addCronJob('early', made());
      registry.addCronJob('awaited', made(true));
    }
    onModuleInit(): void {
      this.locks.cron('made', '0 0 0 1 1 *', () => undefined);
    }
    onApplicationBootstrap(): void {
      this.registry.addCronJob('late', made());
    }
  }

  test('is told of at the start', async () => {
    const app = await startApp([Added], options(new MemoryLockStore()));
    await until(() => lines(app).length > 0);
    expect(lines(app)).toEqual([told('early, late')]);
  });

  test('is nothing to tell of without an election', async () => {
    const app = await startApp([Added]);
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    expect(lines(app)).toEqual([]);
  });
});

describe('the onComplete of a cron job that was added', () => {
  test.each([false, true])(
    'is not called when the leader changes, but when the application stops it (waitForCompletion: %s)',
    async (waitForCompletion) => {
      const { store, free } = await occupied();
      const app = await startApp([], options(store));
      const calls: string[] = [];
      const onComplete = (): void => void calls.push('complete');
      const onTick = (): void => void calls.push('run');
      const job = CronJob.from({
        cronTime: EVERY_SECOND,
        onTick,
        onComplete,
        start: true,
        waitForCompletion,
      });
      add(app, job);
      await free();
      await until(() => calls.includes('run'));
      await app.get(SchedulerLeader).resign();
      await elected(app);
      expect(job.isActive).toBe(true);
      expect(calls).not.toContain('complete');
      expect(job).toMatchObject({ onComplete, waitForCompletion });
      job.stop();
      await until(() => calls.includes('complete'));
      expect(calls.filter((call) => call === 'complete')).toHaveLength(1);
    },
  );
});

describe('a cron job that is added and started in a constructor', () => {
  let atOnce: number;

  /** A provider that does so, and one that takes its time. */
  function providers(runs: string[], ready: Promise<void>) {
    @Injectable()
    class Early {
      constructor(registry: SchedulerRegistry) {
        const onTick = (): void => void runs.push('early');
        const job = CronJob.from({ cronTime: EVERY_SECOND, onTick, start: true });
        // What is due in the very millisecond in which it is made, `cron` fires at once.
        atOnce = runs.length;
        registry.addCronJob('early', job as never);
      }
    }
    return [Early, { provide: 'SLOW', useFactory: () => ready }];
  }

  /** Starts to take its time with the first question. */
  const longerThan = (ms: number) => (): Promise<void> => {
    const begin = Date.now();
    return until(() => Date.now() > begin + ms).then(() => undefined);
  };

  test('runs nowhere but on the leader, however long the start of the application takes', async () => {
    const { store, free } = await occupied();
    const runs: string[] = [];
    const app = await startApp(providers(runs, longerThan(1_500)()), options(store));
    expect(runs).toHaveLength(atOnce);
    expect(app.logs.own.filter((line) => line.includes('before this library'))).toHaveLength(atOnce);
    await free();
    await until(() => runs.length > atOnce);
  });

  test('is named at the start if it ran while the options of the module were still to come', async () => {
    const { store } = await occupied();
    const runs: string[] = [];
    const useFactory = async () => {
      await until(() => runs.length > 0);
      return options(store);
    };
    const app = await startModule({
      imports: [ScheduleModule.forRoot(), SchedulerLockModule.forRootAsync({ useFactory })],
      providers: providers(runs, Promise.resolve()),
    });
    expect(app.logs.own).toContain(
      'warn: The cron job "early" ran on this instance before this library could stop it, and so it does on each. Make it, or start it, in onApplicationBootstrap().',
    );
    const { length } = runs;
    await until(() => skipped(app).some(({ job }) => job === 'early'));
    expect(runs).toHaveLength(length);
  });
});
