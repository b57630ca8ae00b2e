import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createContender } from '../contenders.js';
import { bytesIn, commandCalls, redisCpu } from '../measure.js';
import { RedisLockStore } from '../../../lib/stores/redis/index.js';
import type { Figures, Task } from '../task.js';

const TTL = 3_000;
/** The leases begin within this time, so that their renewals are not in step by accident. */
const SPREAD = 900;
const STEPS = 30;

/** Many leases are held at once: the cost of their renewals. */
export async function measureHold({
  contender: name,
  url,
  prefix,
  quick,
  leases: all = 1_000,
}: Task): Promise<Figures> {
  const [leases, duration] = quick ? [all / 10, 1_000] : [all, 12_000];
  keepTimersVisible();
  const sizes = recordBatches();
  const observer = new Redis(url);
  await observer.ping();
  const contender = name === 'idle' ? undefined : await createContender(name, { url, prefix, ttl: TTL });
  let [held, lost] = [0, 0];
  let letGo!: () => void;
  const end = new Promise<void>((resolve) => (letGo = resolve));
  const timersBefore = timers();
  const runs: Promise<boolean>[] = [];
  for (let lease = 0; lease < leases && contender !== undefined; lease++) {
    if (lease % Math.ceil(leases / STEPS) === 0) await sleep(SPREAD / STEPS);
    const run = contender.run(`job-${lease}`, async (signal) => {
      held += 1;
      signal?.().addEventListener('abort', () => (lost += 1));
      await end;
    });
    runs.push(run);
  }
  while (contender !== undefined && held < leases) await sleep(1);
  // From then on each has been renewed: what a lease costs at first is another question.
  await sleep(TTL);

  sizes.length = 0;
  const before = await commandCalls(observer);
  const [redisBefore, bytesBefore] = [await redisCpu(observer), await bytesIn(observer)];
  const cpuBefore = process.cpuUsage();
  const start = performance.now();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await sleep(duration);
  delay.disable();
  const cpu = process.cpuUsage(cpuBefore);
  const seconds = (performance.now() - start) / 1e3;
  const redis = (await redisCpu(observer)) - redisBefore;
  const bytes = (await bytesIn(observer)) - bytesBefore;
  const after = await commandCalls(observer);
  const batches = sizes.length;
  const timersAfter = timers();

  letGo();
  await Promise.allSettled(runs);
  await contender?.close();
  observer.disconnect();
  const calls = (command: string): number => (after.get(command) ?? 0) - (before.get(command) ?? 0);
  return {
    // Every contender renews by a script. Calls by the scripts are no commands of the client.
    commands: (calls('evalsha') + calls('eval')) / seconds,
    batches: batches / seconds,
    perBatch: batches === 0 ? NaN : calls('evalsha') / batches,
    timers: timersAfter - timersBefore,
    delay: delay.percentile(99) / 1e6,
    longest: delay.max / 1e6,
    cpu: (cpu.user + cpu.system) / 1e4 / seconds,
    redis: redis / 1e4 / seconds,
    bytes: bytes / 1e3 / seconds,
    lost,
  };
}

/** The number of leases in each renewal of this library. */
function recordBatches(): number[] {
  const sizes: number[] = [];
  const { extend } = RedisLockStore.prototype;
  RedisLockStore.prototype.extend = function (leases) {
    sizes.push(leases.length);
    return extend.call(this, leases);
  };
  return sizes;
}

function timers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}

/**
 * `getActiveResourcesInfo` leaves out timers that do not keep the process alive. This makes all timers
 * visible.
 */
function keepTimersVisible(): void {
  const timer = setTimeout(() => undefined, 0);
  const prototype = Object.getPrototypeOf(timer) as NodeJS.Timeout;
  prototype.unref = function (this: NodeJS.Timeout) {
    return this;
  };
}
