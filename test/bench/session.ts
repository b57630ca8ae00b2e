import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { readFileSync } from 'node:fs';
import { provideRedis, uniquePrefix, type RedisServer } from '../support/redis-server.js';
import { Child } from './child-process.js';
import { means } from './statistics.js';
import { type Figures, isInTurns, type Task, type TurnsMeasurement } from './task.js';

/** One run of the benchmark: its Redis, and the core that all is measured on. */
export class Session {
  private constructor(
    readonly redis: RedisServer,
    /** Where node and Redis are pinned to, so that what is compared is processor time; `undefined`: anywhere. */
    readonly core: number | undefined,
    readonly quick: boolean,
  ) {}

  static async open(quick: boolean): Promise<Session> {
    const redis = await provideRedis();
    const pid = redis.process?.pid;
    return new Session(redis, pid === undefined ? undefined : pin(pid), quick);
  }

  /**
   * Runs one measurement once for each contender, in a fresh process each: one after another, or in turns of a fraction
   * of a second, so that what else the machine does falls on all of them.
   */
  async round(
    measurement: Task['measurement'],
    contenders: readonly Task['contender'][],
  ): Promise<Map<Task['contender'], Figures>> {
    if (isInTurns(measurement)) return this.#inTurns(measurement, contenders);
    const found = new Map<Task['contender'], Figures>();
    for (const contender of contenders) {
      const child = this.#child(measurement, contender);
      found.set(contender, await child.answer());
      await child.exit();
    }
    return found;
  }

  async #inTurns(
    measurement: TurnsMeasurement,
    contenders: readonly Task['contender'][],
  ): Promise<Map<Task['contender'], Figures>> {
    const children: { contender: Task['contender']; child: Child; figures: Figures[] }[] = [];
    let turns = 0;
    for (const contender of contenders) {
      const child = this.#child(measurement, contender);
      // One after another: nobody warms up while somebody else does.
      turns = (await child.answer())['turns'] ?? 0;
      children.push({ contender, child, figures: [] });
    }
    for (let turn = 0; turn < turns; turn++) {
      for (const { child, figures } of children) figures.push(await child.ask());
    }
    const found = new Map<Task['contender'], Figures>();
    for (const { contender, child, figures } of children) {
      found.set(contender, { ...means(figures), ...(await child.ask()) });
      await child.exit();
    }
    return found;
  }

  #child(measurement: Task['measurement'], contender: Task['contender']): Child {
    const { url } = this.redis;
    const task: Task = { measurement, contender, url, prefix: uniquePrefix('bench'), quick: this.quick };
    return new Child(task, this.core);
  }

  /** What the figures were measured with. */
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

/** Keeps a process on one core, the last that we may use; tells which, or `undefined` where that cannot be done. */
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
