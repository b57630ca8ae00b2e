import { afterEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, type INestApplication, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import {
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockHealth,
  SchedulerLockModule,
  StoreUnavailableError,
} from '../../lib/index.js';
import { FakeLockStore, ManualClock } from '../../lib/testing/index.js';
import { closeApps, LogLines, serve, startApp, type TestApp } from './app.js';
import { EmptyHistory } from './support/empty-history.js';
import { locksOnly } from '../support/locks-only.js';
import { isEvent } from '../support/events.js';

const MINUTE = 60_000;

@Injectable()
class Reports {
  failure: Error | undefined;

  @Cron('0 0 3 * * *', { timeZone: 'UTC' })
  @SchedulerLock({ name: 'nightly' })
  async nightly(): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
  }

  @SchedulerLock({ name: 'by-hand' })
  async byHand(): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
  }
}

@Injectable()
class Strict {
  @Cron('0 0 3 * * *', { timeZone: 'UTC' })
  @SchedulerLock({ name: 'strict', overdue: '1m', history: true })
  async nightly(): Promise<void> {
    throw new Error('no such report');
  }
}

interface Parts {
  readonly app: TestApp;
  readonly clock: ManualClock;
  readonly store: FakeLockStore;
  readonly history: EmptyHistory;
  readonly health: SchedulerLockHealth;
}

async function start(): Promise<Parts> {
  // Three in the morning comes in two minutes.
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 58));
  const history = new EmptyHistory(clock);
  const store = new FakeLockStore({ clock });
  const app = await startApp([Reports], { store: Object.assign(store, { history }), clock });
  return { app, clock, store, history, health: app.get(SchedulerLockHealth) };
}

afterEach(closeApps);

describe('from memory', () => {
  test('all is well, and the store answered at the last sign of life', async () => {
    const { health, clock } = await start();
    await clock.advance(0);
    expect(await health.check()).toEqual({
      schedulerLock: {
        status: 'up',
        store: 'up',
        lastAnswer: '2026-01-01T02:58:00.000Z',
        overdue: [],
        failing: [],
        hung: [],
        attention: [],
        unknown: [],
      },
    });
  });

  test('before the store has answered nobody knows how the jobs are: that is not up', async () => {
    const { health, clock } = await start();
    expect(await health.check()).toMatchObject({
      schedulerLock: { status: 'degraded', unknown: ['Reports.nightly', 'Reports.byHand'] },
    });
    await clock.advance(0);
    expect(await health.check()).toMatchObject({ schedulerLock: { status: 'up', unknown: [] } });
  });

  test('an outage that no other call notices to be over is over with the next sign of life', async () => {
    const { app, health, store, clock } = await start();
    await clock.advance(0);
    store.goAway();
    await app.get(Reports).byHand();
    store.comeBack();
    expect(await health.check()).toMatchObject({ schedulerLock: { store: 'away' } });
    await clock.advance(MINUTE);
    expect(await health.check()).toMatchObject({ schedulerLock: { status: 'up', store: 'up' } });
    expect(app.events.filter(isEvent('outage-ended'))).toHaveLength(1);
  });

  test('a store that is away is degraded, and down only for those who say so', async () => {
    const { app, health, store, clock } = await start();
    await clock.advance(0);
    store.goAway();
    await clock.advance(1_000);
    await app.get(Reports).byHand();
    const lastAnswer = '2026-01-01T02:58:00.000Z';
    expect(await health.check()).toMatchObject({
      schedulerLock: { status: 'degraded', store: 'away', lastAnswer },
    });
    expect(await health.check({ down: ['overdue', 'failing'] })).toMatchObject({
      schedulerLock: { status: 'degraded' },
    });
    expect(await health.check({ down: ['store'] })).toMatchObject({ schedulerLock: { status: 'down' } });
    expect(await health.check({ degraded: 'up' })).toMatchObject({ schedulerLock: { status: 'up' } });
    store.comeBack();
    await app.get(Reports).byHand();
    expect(await health.check()).toMatchObject({ schedulerLock: { status: 'up', store: 'up' } });
  });

  test('where no job asks for a lock, the sign of life that fails tells that the store is away', async () => {
    const { health, history, clock } = await start();
    history.failure = new StoreUnavailableError('away', { outcome: 'unknown' });
    await clock.advance(MINUTE);
    expect(await health.check()).toMatchObject({ schedulerLock: { store: 'away' } });
    history.failure = undefined;
    await clock.advance(MINUTE);
    expect(await health.check()).toMatchObject({ schedulerLock: { store: 'up' } });
  });

  test('a store that refuses signs of life is up, as it may grant locks; its jobs are unknown', async () => {
    const { health, history, clock } = await start();
    history.failure = new StoreUnavailableError('NOPERM', { outcome: 'not-applied', refused: true });
    await clock.advance(MINUTE);
    const { schedulerLock } = await health.check();
    expect(schedulerLock).toMatchObject({ status: 'degraded', store: 'up' });
    expect(schedulerLock.unknown).toContain('Reports.nightly');
    history.failure = undefined;
    await clock.advance(MINUTE);
    expect(await health.check()).toMatchObject({ schedulerLock: { status: 'up', unknown: [] } });
  });

  test('a job that nobody has started in time is overdue', async () => {
    const { health, clock } = await start();
    await clock.advance(2 * MINUTE);
    expect(await health.check()).toMatchObject({ schedulerLock: { status: 'up', overdue: [] } });
    await clock.advance(2 * MINUTE);
    const overdue = [{ job: 'Reports.nightly', tick: '2026-01-01T03:00:00.000Z' }];
    expect(await health.check()).toMatchObject({ schedulerLock: { status: 'degraded', overdue } });
    expect(await health.check({ down: ['overdue'] })).toMatchObject({ schedulerLock: { status: 'down' } });
  });

  test('a job fails until a run of it completes here', async () => {
    const { app, health, clock } = await start();
    await clock.advance(0);
    const reports = app.get(Reports);
    reports.failure = new Error('no such report');
    await expect(reports.byHand()).rejects.toThrow('no such report');
    const failing = await health.check();
    expect(failing).toMatchObject({ schedulerLock: { status: 'degraded', failing: ['Reports.byHand'] } });
    expect(JSON.stringify(failing)).not.toContain('no such report');
    expect(await health.check({ down: ['failing'] })).toMatchObject({ schedulerLock: { status: 'down' } });
    reports.failure = undefined;
    await reports.byHand();
    expect(await health.check()).toMatchObject({ schedulerLock: { status: 'up', failing: [] } });
  });

  test.each([
    ['the store remembers no runs', {}, false],
    ['nothing is to be known of others', { insight: false } as const, true],
  ])(
    'a job with ticks that is not watched fails by its last run here: %s',
    async (_name, options, remembers) => {
      const clock = new ManualClock(Date.UTC(2026, 0, 1, 2, 58));
      const store = new FakeLockStore({ clock });
      if (!remembers) Object.assign(store, { keeps: locksOnly.keeps });
      const app = await startApp([Strict], { store, clock, ...options });
      await clock.advance(2 * MINUTE);
      await expect(app.get(Strict).nightly()).rejects.toThrow('no such report');
      const health = await app.get(SchedulerLockHealth).check();
      expect(health).toMatchObject({ schedulerLock: { status: 'degraded', failing: ['Strict.nightly'] } });
    },
  );
});

