import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { provideRedis, uniquePrefix, type RedisServer } from '../support/redis-server.js';
import { Child } from './child-process.js';
import type { Comparison } from './comparison.js';
import type { ContenderName } from './contenders.js';
import { means } from './statistics.js';
import {
  BEFORE,
  type Contestant,
  type Figures,
  isInTurns,
  type Sizes,
  type Task,
  type TurnsMeasurement,
} from './task.js';

/** One run of the benchmark: its Redis, and the core on which everything is measured. */
export class Session {
  /** The figures beside those of another checkout. */
  readonly comparisons: Comparison[] = [];

  private constructor(
    readonly redis: RedisServer,
    /**
     * The core to which node and Redis are pinned, so that processor times can be compared; `undefined`: not pinned.
     */
    readonly core: number | undefined,
    readonly quick: boolean,
    /** The script that measures the other checkout, if there is one. */
    private readonly before: string | undefined,
  ) {}

  /** @param against the folder of another checkout, or '' */
  static async open(quick: boolean, against: string): Promise<Session> {
    const before = scriptOf(against, 'test/bench/child.js');
    const redis = await provideRedis();
    const pid = redis.process?.pid;
    return new Session(redis, pid === undefined ? undefined : pin(pid), quick, before);
  }

  /**
   * Runs one measurement once for each contender, in a fresh process each. They run one after another, or in turns of a
   * fraction of a second, so that other load on the machine affects all of them.
   */
  async round(
    measurement: Task['measurement'],
    contenders: readonly Contestant[],
    more: Sizes = {},
  ): Promise<Map<Contestant, Figures>> {
    if (isInTurns(measurement)) return this.#inTurns(measurement, contenders);
    const found = new Map<Contestant, Figures>();
    for (const contender of contenders) {
      // Those who wait for a lock are woken by Redis, which must not wait for their core.
      const cores = measurement === 'hand-off' ? this.#otherCores : this.#ownCore;
      const child = this.#child({ measurement, prefix: uniquePrefix('bench'), ...more }, contender, cores);
      found.set(contender, await child.answer());
      await child.exit();
    }
    return found;
  }

  async #inTurns(
    measurement: TurnsMeasurement,
    contenders: readonly Contestant[],
  ): Promise<Map<Contestant, Figures>> {
    const children: { contender: Contestant; child: Child; figures: Figures[] }[] = [];
    let turns = 0;
    for (const contender of contenders) {
      const child = this.#child({ measurement, prefix: uniquePrefix('bench') }, contender);
      // One after another: no two contenders warm up at the same time.
      turns = (await child.answer())['turns'] ?? 0;
      children.push({ contender, child, figures: [] });
    }
    for (let turn = 0; turn < turns; turn++) {
      for (const { child, figures } of children) figures.push(await child.ask());
    }
    const found = new Map<Contestant, Figures>();
    for (const { contender, child, figures } of children) {
      found.set(contender, { ...means(figures), ...(await child.close()) });
      await child.exit();
    }
    return found;
  }

  /** Whether another checkout is measured as well. */
  get compares(): boolean {
    return this.before !== undefined;
  }

  /**
   * The instances of a fleet, on other cores than Redis where there are any: what it does at once must not take the time of the
   * server.
   */
  fleet(instances: number, contender: Contestant, jobs: number): Child[] {
    const task = { measurement: 'full-hour', prefix: uniquePrefix('bench'), jobs } as const;
    return Array.from({ length: instances }, () => this.#child(task, contender, this.#otherCores, 'runner'));
  }

  get #otherCores(): string | undefined {
    const last = this.core ?? 0;
    return last === 0 ? this.#ownCore : `0-${last - 1}`;
  }

  get #ownCore(): string | undefined {
    return this.core?.toString();
  }

  /** @param ours as which contender another checkout is measured */
  #child(
    task: Pick<Task, 'measurement' | 'prefix' | 'jobs'> & Sizes,
    contender: Contestant,
    cores = this.#ownCore,
    ours: ContenderName = 'service',
  ): Child {
    const common = { ...task, url: this.redis.url, quick: this.quick };
    if (contender === BEFORE) return new Child({ ...common, contender: ours }, cores, this.before);
    return new Child({ ...common, contender }, cores);
  }

  /** The machine and the versions on which the figures were measured. */
  async machine(): Promise<string> {
    const [cpu] = cpus();
    const pinned =
      this.core === undefined ? 'not pinned to a core' : `node and Redis pinned to core ${this.core}`;
    const version = await this.redis.process?.command('INFO', 'server');
    const server = /redis_version:(\S+)/.exec(String(version))?.[1] ?? 'of unknown version';
    return `${cpu?.model ?? 'unknown processor'}, ${cpus().length} cores; ${pinned}; Node ${process.versions.node}; Redis ${server}`;
  }

  async close(): Promise<void> {
    await this.redis.stop();
  }
}

/**
 * A compiled script of another checkout.
 *
 * @param against the folder of that checkout; '': there is none
 * @throws if it is not built there
 */
export function scriptOf(against: string, path: string): string | undefined {
  if (against === '') return undefined;
  const script = resolve(against, '.build', path);
  if (!existsSync(script))
    throw new Error(`--against: there is no ${script}. Run npm ci && npm run build there.`);
  return script;
}

/**
 * Pins a process to one core, the last that this process may use. Returns that core, or `undefined` if that is
 * impossible.
 */
export function pin(pid: number): number | undefined {
  try {
    const allowed = /^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    const core = Number(/(\d+)$/.exec(allowed ?? '')?.[1] ?? NaN);
    if (!Number.isInteger(core)) return undefined;
    execFileSync('taskset', ['-a', '-cp', String(core), String(pid)], { stdio: 'ignore' });
    return core;
  } catch {
    return undefined;
  }
}
