import { Redis } from 'ioredis';
import { type Contender, createContender } from '../contenders.js';
import { countCommands, measure, warmUp } from '../measure.js';
import type { Figures, Task, TurnTaker } from '../task.js';

const TTL = 60_000;
const COUNTED = 50;

/** Attempts at a lock of another holder, and at one that this very process holds. */
export async function takeRefused({ contender: name, url, prefix, quick }: Task): Promise<TurnTaker> {
  if (name === 'idle') throw new Error('An idle process takes no locks');
  const observer = new Redis(url);
  const contender = await createContender(name, { url, prefix, ttl: TTL });
  const [attempts, turns] = quick ? [50, 2] : [2_000, 20];
  // As a client that does not know this library, and only follows the recipe.
  await observer.set(contender.key('taken'), 'somebody else', 'PX', 600_000);
  const work = async (lock: string, count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await refused(contender, lock);
  };
  const turn = (): Promise<Figures> => measure(observer, attempts, () => work('taken', attempts));
  await warmUp(turn, turns);
  return {
    turns,
    turn,
    close: async () => {
      const commands = (await countCommands(url, () => work('taken', COUNTED))) / COUNTED;
      const repeated = await whileRunning(contender, 'own', () =>
        countCommands(url, () => work('own', COUNTED)),
      );
      await contender.close();
      observer.disconnect();
      return { commands, repeated: repeated / COUNTED };
    },
  };
}

/** Does `work` while a job holds this lock, but outside of that job: inside it, attempts would be nested calls. */
async function whileRunning<T>(contender: Contender, lock: string, work: () => Promise<T>): Promise<T> {
  let begin!: () => void;
  let letGo!: () => void;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const ended = new Promise<void>((resolve) => (letGo = resolve));
  const run = contender.run(lock, () => {
    begin();
    return ended;
  });
  await begun;
  const result = await work();
  letGo();
  await run;
  return result;
}

async function refused(contender: Contender, lock: string): Promise<void> {
  const ran = await contender.run(lock, () => undefined);
  if (ran) throw new Error(`The lock ${lock} was free`);
}
