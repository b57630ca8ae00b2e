import { Redis } from 'ioredis';
import { systemClock } from '../../../lib/base/clock.js';
import type { JobStart } from '../../../lib/base/job-start.js';
import { Recorder } from '../../../lib/lock/recorder.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { RedisLockStore } from '../../../lib/stores/redis/index.js';
import { measure } from '../measure.js';
import type { Figures, Task } from '../task.js';

const TTL = 60_000;
const NAMES = 100;
/** The ways take turns, so that other load on the machine disturbs both. */
const TURNS = 20;
const REFUSALS = 50;

/** The start of a call, as the scheduler's fire has it. */
const start = (tick: number): JobStart => ({
  tick,
  schedule: '0 */10 * * * * (Europe/Berlin)',
});

/** Without a tick, with one, and with one whose run is remembered. */
const WAYS = ['plain', 'ticked', 'history'] as const;
type Way = (typeof WAYS)[number];

/** Acquires and releases in each of these ways, one after another in the same process. */
export async function measureTicks({ url, prefix, quick }: Task): Promise<Figures> {
  const observer = new Redis(url);
  const client = new Redis(url);
  const commands = countCommands(client);
  const store = new RedisLockStore(client, { key: (name) => `${prefix}:${name}:lock` });
  await store.init();
  const runner = new LockRunner(store, `bench:${process.pid}`, systemClock, () => undefined, 2_000);
  runner.remember(
    new Recorder(store.history, { kept: { count: 100, age: 30 * 86_400_000 }, error: 'message' }),
  );
  // Ticks of long ago that grow: each is new, and none lies in the future.
  let tick = systemClock.now() - 1e10;
  const run = async (way: Way, name: string, given: JobStart | undefined): Promise<boolean> =>
    (await runner.run({ name, job: name, settings: settings[way], kind: 'fired', start: given }, nothing))
      .ran;
  const cycles = quick ? 100 : 2_000;
  const work = async (way: Way): Promise<void> => {
    for (let i = 0; i < cycles; i++) {
      // Different names: with a tick an entry holds more, so that one name would be measured with what the other left.
      const name = `${way}-${i % NAMES}`;
      if (!(await run(way, name, way === 'plain' ? undefined : start((tick += 1)))))
        throw new Error(`The lock ${name} was not free`);
    }
    // The records of runs follow their releases: whoever reads a history waits for them, so they count for these runs.
    if (way === 'history') await store.history.entries({ name: 'history-0', limit: 1 });
  };
  for (let warmUp = 0; warmUp < 3; warmUp++) for (const way of WAYS) await work(way);
  const sums: Figures = {};
  for (let turn = 0; turn < TURNS; turn++) {
    for (const way of turn % 2 === 0 ? WAYS : WAYS.toReversed()) {
      const { cpu, wall, redis } = await measure(observer, cycles, () => work(way));
      for (const [figure, cost] of Object.entries({
        [way]: cpu,
        [`${way}Wall`]: wall,
        [`${way}Redis`]: redis,
      }))
        sums[figure] = (sums[figure] ?? 0) + cost / TURNS;
    }
  }
  const refused = start((tick += 1));
  await run('ticked', 'refused', refused);
  const before = commands.sent;
  for (let i = 0; i < REFUSALS; i++)
    if (await run('ticked', 'refused', refused)) throw new Error('A tick ran twice');
  const perRefusal = (commands.sent - before) / REFUSALS;
  await runner.shutdown(1_000);
  client.disconnect();
  observer.disconnect();
  return { ...sums, perRefusal };
}

const plain = {
  ttl: TTL,
  heartbeat: TTL * 0.3,
  timeout: undefined,
  atLeast: 0,
  storeTimeout: 2_000,
  enabled: true,
  onStoreError: 'skip',
} as const;
const settings = { plain, ticked: plain, history: { ...plain, history: true } };

/** How many commands this client has sent. */
function countCommands(client: Redis): { sent: number } {
  const count = { sent: 0 };
  const { sendCommand } = client;
  client.sendCommand = function (...args: Parameters<Redis['sendCommand']>) {
    count.sent += 1;
    return sendCommand.apply(this, args);
  };
  return count;
}

function nothing(): void {}
