import { execFileSync, spawn } from 'node:child_process';
import { cpus } from 'node:os';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { guard } from '../support/process-guard.js';
import { builtScript } from '../support/project.js';
import { provideRedis, uniquePrefix, type RedisServer } from '../support/redis-server.js';
import type { Figures, Task } from './task.js';

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

  /** Runs one measurement in a fresh process. */
  async measure(measurement: Task['measurement'], contender: Task['contender']): Promise<Figures> {
    const { url } = this.redis;
    const task: Task = { measurement, contender, url, prefix: uniquePrefix('bench'), quick: this.quick };
    const node = [process.execPath, builtScript('test/bench/child.js'), JSON.stringify(task)];
    const [command = '', ...args] =
      this.core === undefined ? node : ['taskset', '-c', String(this.core), ...node];
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_ENV: 'production' },
    });
    guard(child);
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`${measurement} of ${contender} failed (${code})`);
    return JSON.parse(output) as Figures;
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
