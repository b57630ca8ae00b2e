import 'reflect-metadata';
import { Injectable, Module, type Type } from '@nestjs/common';
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
import { closeOnDemand, createApp } from './application.js';
import { openStore } from './open-store.js';

/*
 * One instance of a fleet with a scheduled job, `nightly`, of which it says what its health and its metrics are. It starts when it is told
 * so: a test that has loaded all its processes knows when the next tick may come. Started by ../support/incident-stage.ts.
 */

const METRICS = {
  scheduler_lock_job_overdue_seconds: 'overdue',
  scheduler_lock_run_overtime_seconds: 'overtime',
  scheduler_lock_run_interruptions_total: 'interruptions',
  scheduler_lock_store_available: 'available',
} as const;

/** How often it looks at its metrics, ms. */
const LOOKS = 25;

let parent: Parent;
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

  const app = await createApp(AppModule);
  app.get(SchedulerLockEvents).on(({ type, ...facts }) => {
    void parent.send({ ...JSON.parse(JSON.stringify(facts)), type: `event:${type}` });
  });
  const health = app.get(SchedulerLockHealth);
  /** The least that it has ever said of the job. */
  let least = Infinity;
  const look = async (): Promise<Gauges> => {
    const gauges = await gaugesOf(registry);
    least = Math.min(least, gauges.overdue ?? Infinity);
    return gauges;
  };
  const looks = setInterval(() => void look(), LOOKS);
  parent.on('read', async () => {
    const gauges = await look();
    const { schedulerLock } = await health.check();
    await parent.send({ type: 'readings', health: schedulerLock, gauges, least });
  });
  parent.on('run', () => void app.get(SchedulerRegistry).getCronJob('nightly').fireOnTick());
  parent.on('close', () => clearInterval(looks));
  closeOnDemand(parent, app, store);
  await parent.send({ type: 'ready' });
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
  parent.on('start', async (message) => {
    await start(message['options'] as MemberOptions, message['job'] as MemberJob);
  });
  parent.on('end', end);
  parent.on('close', end);
  await parent.send({ type: 'loaded' });
});
