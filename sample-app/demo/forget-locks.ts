import { redisCommand } from '../../test/support/local-redis.js';

const JOBS = ['report', 'prices', 'mail', 'sync'];

/** Removes what a demo has left in somebody's Redis. Its locks expire by themselves, the rest only after a day. */
export async function forgetLocks(url: string, prefix: string): Promise<void> {
  const locks = JOBS.map((job) => `${prefix}:${job}:lock`);
  const states = locks.map((lock) => `{${lock}}:state`);
  const lines = states.flatMap((state) => [`${state}:line`, `${state}:who`]);
  for (const key of [...locks, ...states, ...lines]) {
    await redisCommand(url, 'DEL', key).catch(() => undefined);
  }
}
