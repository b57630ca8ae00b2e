import type { Redis } from 'ioredis';

/** Of one operation, in microseconds: the time that passed, and the processor time of node, of Redis and of both. */
type Cost = Record<'wall' | 'node' | 'redis' | 'cpu', number>;

/** What `work` costs, which does `operations` operations. `observer` is a connection that `work` does not use. */
export async function measure(observer: Redis, operations: number, work: () => Promise<void>): Promise<Cost> {
  const redisBefore = await redisCpu(observer);
  const before = process.cpuUsage();
  const start = performance.now();
  await work();
  const wall = (performance.now() - start) * 1e3;
  const { user, system } = process.cpuUsage(before);
  const node = (user + system) / operations;
  const redis = ((await redisCpu(observer)) - redisBefore) / operations;
  return { wall: wall / operations, node, redis, cpu: node + redis };
}

/**
 * As many turns as will be measured, in the same way, for nothing: a process that runs jobs for days is measured by what compiled
 * code costs, not by what compiling costs.
 */
export async function warmUp(turn: () => Promise<unknown>, turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await turn();
}

/** Microseconds of processor time that Redis has used since its start. */
async function redisCpu(observer: Redis): Promise<number> {
  const info = await observer.info('cpu');
  const seconds = (field: string): number =>
    Number(new RegExp(`^${field}:(.*)$`, 'm').exec(info)?.[1] ?? NaN);
  return (seconds('used_cpu_sys') + seconds('used_cpu_user')) * 1e6;
}

/** How often each command was called, those inside of scripts included. */
export async function commandCalls(observer: Redis): Promise<Map<string, number>> {
  const info = await observer.info('commandstats');
  const lines = info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
  return new Map([...lines].map(([, command = '', calls]) => [command, Number(calls)]));
}
