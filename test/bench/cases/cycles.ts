import { Redis } from 'ioredis';
import { type Contender, createContender } from '../contenders.js';
import { measure } from '../measure.js';
import type { Task, TurnTaker } from '../task.js';

/** Renewals are armed and never come due. */
const TTL = 60_000;
const NAMES = 100;

/** Take and give back, one after another. */
export async function takeCycles(task: Task): Promise<TurnTaker> {
  // Warmed up long enough for compiled code: a process that runs jobs for days is not measured by its first second.
  const [cycles, warmUp, turns] = task.quick ? [50, 200, 2] : [2_000, 40_000, 20];
  return withContender(task, turns, cycles, async (contender, count = warmUp) => {
    for (let i = 0; i < count; i++) await taken(contender, `job-${i % NAMES}`);
  });
}

/** A thousand locks taken and given back at once. */
export async function takeAtOnce(task: Task): Promise<TurnTaker> {
  const [keys, volleys, warmUp, turns] = task.quick ? [100, 1, 1, 2] : [1_000, 3, 30, 20];
  const names = Array.from({ length: keys }, (_, i) => `job-${i}`);
  return withContender(task, turns, keys * volleys, async (contender, count) => {
    const rounds = count === undefined ? warmUp : count / keys;
    for (let i = 0; i < rounds; i++) await Promise.all(names.map((name) => taken(contender, name)));
  });
}

/** @param work does `count` operations, or as many as it takes to warm up */
async function withContender(
  { contender: name, url, prefix }: Task,
  turns: number,
  operations: number,
  work: (contender: Contender, count?: number) => Promise<void>,
): Promise<TurnTaker> {
  if (name === 'idle') throw new Error('An idle process takes no locks');
  const observer = new Redis(url);
  const contender = await createContender(name, { url, prefix, ttl: TTL });
  // Both connections are up and the scripts are known before the first figure.
  await taken(contender, 'warm-up');
  await work(contender);
  return {
    turns,
    turn: () => measure(observer, operations, () => work(contender, operations)),
    close: async () => {
      await contender.close();
      observer.disconnect();
      return {};
    },
  };
}

/** A benchmark that is refused measures something else. */
async function taken(contender: Contender, name: string): Promise<void> {
  if (!(await contender.run(name, nothing))) throw new Error(`The lock ${name} was not free`);
}

function nothing(): void {}
