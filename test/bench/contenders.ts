import { randomUUID } from 'node:crypto';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import { type LockStore, SchedulerLockModule, SchedulerLockService } from '../../lib/index.js';
import { systemClock } from '../../lib/base/clock.js';
import type { JobStart } from '../../lib/base/job-start.js';
import type { LockCall } from '../../lib/lock/lock-call.js';
import { LockRunner } from '../../lib/lock/lock-runner.js';
import { RedisLockStore } from '../../lib/stores/redis/index.js';

/** A library that takes locks: this one, others, and the minimum that is possible. */
export interface Contender {
  /**
   * Takes the lock, arms its renewal, runs `job` and releases the lock. Resolves to whether the job ran.
   *
   * @param start only this library without Nest takes note of it
   */
  run(name: string, job: Job, start?: JobStart): Promise<boolean>;
  /** The key in Redis that holds the lock. */
  key(name: string): string;
  close(): Promise<void>;
}

/** `signal` aborts when the lock is lost, if the contender notices that. */
export type Job = (signal?: () => AbortSignal) => Promise<void> | void;

export type ContenderName =
  'raw' | 'pipelined' | 'fenced' | 'blpop' | 'bullmq' | 'service' | 'runner' | 'redlock' | 'redis-semaphore';

export interface ContenderOptions {
  readonly url: string;
  /** The prefix of all keys of this run. */
  readonly prefix: string;
  readonly ttl: number;
}

/** The members of `redlock` that are used: its package has no types that a current compiler finds. */
export interface Redlock {
  acquire(
    keys: string[],
    ttl: number,
    settings: { retryCount: number },
  ): Promise<{ release(): Promise<unknown> }>;
  using(
    keys: string[],
    ttl: number,
    settings: { retryCount: number; automaticExtensionThreshold: number },
    job: (signal: AbortSignal) => Promise<void>,
  ): Promise<void>;
}

const COMPARE_DELETE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end`;
const COMPARE_EXPIRE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end`;
const FENCED_SET = `if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) else return 0 end`;

export async function createContender(name: ContenderName, options: ContenderOptions): Promise<Contender> {
  switch (name) {
    case 'raw':
      return raw(options);
    case 'pipelined':
      return raw(options, { enableAutoPipelining: true });
    case 'fenced':
      return fenced(options);
    case 'bullmq':
      throw new Error('bullmq only works queued calls off: see cases/queued-calls.ts');
    case 'blpop':
      throw new Error('blpop only waits: see waiters.ts');
    case 'service':
      return service(options);
    case 'runner':
      return runner(options);
    case 'redlock':
      return redlock(options);
    case 'redis-semaphore':
      return semaphore(options);
  }
}

/** The recipe of https://redis.io/docs/latest/commands/set/ and nothing else: no renewal, no fencing. */
async function raw(
  { url, prefix, ttl }: ContenderOptions,
  { enableAutoPipelining = false } = {},
): Promise<Contender> {
  // With it, what is called in one turn of the event loop is sent at once.
  const client = new Redis(url, { enableAutoPipelining });
  const release = (await client.script('LOAD', COMPARE_DELETE)) as string;
  const key = (name: string): string => prefix + name;
  return {
    key,
    run: async (name, job) => {
      const token = randomUUID();
      if ((await client.set(key(name), token, 'PX', ttl, 'NX')) === null) return false;
      await job();
      await client.evalsha(release, 1, key(name), token);
      return true;
    },
    close: async () => client.disconnect(),
  };
}

/** The same with a fencing token and a renewal, as written by hand: it sends the text of the script each time. */
async function fenced({ url, prefix, ttl }: ContenderOptions): Promise<Contender> {
  const client = new Redis(url);
  const key = (name: string): string => `{${prefix}${name}}`;
  return {
    key,
    run: async (name, job) => {
      const token = randomUUID();
      const fence = await client.eval(FENCED_SET, 2, key(name), `${key(name)}:fence`, token, ttl);
      if (fence === 0) return false;
      const renew = (): void => void client.eval(COMPARE_EXPIRE, 1, key(name), token, ttl);
      const timer = setInterval(renew, ttl * 0.3);
      await job();
      clearInterval(timer);
      await client.eval(COMPARE_DELETE, 1, key(name), token);
      return true;
    },
    close: async () => client.disconnect(),
  };
}

