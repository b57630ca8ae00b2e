import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { context, type Context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { isTracingSuppressed } from '@opentelemetry/core';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { Redis } from 'ioredis';
import { type LockStore, SchedulerLock, SchedulerLockModule } from '../../lib/index.js';
import { SchedulerLockOtelModule } from '../../lib/show/otel/index.js';
import { MongoLockStore } from '../../lib/stores/mongo/index.js';
import { MysqlLockStore } from '../../lib/stores/mysql/index.js';
import { PostgresLockStore } from '../../lib/stores/postgres/index.js';
import { provideRedis, type RedisServer, uniquePrefix } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { closeApps, startModule } from './app.js';

const exporter = new InMemorySpanExporter();
let redis: RedisServer;
beforeAll(async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
  redis = await provideRedis();
}, 120_000);
beforeEach(() => exporter.reset());
afterEach(closeApps);
afterAll(async () => {
  trace.disable();
  context.disable();
  await redis.stop();
});

/** A span for each command, as instrumentations of databases make it. */
function traced(client: Redis): Redis {
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, stream) => {
    trace.getTracer('ioredis').startSpan(command.name).end();
    return send(command, stream);
  };
  return client;
}

const spans = (by: string): string[] =>
  exporter
    .getFinishedSpans()
    .filter(({ instrumentationScope }) => instrumentationScope.name === by)
    .map(({ name }) => name);

test('what the library sends to Redis for itself makes no spans, and what a job sends makes its own', async () => {
  @Injectable()
  class Jobs {
    ran = 0;
    @Cron('* * * * * *', { timeZone: 'UTC' })
    @SchedulerLock({ name: 'often', catchUp: '1h', rerun: 1, wait: '1s' })
    async often(): Promise<void> {
      await client.get('a key of the job');
      this.ran++;
    }
    @SchedulerLock({ name: 'kept', onHeld: 'queue' })
    async kept(): Promise<void> {}
  }
  const client = traced(new Redis(redis.url));
  const app = await startModule({
    imports: [
      ScheduleModule.forRoot(),
      SchedulerLockModule.forRoot({ connection: client, keyPrefix: uniquePrefix() }),
      SchedulerLockOtelModule.forRoot(),
    ],
    providers: [Jobs],
  });
  // What went before was sent while the module itself was starting.
  await until(() => app.get(Jobs).ran > 0);
  exporter.reset();
  const before = app.get(Jobs).ran;
  await until(() => app.get(Jobs).ran >= before + 2);
  await app.get(Jobs).kept();
  expect(new Set(spans('ioredis'))).toEqual(new Set(['get']));
  await app.close();
  await client.quit();
});

test.each<[string, (seen: (sent: Context) => Promise<never>) => LockStore]>([
  ['PostgreSQL', (seen) => new PostgresLockStore({ query: () => seen(context.active()) })],
  ['MySQL', (seen) => new MysqlLockStore({ query: () => seen(context.active()) })],
  [
    'MongoDB',
    (seen) =>
      new MongoLockStore({
        databaseName: 'app',
        command: () => seen(context.active()),
        collection: () => ({
          aggregate: () => ({ toArray: () => seen(context.active()) }),
          bulkWrite: () => seen(context.active()),
          watch: () => {
            throw new Error('away');
          },
        }),
      }),
  ],
])('nor does what it sends to %s, until the application closes', async (_, make) => {
  const sent: boolean[] = [];
  const store = make((active) => {
    sent.push(isTracingSuppressed(active));
    return Promise.reject(new Error('away'));
  });
  const ask = async (): Promise<boolean[]> => {
    sent.length = 0;
    await store.acquire({ name: 'x', token: randomUUID(), ttl: 1_000, holder: 'me' }).catch(() => undefined);
    return [...new Set(sent)];
  };
  expect(await ask()).toEqual([false]);
  const app = await startModule({
    imports: [SchedulerLockModule.forRoot({ store: 'memory' }), SchedulerLockOtelModule.forRoot()],
  });
  expect(await ask()).toEqual([true]);
  await app.close();
  expect(await ask()).toEqual([false]);
});
