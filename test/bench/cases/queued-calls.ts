import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { SchedulerLock, SchedulerLockModule, SchedulerLockService } from '../../../lib/index.js';
import { countCommands, measure } from '../measure.js';
import type { Figures, Task } from '../task.js';

const TTL = 60_000;
const [CALLS, LOCKS] = [10_000, 100];
/** How many queued calls are given at a time. */
const AT_ONCE = 100;

/** Somebody who keeps queued calls, and works them off. */
interface Drainer {
  keep(lock: string): Promise<unknown>;
  /** Resolves when this many have run. */
  workOff(count: number): Promise<void>;
  close(): Promise<unknown>;
}

/** Queued calls of many locks that all find theirs taken: what it costs to keep each, and to run it when the locks are free. */
export async function measureQueuedCalls({ contender, url, prefix, quick }: Task): Promise<Figures> {
  const count = quick ? CALLS / 10 : CALLS;
  const drainer = await (contender === 'bullmq' ? bullmq(url, prefix) : service(url, prefix));
  const observer = new Redis(url);
  await observer.ping();
  const keep = async (calls: number): Promise<void> => {
    for (let i = 0; i < calls; i += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => drainer.keep(`lock-${(i + n) % LOCKS}`)));
  };
  // The code is compiled before the first figure. What is counted is not measured: those who are watched are slower.
  await keep(count);
  const commands = await countCommands(url, () => drainer.workOff(count));
  const queued = await measure(observer, count, () => keep(count));
  const ran = await measure(observer, count, () => drainer.workOff(count));
  observer.disconnect();
  await drainer.close();
  return {
    'queued per second': 1e6 / queued.wall,
    'run per second': 1e6 / ran.wall,
    'redis to queue': queued.redis,
    'redis to run': ran.redis,
    'node to queue': queued.node,
    'node to run': ran.node,
    commands: commands / count,
  };
}

/** This library as an application uses it: one at a time of each lock. */
async function service(url: string, prefix: string): Promise<Drainer> {
  let [left, done] = [0, (): void => undefined];
  class Job {
    @SchedulerLock<[lock: string]>({
      name: (lock) => lock,
      onHeld: 'queue',
      queue: { max: 10_000 },
    })
    async run(_lock: string): Promise<void> {
      if (--left === 0) done();
    }
  }
  class App {}
  Module({
    imports: [SchedulerLockModule.forRoot({ connection: url, keyPrefix: prefix, ttl: TTL })],
    providers: [Job],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const [job, locks] = [app.get(Job), app.get(SchedulerLockService)];
  const take = (): Promise<{ release(): Promise<unknown> }[]> =>
    Promise.all(Array.from({ length: LOCKS }, (_, n) => locks.acquire(`lock-${n}`, { wait: TTL })));
  let held = await take();
  return {
    keep: (lock) => job.run(lock),
    workOff: async (count) => {
      left = count;
      const all = new Promise<void>((resolve) => (done = resolve));
      for (const lock of held) void lock.release();
      await all;
      held = await take();
    },
    close: async () => {
      await Promise.all(held.map((lock) => lock.release()));
      await app.close();
    },
  };
}

/** A queue with one worker, which runs as many at a time as there are locks, of whichever lock: order by key is for its paid edition. */
async function bullmq(url: string, prefix: string): Promise<Drainer> {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue('queued-calls', { connection, prefix });
  await queue.waitUntilReady();
  let [left, done] = [0, (): void => undefined];
  const run = async (): Promise<void> => {
    if (--left === 0) done();
  };
  const worker = new Worker('queued-calls', run, { connection, prefix, concurrency: LOCKS, autorun: false });
  await worker.waitUntilReady();
  await worker.pause(true);
  void worker.run();
  return {
    keep: (lock) => queue.add('call', [lock], { removeOnComplete: true }),
    workOff: async (count) => {
      left = count;
      const all = new Promise<void>((resolve) => (done = resolve));
      void worker.resume();
      await all;
      await worker.pause();
    },
    close: async () => {
      await worker.close();
      await queue.close();
      connection.disconnect();
    },
  };
}
