import 'reflect-metadata';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createObserveModule } from '@nestjs/observe';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import { currentLock, LeaderElection, SchedulerLock, SchedulerLockModule } from '../../lib/index.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { LogLines } from './app.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await provideRedis();
}, 120_000);
afterAll(async () => {
  await redis.stop();
});

test('beside the whole of NestJS Observe, jobs, queued calls and elections go on by the client of the application, and nothing is logged', async () => {
  const ran: unknown[] = [];
  const led: string[] = [];
  @Injectable()
  class Jobs {
    @Cron('* * * * * *', { timeZone: 'UTC' })
    @SchedulerLock()
    async run(): Promise<void> {
      ran.push(currentLock().tick);
    }
    @SchedulerLock({ onHeld: 'queue' })
    async kept(what: string): Promise<void> {
      ran.push(what);
    }
  }
  @Injectable()
  @LeaderElection('feed')
  class Feed {
    onElected(): void {
      led.push('elected');
    }
    onRevoked(): void {
      led.push('revoked');
    }
  }
  @Module({
    providers: [{ provide: 'REDIS', useFactory: () => new Redis(redis.url) }],
    exports: ['REDIS'],
  })
  class RedisModule {}
  const { ObserveModule, ObserveInstrument } = createObserveModule();
  const observe = { appKey: 'key', appSecret: 'secret', serviceId: 'app', endpoint: 'http://127.0.0.1:9' };
  @Module({
    imports: [
      ObserveModule.forRoot(observe),
      ScheduleModule.forRoot(),
      SchedulerLockModule.forRootAsync({
        imports: [RedisModule],
        inject: ['REDIS'],
        useFactory: (connection: Redis) => ({
          connection,
          keyPrefix: uniquePrefix(),
          leader: { name: 'main' },
        }),
      }),
    ],
    providers: [Jobs, Feed, { provide: 'ALIAS', useExisting: Feed }],
  })
  class App {}
  const logs = new LogLines();
  const app = await NestFactory.createApplicationContext(App, {
    logger: logs,
    abortOnError: false,
    ...(ObserveInstrument && { instrument: ObserveInstrument }),
  });
  await until(() => ran.length >= 2 && led.length > 0, { message: () => logs.own.join('\n') });
  await app.get(Jobs).kept('by hand');
  const isTick = (one: unknown): boolean => typeof one === 'number';
  const ticks = ran.filter(isTick);
  expect(ticks).toEqual([...new Set(ticks)]);
  expect(ran.filter((one) => !isTick(one))).toEqual(['by hand']);
  expect(logs.own.filter((line) => /^(warn|error)/.test(line))).toEqual([]);
  const client = app.get<Redis>('REDIS');
  await app.close();
  expect(led).toEqual(['elected', 'revoked']);
  await client.quit();
});