test('no event about runs is made for the sake of it', async () => {
  const store = new FakeLockStore();
  const module = await Test.createTestingModule({
    imports: [SchedulerLockModule.forRoot({ store, log: false })],
  })
    .setLogger(new LogLines())
    .compile();
  const { hears } = module.get(SchedulerLockEvents);
  expect((['acquired', 'released', 'skipped', 'refusal', 'lost'] as const).filter(hears)).toEqual([]);
  await module.close();
});

describe('with Terminus 12', () => {
  let app: INestApplication | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  @Controller('health')
  class HealthController {
    constructor(
      private readonly health: HealthCheckService,
      private readonly jobs: SchedulerLockHealth,
    ) {}

    @Get('ready')
    @HealthCheck()
    ready() {
      return this.health.check([() => this.jobs.check()]);
    }

    @Get('strict')
    @HealthCheck()
    strict() {
      return this.health.check([() => this.jobs.check({ down: ['store'] })]);
    }
  }

  async function get(url: string): Promise<{ status: number; body: unknown }> {
    const response = await fetch(url);
    return { status: response.status, body: await response.json() };
  }

  test('degraded is 200, and down is 503', async () => {
    const store = new FakeLockStore();
    @Module({
      imports: [TerminusModule, ScheduleModule.forRoot(), SchedulerLockModule.forRoot({ store, log: false })],
      controllers: [HealthController],
      providers: [Reports],
    })
    class AppModule {}
    app = await NestFactory.create(AppModule, { logger: false });
    const url = await serve(app);
    await app.get(Reports).byHand();
    const up = { schedulerLock: expect.objectContaining({ status: 'up', store: 'up' }) as unknown };
    expect(await get(`${url}/health/ready`)).toMatchObject({
      status: 200,
      body: { status: 'ok', details: up },
    });

    store.goAway();
    await app.get(Reports).byHand();
    expect(await get(`${url}/health/ready`)).toMatchObject({
      status: 200,
      body: {
        status: 'degraded',
        details: { schedulerLock: { status: 'degraded', store: 'away', failing: [] } },
      },
    });
    expect(await get(`${url}/health/strict`)).toMatchObject({
      status: 503,
      body: { status: 'error', error: { schedulerLock: { status: 'down', store: 'away' } } },
    });
  });
});
