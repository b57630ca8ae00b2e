import { Redis } from 'ioredis';
import { type Contender, createContender } from '../contenders.js';
import { measure, warmUp } from '../measure.js';
import type { Figures, Task, TurnTaker } from '../task.js';

/** Renewals are armed and never come due. */
const TTL = 60_000;
const NAMES = 100;

/** Acquires and releases, one after another. */
export async function takeCycles(task: Task): Promise<TurnTaker> {
  const [cycles, turns] = task.quick ? [50, 2] : [2_000, 20];
  return withContender(task, turns, cycles, async (contender) => {
    for (let i = 0; i < cycles; i++) await taken(contender, `job-${i % NAMES}`);
  });
}

/** Acquires and releases a thousand locks at once. */
export async function takeAtOnce(task: Task): Promise<TurnTaker> {
  const [keys, volleys, turns] = task.quick ? [100, 1, 2] : [1_000, 3, 20];
  const names = Array.from({ length: keys }, (_, i) => `job-${i}`);
  return withContender(task, turns, keys * volleys, async (contender) => {
    for (let i = 0; i < volleys; i++) await Promise.all(names.map((name) => taken(contender, name)));
  });
}

/** @param work one turn of `operations` operations */
async function withContender(
  { contender: name, url, prefix }: Task,
  turns: number,
  operations: number,
  work: (contender: Contender) => Promise<void>,
): Promise<TurnTaker> {
  if (name === 'idle') throw new Error('An idle process takes no locks');
  const observer = new Redis(url);
  const contender = await createContender(name, { url, prefix, ttl: TTL });
  // Both connections are up and the scripts are known before the first figure.
  await taken(contender, 'warm-up');
  const turn = (): Promise<Figures> => measure(observer, operations, () => work(contender));
  await warmUp(turn, turns);
  return {
    turns,
    turn,
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
