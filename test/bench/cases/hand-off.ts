import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { countCommands, redisCpu } from '../measure.js';
import { median } from '../statistics.js';
import type { Figures, Task } from '../task.js';
import { figuresOf, handOffs, type Volley, volley } from '../volley.js';
import { createWaiter, isWaiter, type Waiter } from '../waiters.js';

const TTL = 60_000;
/** Hand-offs that are measured, and volleys at least. */
const [HAND_OFFS, VOLLEYS] = [100, 3];
/** Before idle waiters are watched, and for how long, ms. */
const [SETTLE, WATCH] = [1_000, 5_000];

/**
 * A lock goes through a line of waiters: how fast, in which order, and what those cost that stand in line. With `shared`, all calls
 * come from one client, else each from one of its own.
 */
export async function measureHandOff(task: Task): Promise<Figures> {
  const { contender, url, prefix, waiters = 1, shared = false, quick } = task;
  if (!isWaiter(contender)) throw new Error(`${contender} cannot wait`);
  const clients: Waiter[] = [];
  for (let i = 0; i < (shared ? 1 : waiters + 1); i++)
    clients.push(await createWaiter(contender, { url, prefix, ttl: TTL }));
  const callers = Array.from({ length: waiters + 1 }, (_, i) => clients[i % clients.length] as Waiter);
  const observer = new Redis(url);
  const look = await costOfLook(observer);
  const volleys = quick ? 1 : Math.max(VOLLEYS, Math.ceil(HAND_OFFS / waiters));
  // Connections for hints are up, and the code is compiled, before the first figure.
  for (let warmUp = 0; warmUp < (quick ? 1 : Math.max(2, volleys / 10)); warmUp++) await volley(callers);

  let redis = -volleys * look;
  const found: Volley[] = [];
  for (let i = 0; i < volleys; i++) {
    const seen = await volley(
      callers,
      async () => (redis -= await redisCpu(observer)),
      async () => (redis += await redisCpu(observer)),
    );
    found.push(seen);
  }
  const idle = await idleCommands(callers, url, quick);
  for (const client of clients) await client.close();
  observer.disconnect();
  return {
    ...figuresOf(found),
    redis: redis / handOffs(found),
    idle: idle / (shared ? 1 : waiters),
  };
}

/** Commands per second of all who stand in line, while the lock is held. */
async function idleCommands(callers: readonly Waiter[], url: string, quick: boolean): Promise<number> {
  const duration = quick ? WATCH / 5 : WATCH;
  let commands = NaN;
  await volley(callers, async () => {
    await sleep(SETTLE);
    commands = await countCommands(url, () => sleep(duration));
  });
  return (commands * 1_000) / duration;
}

/** What it costs Redis to be asked for its processor time, microseconds: as much as a hand-off. */
async function costOfLook(observer: Redis): Promise<number> {
  const looks: number[] = [];
  for (let i = 0; i < 50; i++) looks.push(await redisCpu(observer));
  return median(looks.slice(1).map((look, i) => look - (looks[i] ?? NaN)));
}
