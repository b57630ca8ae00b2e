import { systemClock } from '../../../lib/base/clock.js';
import { type Contender, createContender } from '../contenders.js';
import type { Figures, Task, TurnTaker } from '../task.js';

const TTL = 60_000;

/** The command that ends the jobs of an hour; every other one is the time of an hour, epoch milliseconds. */
export const LET_GO = 'let go';

/** An instance of a fleet in which all fire the same jobs at the same time. */
export async function takeFullHour({ contender: name, url, prefix, jobs }: Task): Promise<TurnTaker> {
  if (name === 'idle') throw new Error('An idle process takes no locks');
  const contender = await createContender(name, { url, prefix, ttl: TTL });
  const locks = Array.from({ length: jobs ?? 0 }, (_, i) => `job-${i}`);
  let letGo: () => Promise<Figures> = async () => ({});
  return {
    turns: 0,
    turn: async (command) => {
      if (command === LET_GO) return letGo();
      const { figures, end } = await hour(contender, locks, Number(command));
      letGo = end;
      return figures;
    },
    close: async () => {
      await contender.close();
      return {};
    },
  };
}

/**
 * Tries every lock once. Resolves when all have an answer; the jobs run on, so that each lock is taken once.
 *
 * @returns how many jobs have begun, and when the last of them did, in milliseconds after `at`
 */
export async function hour(
  contender: Pick<Contender, 'run'>,
  locks: readonly string[],
  at: number,
): Promise<{ figures: Figures; end: () => Promise<Figures> }> {
  let letGo!: () => void;
  const ended = new Promise<void>((resolve) => (letGo = resolve));
  const start = { tick: at, schedule: '0 0 * * * * (Europe/Berlin)' };
  let [won, last] = [0, 0];
  const runs: Promise<boolean>[] = [];
  const attempt = (lock: string): Promise<void> =>
    new Promise((answered, failed) => {
      const job = (): Promise<void> => {
        won += 1;
        last = performance.timeOrigin + performance.now() - at;
        answered();
        return ended;
      };
      // A timer each, as each cron job has its own.
      setTimeout(() => {
        const run = contender.run(lock, job, start);
        runs.push(run);
        run.then(() => answered(), failed);
      }, at - systemClock.now());
    });
  await Promise.all(locks.map(attempt));
  return {
    figures: { won, last },
    end: async () => {
      letGo();
      await Promise.all(runs);
      return {};
    },
  };
}
