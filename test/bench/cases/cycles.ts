import { Redis } from 'ioredis';
import { type Contender, createContender } from '../contenders.js';
import { measure } from '../measure.js';
import type { Figures, Task } from '../task.js';

/** Renewals are armed and never come due. */
const TTL = 60_000;
const NAMES = 100;

/** Take and give back, one after another. */
export async function measureCycles(task: Task): Promise<Figures> {
  return withContender(task, async (contender, observer) => {
    // Long enough for compiled code: a process that runs jobs for days is not measured by its first second.
    const cycles = task.quick ? 200 : 40_000;
    const work = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await taken(contender, `job-${i % NAMES}`);
    };
    await work(cycles);
    return measure(observer, cycles, () => work(cycles));
  });
}

/** A thousand locks taken and given back at once. */
export async function measureAtOnce(task: Task): Promise<Figures> {
  return withContender(task, async (contender, observer) => {
    const [keys, volleys] = task.quick ? [100, 2] : [1_000, 60];
    const names = Array.from({ length: keys }, (_, i) => `job-${i}`);
    const work = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await Promise.all(names.map((name) => taken(contender, name)));
    };
    await work(volleys / 2);
    return measure(observer, keys * volleys, () => work(volleys));
  });
}

async function withContender(
  { contender: name, url, prefix }: Task,
  work: (contender: Contender, observer: Redis) => Promise<Figures>,
): Promise<Figures> {
  if (name === 'idle') throw new Error('An idle process takes no locks');
  const observer = new Redis(url);
  const contender = await createContender(name, { url, prefix, ttl: TTL });
  // Both connections are up and the scripts are known before the first figure.
  await taken(contender, 'warm-up');
  const figures = await work(contender, observer);
  await contender.close();
  observer.disconnect();
  return figures;
}

/** A benchmark that is refused measures something else. */
async function taken(contender: Contender, name: string): Promise<void> {
  if (!(await contender.run(name, nothing))) throw new Error(`The lock ${name} was not free`);
}

function nothing(): void {}
