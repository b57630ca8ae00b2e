import { expect, jest, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/until.js';
import { type GuardedFleet, invoicesOf, onEachGuarded, type Stage } from './support/guarded.js';
import type { Instance } from './support/instance.js';
import { faultSuite } from './support/suite.js';

faultSuite();
jest.setTimeout(1_200_000);

const STAGES: readonly Stage[] = ['begin', 'guard', 'work', 'commit', 'committing', 'committed'];
const INSTANCES = 5;
/** Between two ticks, ms; and for how long after one its runs are killed. Then there is time to end one. */
const EVERY = 10_000;
const DEADLY = 6_000;
/** Of a lease, ms. */
const TTL = 250;

/** A fleet whose runs kill their processes, at one stage after another, until there were enough kills. */
class Slaughter {
  /** By stage. */
  readonly kills: Partial<Record<Stage, number>> = {};
  readonly ticks = new Set<number>();
  /** The ticks of which a run has ended as completed. */
  readonly completed = new Set<number>();
  #next = 0;
  #isOver = false;

  constructor(
    private readonly fleet: GuardedFleet,
    private readonly stages: readonly Stage[],
    private readonly wanted: number,
    private readonly guarded: boolean,
  ) {}

  get count(): number {
    return Object.values(this.kills).reduce((sum, one) => sum + one, 0);
  }

  /** Until there were enough kills, and a tick has come after them, and is done. */
  async run(): Promise<void> {
    const members = Array.from({ length: INSTANCES }, () => this.#replaceForEver());
    await until(() => this.count >= this.wanted, {
      timeout: 1_000_000,
      interval: 50,
      message: () => `${this.wanted} kills: ${JSON.stringify(this.kills)}`,
    });
    const last = Math.max(...this.ticks);
    await until(() => [...this.completed].some((tick) => tick > last), { timeout: 40_000, interval: 50 });
    this.#isOver = true;
    await Promise.all(members);
  }

  async #replaceForEver(): Promise<void> {
    while (!this.#isOver) {
      const options = { ttl: TTL, rerun: 1_000, catchUp: '1m', shutdownTimeout: 1_000 } as const;
      await this.#watch(await this.fleet.start(options, this.guarded));
    }
  }

  /** Decides on each run of an instance, until one has killed it. */
  async #watch(instance: Instance): Promise<void> {
    let runs = 0;
    let ends = 0;
    while (!this.#isOver && instance.running) {
      await sleep(5);
      for (const { outcome, tick } of instance.heard('event:released').slice(ends)) {
        ends += 1;
        if (outcome === 'completed') this.completed.add(Number(tick));
      }
      const started = instance.heard('job-started')[runs];
      if (started === undefined) continue;
      runs += 1;
      this.#decide(instance, Number(started['tick']));
    }
    if (instance.running) return;
    const stage = this.#fates.get(instance);
    if (stage !== undefined) this.kills[stage] = (this.kills[stage] ?? 0) + 1;
    await instance.kill();
  }

  readonly #fates = new Map<Instance, Stage>();

  #decide(instance: Instance, tick: number): void {
    this.ticks.add(tick);
    const isDeadly = this.count < this.wanted && Date.now() - tick < DEADLY;
    const dies = isDeadly ? this.stages[this.#next++ % this.stages.length] : undefined;
    if (dies === undefined) return instance.decide({});
    this.#fates.set(instance, dies);
    instance.decide({ dies });
  }

  /** The invoices that each tick should have, from the first to the last one, whether a run of it was seen or not. */
  get due(): Record<string, number> {
    const [first, last] = [Math.min(...this.ticks), Math.max(...this.ticks)];
    const ticks = Array.from({ length: (last - first) / EVERY + 1 }, (_, index) => first + index * EVERY);
    return Object.assign({}, ...ticks.map((tick) => invoicesOf(tick, 1))) as Record<string, number>;
  }
}

onEachGuarded(
  () => ({ expression: '*/10 * * * * *', locks: 'beside' }),
  (fleet) => {
    test('over 200 kills, at each moment of a run, each invoice is written exactly once', async () => {
      const slaughter = new Slaughter(fleet(), STAGES, 200, true);
      await slaughter.run();
      expect(await fleet().invoices()).toEqual(slaughter.due);
      // A run that finds its tick done ends before the later stages.
      expect(Object.keys(slaughter.kills).sort()).toEqual([...STAGES].sort());
      expect(slaughter.count).toBeGreaterThanOrEqual(200);
      expect(slaughter.completed.size).toBeGreaterThan(1);
    });

    test('without the guard, kills after the commit write invoices again', async () => {
      const slaughter = new Slaughter(fleet(), ['committed'], 8, false);
      await slaughter.run();
      const times = Object.values(await fleet().invoices());
      expect(times.some((each) => each > 1)).toBe(true);
    });
  },
);