const hasRun = ({ ran }: { ran: boolean }): boolean => ran;

/** This library as an application uses it. */
async function service({ url, prefix, ttl }: ContenderOptions): Promise<Contender> {
  class App {}
  Module({ imports: [SchedulerLockModule.forRoot({ connection: url, keyPrefix: prefix, ttl })] })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const locks = app.get(SchedulerLockService);
  return {
    key: (name) => `${prefix}:${name}:lock`,
    run: (name, job) => locks.run(name, (lock) => job(() => lock.signal)).then(hasRun),
    close: () => app.close(),
  };
}

/** This library without Nest. */
async function runner({ url, prefix, ttl }: ContenderOptions): Promise<Contender> {
  const key = (name: string): string => `${prefix}:${name}:lock`;
  const store = new RedisLockStore(url, { key });
  await store.init();
  return { key, ...overStore(store, ttl) };
}

/** The locks of this library over a store, which is closed with them. */
export function overStore(store: LockStore, ttl: number): Pick<Contender, 'run' | 'close'> {
  // Nobody listens, as in an application whose logger does not show the level debug.
  const hears = (): boolean => false;
  const leases = new LockRunner(store, `bench:${process.pid}`, systemClock, () => undefined, 2_000, hears);
  const settings: LockCall['settings'] = {
    ttl,
    heartbeat: Math.floor(ttl * 0.3),
    timeout: undefined,
    atLeast: 0,
    storeTimeout: Math.min(2_000, Math.floor(ttl / 3)),
    enabled: true,
    onStoreError: 'skip',
  };
  return {
    run: (name, job, start) => {
      const kind = start === undefined ? ('by-hand' as const) : ('fired' as const);
      const call = { kind, name, job: start && name, settings, start, brief: true };
      return leases.run(call, (lock) => job(() => lock.signal)).then(hasRun);
    },
    close: async () => {
      await leases.shutdown(1_000);
      await store.close?.();
    },
  };
}

export async function loadRedlock(): Promise<new (clients: Redis[]) => Redlock> {
  const packageName: string = 'redlock';
  const { default: Redlock } = (await import(packageName)) as { default: new (clients: Redis[]) => Redlock };
  return Redlock;
}

async function redlock({ url, prefix, ttl }: ContenderOptions): Promise<Contender> {
  const client = new Redis(url);
  const Redlock = await loadRedlock();
  const locks = new Redlock([client]);
  // Its default of 500 ms, which must be well below the ttl.
  const settings = { retryCount: 0, automaticExtensionThreshold: Math.min(500, ttl / 2) };
  const key = (name: string): string => prefix + name;
  return {
    key,
    run: async (name, job) => {
      let ran = false;
      try {
        await locks.using([key(name)], ttl, settings, async (signal) => {
          ran = true;
          await job(() => signal);
        });
      } catch (error) {
        if (ran) throw error;
      }
      return ran;
    },
    close: async () => client.disconnect(),
  };
}

async function semaphore({ url, prefix, ttl }: ContenderOptions): Promise<Contender> {
  const client = new Redis(url);
  const options = { lockTimeout: ttl, acquireAttemptsLimit: 1, retryInterval: 0 };
  return {
    key: (name) => `mutex:${prefix}${name}`,
    run: async (name, job) => {
      let lost: AbortController | undefined;
      const onLockLost = (): void => lost?.abort();
      const mutex = new Mutex(client, prefix + name, { ...options, onLockLost });
      if (!(await mutex.tryAcquire())) return false;
      await job(() => (lost ??= new AbortController()).signal);
      await mutex.release();
      return true;
    },
    close: async () => client.disconnect(),
  };
}
