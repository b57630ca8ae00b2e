import 'reflect-metadata';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { createClient } from 'redis';
import { currentLock, SchedulerLock, SchedulerLockModule } from '../../lib/index.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';

let server: RedisServer;
beforeAll(async () => {
  server = await provideRedis();
}, 60_000);
afterAll(() => server.stop());

const ticks: (number | undefined)[] = [];

@Injectable()
class Jobs {
  @Cron('* * * * * *', { timeZone: 'UTC' })
  @SchedulerLock('every-second')
  async run(): Promise<void> {
    ticks.push(currentLock().tick);
  }
}

test('two applications on clients of node-redis run each tick of a job once', async () => {
  const keyPrefix = uniquePrefix('node-redis');
  const start = async (): Promise<() => Promise<void>> => {
    const client = createClient({ url: server.url, disableOfflineQueue: true });
    @Module({
      imports: [
        ScheduleModule.forRoot(),
        SchedulerLockModule.forRoot({ connection: client, keyPrefix, ttl: '1m' }),
      ],
      providers: [Jobs],
    })
    class AppModule {}
    const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
    return async () => {
      await app.close();
      await client.close();
    };
  };
  const stops = await Promise.all([start(), start()]);
  await until(() => ticks.length >= 3, { message: 'three ticks' });
  await Promise.all(stops.map((stop) => stop()));
  expect(ticks).toEqual([...new Set(ticks)]);
  expect(ticks).not.toContain(undefined);
});
