import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { type INestApplicationContext, Injectable, Module, type Type } from '@nestjs/common';
import { Cron, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import {
  currentLock,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockHealth,
  SchedulerLockModule,
} from 'nestjs-scheduler-lock';
import { SchedulerLockPrometheusModule } from 'nestjs-scheduler-lock/prometheus';
import { Registry } from 'prom-client';
import { childMain, type Parent } from '../../support/child.js';
import type { Gauges, MemberJob, MemberOptions } from '../support/incident-stage.js';
import { createApp } from './application.js';
import { type OpenedStore, openStore } from './open-store.js';
import { kindOf } from '../../support/events.js';

/*
 * One instance of a fleet with a scheduled job, `nightly`, of which it says what its health and its metrics are. It starts when it is told
 * so: a test that has loaded all its processes knows when the next tick may come. Started by ../support/incident-stage.ts.
 */

const METRICS = {
  scheduler_lock_job_overdue_seconds: 'overdue',
  scheduler_lock_run_overtime_seconds: 'overtime',
  scheduler_lock_run_interruptions_total: 'interruptions',
  scheduler_lock_job_interrupted: 'interrupted',
  scheduler_lock_store_available: 'available',
} as const;

/** How often, ms, and for how many times it looks at its metrics when it has started: what it says before it knows may be short. */
const LOOK = 10;
const LOOKS = 100;

/** What runs here at the moment. */
interface Running {
  readonly app: INestApplicationContext;
  readonly store: OpenedStore;
  look(): Promise<Gauges>;
  /** The least that it has ever said of the job. */
  least: number;
}

let parent: Parent;
let running: Running | undefined;
let isOver = false;
const ends: (() => void)[] = [];

function end(): void {
  isOver = true;
  for (const one of ends.splice(0)) one();
}

function jobsOf({ schedule, timeZone = 'UTC', stays = false, ...options }: MemberJob): Type {
  @Injectable()
  class Jobs {
    @Cron(schedule, { name: 'nightly', timeZone })
    @SchedulerLock({ name: 'nightly', job: 'nightly', ...options })
    async nightly(): Promise<void> {
      const { tick } = currentLock();
      // Whatever its signal says.
      const ended = new Promise<void>((resolve) => ends.push(resolve));
      await parent.send({ type: 'job-started', tick });
      if (stays && !isOver) await ended;
    }
  }
  return Jobs;
}

async function start({ store: address, ...given }: MemberOptions, job: MemberJob): Promise<void> {
  const store = await openStore(address);
  const registry = new Registry();
  @Module({
    imports: [
      ScheduleModule.forRoot(),
      SchedulerLockModule.forRoot({ ...given, ...store.options }),
      SchedulerLockPrometheusModule.forRoot({ registry }),
    ],
    providers: [jobsOf(job)],
  })
  class AppModule {}

  isOver = false;
  const app = await createApp(AppModule);
  app.get(SchedulerLockEvents).on((event) => {
    void parent.send({ ...JSON.parse(JSON.stringify(event)), type: `event:${kindOf(event)}` });
  });
  const started: Running = {
    app,
    store,
    least: Infinity,
    async look() {
      const gauges = await gaugesOf(registry);
      started.least = Math.min(started.least, gauges.overdue ?? Infinity);
      return gauges;
    },
  };
  running = started;
  void lookOften(started);
  await parent.send({ type: 'ready' });
}

async function lookOften(started: Running): Promise<void> {
  for (let left = LOOKS; left > 0 && running === started; left--) {
    await started.look();
    await sleep(LOOK);
  }
}

/** Closes the application. Another one may start in this process. */
async function stop(): Promise<void> {
  end();
  const stopped = running;
  running = undefined;
  await stopped?.app.close();
  await stopped?.store.close();
}

async function read({ app, look }: Running): Promise<void> {
  const gauges = await look();
  const { schedulerLock: health } = await app.get(SchedulerLockHealth).check();
  await parent.send({ type: 'readings', health, gauges, least: running?.least });
}

/** There is one job: each metric has one value, or none. */
async function gaugesOf(registry: Registry): Promise<Gauges> {
  const gauges: { -readonly [K in keyof Gauges]: Gauges[K] } = {};
  for (const { name, values } of await registry.getMetricsAsJSON()) {
    const key = METRICS[name as keyof typeof METRICS] as keyof Gauges | undefined;
    const [first] = values as { readonly value: number }[];
    if (key !== undefined && first !== undefined) gauges[key] = first.value;
  }
  return gauges;
}

childMain(async (channel) => {
  parent = channel;
  parent.on('start', ({ options, job }) => start(options as MemberOptions, job as MemberJob));
  parent.on('read', () => running && read(running));
  parent.on('run', () => void running?.app.get(SchedulerRegistry).getCronJob('nightly').fireOnTick());
  parent.on('stop', async () => {
    await stop();
    await parent.send({ type: 'stopped' });
  });
  parent.on('close', async () => {
    await stop();
    await parent.send({ type: 'closed' });
    // Not process.exit(): whatever was left open keeps the process from ending.
    process.removeAllListeners('disconnect');
    process.disconnect();
  });
  await parent.send({ type: 'loaded' });
});
