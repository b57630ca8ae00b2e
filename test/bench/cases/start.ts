import { Injectable, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { SchedulerLock, SchedulerLockModule } from '../../../lib/index.js';
import type { Figures, Task } from '../task.js';

const CLASSES = 20;

/**
 * An application with a thousand scheduled methods, from the definition of its classes to its start: `service`
 * decorates each, `raw` none.
 */
export async function measureStart({ contender, url, prefix, quick }: Task): Promise<Figures> {
  const methods = (quick ? 100 : 1_000) / CLASSES;
  const start = performance.now();
  const cpuBefore = process.cpuUsage();
  const classes = Array.from({ length: CLASSES }, (_, i) => jobs(methods, contender === 'service', i));
  await startApp(url, prefix, classes);
  const cpu = process.cpuUsage(cpuBefore);
  return { wall: performance.now() - start, cpu: (cpu.user + cpu.system) / 1e3 };
}

async function startApp(url: string, prefix: string, providers: Type[]): Promise<void> {
  class App {}
  const locks = SchedulerLockModule.forRoot({ connection: url, keyPrefix: prefix });
  Module({ imports: [ScheduleModule.forRoot(), locks], providers })(App);
  await NestFactory.createApplicationContext(App, { logger: false });
}

/** A provider class with so many scheduled methods. */
function jobs(methods: number, locked: boolean, index: number): Type {
  const name = `Jobs${index}`;
  const Jobs = { [name]: class {} }[name] as Type;
  const prototype = Jobs.prototype as Record<string, () => Promise<void>>;
  for (let i = 0; i < methods; i++) {
    const key = `job${i}`;
    prototype[key] = async () => undefined;
    const descriptor = { value: prototype[key], writable: true, configurable: true, enumerable: false };
    Interval(86_400_000)(prototype, key, descriptor);
    if (locked) SchedulerLock()(prototype, key, descriptor);
    Object.defineProperty(prototype, key, descriptor);
  }
  Injectable()(Jobs);
  return Jobs;
}
