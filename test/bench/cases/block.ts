import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Redis } from 'ioredis';
import { createContender } from '../contenders.js';
import type { Figures, Task } from '../task.js';

const TTL = 500;
/** How long to wait for a signal that may never come. */
const PATIENCE = 3_000;

/** Takes the lock by the plain recipe as soon as it has expired, while the loop of the main thread stands still. */
const NEXT_HOLDER = `
const { workerData: { url, key, flag } } = require('node:worker_threads');
const { Redis } = require('ioredis');
const client = new Redis(url);
const attempt = async () => {
  if (await client.set(key, 'the next holder', 'PX', 60000, 'NX')) {
    Atomics.store(flag, 0, 1);
    return client.disconnect();
  }
  setTimeout(attempt, 5);
};
attempt();
`;

/**
 * The event loop is blocked for three times the ttl: when the job's signal aborts, and what the late release does.
 */
export async function measureBlock({ contender: name, url, prefix }: Task): Promise<Figures> {
  if (name === 'idle') throw new Error('An idle process takes no locks');
  const contender = await createContender(name, { url, prefix, ttl: TTL });
  const key = contender.key('blocked');
  const flag = new Int32Array(new SharedArrayBuffer(4));
  let [signalled, threw] = [Infinity, 0];
  const job = async (signal?: () => AbortSignal): Promise<void> => {
    const aborted = new Promise<void>((resolve) => signal?.().addEventListener('abort', () => resolve()));
    const worker = new Worker(NEXT_HOLDER, { eval: true, workerData: { url, key, flag } });
    await new Promise((resolve) => worker.once('online', resolve));
    blockLoop(3 * TTL);
    const free = performance.now();
    const told = aborted.then(() => (signalled = performance.now() - free));
    await Promise.race([told, sleep(PATIENCE)]);
    if (Atomics.load(flag, 0) === 0) throw new Error('Nobody took the lock meanwhile');
  };
  try {
    await contender.run('blocked', job);
  } catch (error) {
    if (Atomics.load(flag, 0) === 0) throw error;
    threw = 1;
  }
  const observer = new Redis(url);
  const freed = (await observer.get(key)) === 'the next holder' ? 0 : 1;
  observer.disconnect();
  // Infinity does not survive JSON.
  return { signalled: Math.min(signalled, Number.MAX_SAFE_INTEGER), threw, freed };
}

function blockLoop(duration: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, duration);
}
