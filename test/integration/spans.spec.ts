import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { context, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { AlreadyCommittedError } from '../../lib/guard/index.js';
import { currentLock, SchedulerLock, SchedulerLockModule, SchedulerLockService } from '../../lib/index.js';
import { SchedulerLockOtelModule, type SchedulerLockOtelOptions } from '../../lib/show/otel/index.js';
import { FakeLockStore } from '../../lib/testing/index.js';
import { until } from '../support/until.js';
import { closeApps, startModule, type TestApp } from './app.js';

const exporter = new InMemorySpanExporter();

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
});
beforeEach(() => exporter.reset());
afterEach(closeApps);
afterAll(() => {
  trace.disable();
  context.disable();
});

@Injectable()
class Jobs {
  ticks = 0;
  act: () => unknown = () => undefined;

  @Cron('* * * * * *', { timeZone: 'UTC' })
  @SchedulerLock({ name: 'often' })
  async often(): Promise<void> {
    this.ticks += 1;
  }

  @SchedulerLock({ name: 'by-hand' })
  async byHand(): Promise<void> {
    trace.getTracer('app').startSpan('query').end();
    await this.act();
  }

  @SchedulerLock({ name: 'brief', timeout: '50ms' })
  async brief(): Promise<void> {
    const { signal } = currentLock();
    await until(() => signal.aborted);
  }

  @SchedulerLock({ name: 'kept', onHeld: 'queue' })
  async kept(_what: string): Promise<void> {}
}

async function start(
  options: SchedulerLockOtelOptions = {},
): Promise<{ app: TestApp; jobs: Jobs; store: FakeLockStore }> {
  const store = new FakeLockStore();
  const app = await startModule({
    imports: [
      ScheduleModule.forRoot(),
      SchedulerLockModule.forRoot({ store }),
      SchedulerLockOtelModule.forRoot(options),
    ],
    providers: [Jobs],
  });
  return { app, jobs: app.get(Jobs), store };
}

const spanOf = (name: string): ReadableSpan | undefined =>
  exporter.getFinishedSpans().find((span) => span.name === name);

test('a run by hand is a child of its caller, and what its job does is in it', async () => {
  const { jobs, store } = await start();
  await trace.getTracer('app').startActiveSpan('request', async (request) => {
    await jobs.byHand();
    request.end();
  });
  const [query, run, request] = ['query', 'run Jobs.byHand', 'request'].map(spanOf);
  expect(query?.parentSpanContext?.spanId).toBe(run?.spanContext().spanId);
  expect(run?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
  expect(run?.status.code).toBe(SpanStatusCode.UNSET);
  const { attributes = {} } = run ?? {};
  expect(attributes).toEqual({
    'scheduler_lock.lock': 'by-hand',
    'scheduler_lock.job.name': 'Jobs.byHand',
    'scheduler_lock.attempt': 1,
    'scheduler_lock.fencing_token': expect.any(Number),
  });
  // The page links to it.
  const [entry] = await store.history.entries({ name: 'by-hand', limit: 1 });
  expect(entry).toMatchObject({ type: 'run', traceId: run?.spanContext().traceId });
});

test('a run that the scheduler fires begins a trace of its own, and has its tick', async () => {
  await trace.getTracer('app').startActiveSpan('start', () => start());
  const run = await until(() => spanOf('run Jobs.often'));
  expect(run.parentSpanContext).toBeUndefined();
  expect(run.attributes['scheduler_lock.tick']).toEqual(expect.any(Number));
});

test('a queued call begins a trace of its own: its caller does not wait for it', async () => {
  const { jobs, store } = await start();
  await store.hold('kept');
  await trace.getTracer('app').startActiveSpan('request', async (request) => {
    await jobs.kept('this');
    request.end();
  });
  await store.free('kept');
  const run = await until(() => spanOf('run Jobs.kept'));
  expect(run.parentSpanContext).toBeUndefined();
});

test('a run that fails says with what kind of error, and not with which text', async () => {
  const { jobs } = await start();
  jobs.act = () => Promise.reject(new TypeError('of Alice'));
  await expect(jobs.byHand()).rejects.toThrow('of Alice');
  const run = spanOf('run Jobs.byHand');
  expect(run?.status).toEqual({ code: SpanStatusCode.ERROR });
  expect(run?.attributes['error.type']).toBe('TypeError');
  expect(JSON.stringify([run?.attributes, run?.events])).not.toContain('Alice');
});

test('a run whose tick has committed before has not failed, whatever it throws', async () => {
  const { jobs } = await start();
  jobs.act = () => Promise.reject(new AlreadyCommittedError('by-hand', 'Jobs.byHand', 1, '', false));
  await jobs.byHand();
  expect(spanOf('run Jobs.byHand')?.status.code).toBe(SpanStatusCode.UNSET);
});

test('a lost lease is an event of the span, and its failure, whatever the job throws after it', async () => {
  const { jobs, store } = await start();
  jobs.act = async () => {
    await store.lose('by-hand');
    throw new TypeError('too late');
  };
  await expect(jobs.byHand()).rejects.toThrow('too late');
  const run = spanOf('run Jobs.byHand');
  expect(run?.events).toMatchObject([
    { name: 'lost', attributes: { 'scheduler_lock.loss.reason': 'taken' } },
  ]);
  expect(run?.status.code).toBe(SpanStatusCode.ERROR);
  expect(run?.attributes['error.type']).toBe('LockLostError');
});

test('so is a timeout that passes', async () => {
  const { jobs } = await start();
  await jobs.brief();
  const run = spanOf('run Jobs.brief');
  expect(run?.events).toMatchObject([{ name: 'timeout' }]);
  expect(run?.attributes['error.type']).toBe('LockTimeoutError');
});

test('a lock without a job is a run without a name: names of locks may be any number', async () => {
  const { app } = await start();
  await app.get(SchedulerLockService).run('report of Alice', () => 'done');
  expect(spanOf('run')?.attributes['scheduler_lock.lock']).toBe('report of Alice');
});

test('a trace that is not kept is not remembered', async () => {
  const tracer = new BasicTracerProvider({ sampler: new AlwaysOffSampler() }).getTracer('off');
  const { jobs, store } = await start({ tracer });
  await jobs.byHand();
  const [entry] = await store.history.entries({ name: 'by-hand', limit: 1 });
  expect(entry).toMatchObject({ type: 'run', outcome: 'completed' });
  expect(entry).not.toHaveProperty('traceId');
});

test('with spans: false there are none', async () => {
  const { jobs } = await start({ spans: false });
  await jobs.byHand();
  expect(spanOf('query')).toBeDefined();
  expect(spanOf('run Jobs.byHand')).toBeUndefined();
});
