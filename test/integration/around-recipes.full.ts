import 'reflect-metadata';
import { EntityManager, RequestContext } from '@mikro-orm/core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { ClsModule, ClsService } from 'nestjs-cls';
import { SchedulerLock, SchedulerLockModule, SchedulerLockService } from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, startApp, startModule } from './app.js';

/* The recipes of docs/reference/jobs.md, "Something around each run", with the packages that they are for. */

afterEach(closeApps);

const exporter = new InMemorySpanExporter();

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
});
beforeEach(() => exporter.reset());
afterAll(() => {
  trace.disable();
  context.disable();
});

@Injectable()
class RunSpans {
  constructor(locks: SchedulerLockService) {
    locks.around((lock, proceed) => {
      const attributes = { 'app.job': lock.job ?? lock.name, 'app.fencing_token': lock.fencingToken ?? 0 };
      const root = lock.tick !== undefined;
      return trace
        .getTracer('jobs')
        .startActiveSpan(`run ${lock.job ?? lock.name}`, { attributes, root }, (span) =>
          proceed()
            .catch((error: Error) => {
              span.recordException(error);
              span.setStatus({ code: SpanStatusCode.ERROR });
              throw error;
            })
            .finally(() => span.end()),
        );
    });
  }
}

@Injectable()
class InvoiceJobs {
  fails = false;

  @SchedulerLock({ name: 'invoices' })
  async send(): Promise<void> {
    await Promise.resolve();
    trace.getTracer('app').startSpan('query').end();
    if (this.fails) throw new Error('no such invoice');
  }
}

test('OpenTelemetry: what a job does is in the span of its run, which is a child of the caller', async () => {
  const app = await startApp([InvoiceJobs, RunSpans]);
  const jobs = app.get(InvoiceJobs);
  await trace.getTracer('app').startActiveSpan('request', async (span) => {
    await jobs.send();
    span.end();
  });
  const [query, run, request] = exporter.getFinishedSpans();
  expect([query?.name, run?.name, request?.name]).toEqual(['query', 'run InvoiceJobs.send', 'request']);
  expect(query?.parentSpanContext?.spanId).toBe(run?.spanContext().spanId);
  expect(run?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
  expect(run?.attributes).toEqual({ 'app.job': 'InvoiceJobs.send', 'app.fencing_token': expect.any(Number) });
  exporter.reset();
  jobs.fails = true;
  await expect(jobs.send()).rejects.toThrow('no such invoice');
  const [, failed] = exporter.getFinishedSpans();
  expect(failed?.status.code).toBe(SpanStatusCode.ERROR);
});

test('OpenTelemetry: a run that the scheduler fires begins a trace of its own', async () => {
  @Injectable()
  class Often {
    @Cron('* * * * * *')
    @SchedulerLock({ name: 'often' })
    async run(): Promise<void> {}
  }
  await trace.getTracer('app').startActiveSpan('start', () => startApp([Often, RunSpans]));
  const run = await until(() => exporter.getFinishedSpans().find(({ name }) => name === 'run Often.run'));
  expect(run.parentSpanContext).toBeUndefined();
});

test('nestjs-cls: each run has a context of its own', async () => {
  const seen: unknown[] = [];
  @Injectable()
  class RunContexts {
    constructor(locks: SchedulerLockService, cls: ClsService) {
      locks.around((lock, proceed) =>
        cls.run(() => {
          cls.set('job', lock.job);
          return proceed();
        }),
      );
    }
  }
  @Injectable()
  class Jobs {
    constructor(private readonly cls: ClsService) {}

    @SchedulerLock({ name: 'any' })
    async run(): Promise<void> {
      await Promise.resolve();
      seen.push(this.cls.get('job'));
      this.cls.set('job', 'changed');
    }
  }
  const app = await startModule({
    imports: [
      ClsModule.forRoot(),
      ScheduleModule.forRoot(),
      SchedulerLockModule.forRoot({ store: 'memory' }),
    ],
    providers: [Jobs, RunContexts],
  });
  await app.get(Jobs).run();
  await app.get(Jobs).run();
  expect(seen).toEqual(['Jobs.run', 'Jobs.run']);
});

test('MikroORM: each run has an entity manager of its own', async () => {
  const seen: unknown[] = [];
  let forks = 0;
  // As much of one as RequestContext needs: a database is none of this test's business.
  const em = { name: 'default', fork: () => ({ name: 'default', fork: (forks += 1) }) };
  @Injectable()
  class RunEntities {
    constructor(locks: SchedulerLockService) {
      locks.around((_lock, proceed) => RequestContext.create(em as unknown as EntityManager, proceed));
    }
  }
  const app = await startApp([RunEntities]);
  for (let run = 0; run < 2; run++)
    await app.get(SchedulerLockService).run('any', async () => {
      await Promise.resolve();
      seen.push(RequestContext.getEntityManager());
    });
  expect(seen).toEqual([
    { name: 'default', fork: 1 },
    { name: 'default', fork: 2 },
  ]);
  expect(RequestContext.getEntityManager()).toBeUndefined();
});
