import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import {
  SchedulerLockEvents,
  SchedulerLockModule,
  type SchedulerLockModuleOptions,
  SchedulerLockService,
} from '../../lib/index.js';
import { type ContenderOptions, loadRedlock } from './contenders.js';

/** A client of a lock whose calls wait until they have it. The next one may ask once the last one stands in line. */
export interface Waiter {
  ask(): Ask;
  close(): Promise<unknown>;
}

export interface Ask {
  /** Resolves when the call stands in line, or, in a library without lines, when its first attempt was refused. */
  readonly stands: Promise<unknown>;
  /** Resolves to what gives the lock back. */
  readonly granted: Promise<() => Promise<unknown>>;
}

/** Those of which `createWaiter` makes clients. */
export const WAITERS = ['blpop', 'service', 'redlock', 'redis-semaphore'] as const;
export type WaiterName = (typeof WAITERS)[number];

/** The lock for which all wait. */
export const LOCK = 'hand-off';
/** Longer than any measurement takes. */
const PATIENCE = 600_000;

export const isWaiter = (name: string): name is WaiterName => WAITERS.some((one) => one === name);

/** A client with connections of its own. */
export async function createWaiter(name: WaiterName, options: ContenderOptions): Promise<Waiter> {
  switch (name) {
    case 'blpop':
      return blpop(options);
    case 'service':
      return service({ connection: options.url, keyPrefix: options.prefix, ttl: options.ttl });
    case 'redlock':
      return redlock(options);
    case 'redis-semaphore':
      return semaphore(options);
  }
}

/**
 * The bound: the lock is a list with one token, which Redis hands to the client that has waited longest. A client that dies takes
 * the token along.
 */
async function blpop({ url, prefix }: ContenderOptions): Promise<Waiter> {
  // A connection that waits can send nothing else, so the token goes back on another one.
  const [waiting, observing, returning] = [new Redis(url), new Redis(url), new Redis(url)];
  const key = prefix + LOCK;
  // The first one of all makes the token.
  if ((await returning.setnx(`${key}:made`, '1')) === 1) await returning.rpush(key, 'token');
  const id = await waiting.client('ID');
  let under = 0;
  return {
    ask: () => {
      under += 1;
      let served = false;
      const taken = waiting.blpop(key, 0);
      // Calls of one connection stand in line behind each other: those behind the first one have been sent, no more is to be seen.
      const stands = under > 1 ? Promise.resolve() : untilBlocked(observing, id, () => served);
      const granted = taken.then(() => {
        under -= 1;
        served = true;
        return () => returning.rpush(key, 'token');
      });
      return { stands, granted };
    },
    close: async () => [waiting, observing, returning].forEach((client) => client.disconnect()),
  };
}

/** Resolves when a client waits in a blocking command, or has been served. */
async function untilBlocked(observer: Redis, id: number, served: () => boolean): Promise<void> {
  while (!served()) {
    const line = String(await observer.client('LIST', 'ID', id));
    if (/\bflags=\w*b/.test(line)) return;
  }
}

/** This library as an application uses it. */
export async function service(options: SchedulerLockModuleOptions): Promise<Waiter> {
  class App {}
  Module({ imports: [SchedulerLockModule.forRoot(options)] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const locks = app.get(SchedulerLockService);
  const told: (() => void)[] = [];
  app.get(SchedulerLockEvents).on('waiting', () => told.shift()?.());
  return {
    ask: () => {
      told.length = 0;
      const stands = new Promise<void>((resolve) => told.push(resolve));
      const lock = locks.acquire(LOCK, { wait: PATIENCE });
      return { stands, granted: lock.then((held) => () => held.release()) };
    },
    close: () => app.close(),
  };
}

/** With its default pauses between attempts, 200 ms and up to 100 ms more or less, without its limit of attempts. */
async function redlock({ url, prefix, ttl }: ContenderOptions): Promise<Waiter> {
  const client = new Redis(url);
  const Redlock = await loadRedlock();
  const locks = new Redlock([client]);
  return {
    ask: () => {
      const lock = locks.acquire([prefix + LOCK], ttl, { retryCount: -1 });
      return { stands: client.ping(), granted: lock.then((held) => () => held.release()) };
    },
    close: async () => client.disconnect(),
  };
}

/** With its default pause between attempts, 10 ms, without its limit of time. */
async function semaphore({ url, prefix, ttl }: ContenderOptions): Promise<Waiter> {
  const client = new Redis(url);
  return {
    ask: () => {
      const mutex = new Mutex(client, prefix + LOCK, { lockTimeout: ttl, acquireTimeout: PATIENCE });
      // The first attempt is sent before this, on the same connection.
      const taken = mutex.acquire();
      return { stands: client.ping(), granted: taken.then(() => () => mutex.release()) };
    },
    close: async () => client.disconnect(),
  };
}
