import { readdirSync, readFileSync } from 'node:fs';
import { builtScript } from '../../support/machine.js';
import type { TestDatabase } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { LET_GO } from '../cases/full-hour.js';
import { Child } from '../child-process.js';
import { format, median, medianRatio } from '../statistics.js';
import type { Figures } from '../task.js';
import type { InstanceTask } from './instance.js';

/*
 * At the full hour every instance asks for every job, and all but one are refused. Measured is how many statements that takes, what
 * they cost the server, and how late the last job begins. The bound is a fleet that sends one bare conditional write for each
 * attempt.
 */

const SIZES = [
  { instances: 20, jobs: 200 },
  { instances: 50, jobs: 100 },
] as const;
const CONTENDERS = ['bare', 'ours'] as const;
/** Of each instance. */
const CONNECTIONS = 4;
const WARM_UP = 3;
/** Between the order and the hour, ms: all processes have set their timers by then. */
const LEAD = 400;
/** A tick of the kernel's statistics, microseconds: USER_HZ is 100 on Linux. */
const KERNEL_TICK = 10_000;

/** Options of a server that has room for the connections of a whole fleet. */
export const ROOM: Readonly<Record<string, string>> = {
  PostgreSQL: 'max_connections=450',
  MySQL: '--max-connections=450',
};

type Fleet = {
  readonly contender: (typeof CONTENDERS)[number];
  readonly children: Child[];
  readonly hours: Figures[];
};

/** @param core on which the server runs: the instances use the others */
export async function fullHours(
  database: TestDatabase,
  server: { readonly url: string; readonly pid: number },
  core: number | undefined,
  rounds: number,
): Promise<void> {
  const cores = core === undefined || core === 0 ? undefined : `0-${core - 1}`;
  for (const { instances, jobs } of SIZES) {
    const fleets: Fleet[] = [];
    for (const contender of CONTENDERS) {
      const table = await filledTable(database, server.url, jobs);
      const task: InstanceTask = {
        measurement: 'full-hour',
        database: database.name,
        url: server.url,
        table,
        jobs,
        contender,
        connections: CONNECTIONS,
      };
      const script = builtScript('test/bench/sql/instance.js');
      const children = Array.from({ length: instances }, () => new Child(task, cores, script));
      await Promise.all(children.map((child) => child.answer()));
      fleets.push({ contender, children, hours: [] });
    }
    for (let round = 0; round < WARM_UP + rounds; round++) {
      for (const { children, hours } of fleets) {
        const figures = await hour(children, server.pid, instances * jobs);
        if (round >= WARM_UP && figures['won'] !== jobs)
          throw new Error(`${figures['won']} of ${jobs} jobs ran`);
        if (round >= WARM_UP) hours.push(figures);
      }
    }
    for (const { children } of fleets) {
      await Promise.all(children.map((child) => child.close().then(() => child.exit())));
    }
    report(`${database.name}: full hour, ${instances} × ${jobs}`, fleets);
  }
}

function report(title: string, fleets: readonly Fleet[]): void {
  const figures = (contender: string, figure: string): number[] =>
    (fleets.find((fleet) => fleet.contender === contender)?.hours ?? []).map((each) => each[figure] ?? NaN);
  for (const { contender } of fleets) {
    const text = (figure: string, unit: string): string => {
      const [own, bare] = [figures(contender, figure), figures('bare', figure)];
      return `${format(median(own), unit)} (${format(medianRatio(own, bare))} of bare)`;
    };
    console.log(
      `${title}, ${contender}: ${text('statements', 'statements')} and ${text('cpu', 'µs')} of the server per attempt, the last job begins after ${text('last', 'ms')}`,
    );
  }
}

async function hour(children: readonly Child[], server: number, attempts: number): Promise<Figures> {
  const at = Date.now() + LEAD;
  const before = processorTime(server);
  const found = await Promise.all(children.map((child) => child.ask(String(at))));
  const cpu = processorTime(server) - before;
  const sum = (figure: string): number => found.reduce((total, figures) => total + (figures[figure] ?? 0), 0);
  const figures = {
    won: sum('won'),
    statements: sum('statements') / attempts,
    cpu: cpu / attempts,
    last: Math.max(...found.map(({ last = 0 }) => last)),
  };
  await Promise.all(children.map((child) => child.ask(LET_GO)));
  return figures;
}

/** A table that has a free row for each job. */
async function filledTable(database: TestDatabase, url: string, jobs: number): Promise<string> {
  const table = uniqueTable('hour');
  const pool = database.pool(url, { max: 1 });
  await pool.store({ table }).init();
  for (let i = 0; i < jobs; i++) {
    const values = `'job-${i}', '2000-01-01', '2000-01-01', 'nobody'`;
    await pool.write(`INSERT INTO ${table} (name, lock_until, locked_at, locked_by) VALUES (${values})`);
  }
  await pool.end();
  return table;
}

/** Processor time of a process and of its children, those that have ended included, microseconds. */
function processorTime(pid: number): number {
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const stats = pids.flatMap((entry) => {
    try {
      return [readFileSync(`/proc/${entry}/stat`, 'utf8')];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
  let ticks = 0;
  for (const stat of stats) {
    // The name of the program, in parentheses, may hold anything. See proc_pid_stat(5).
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [parent = 0, user = 0, system = 0, usersOfEnded = 0, systemOfEnded = 0] = [1, 11, 12, 13, 14].map(
      (i) => fields[i] ?? 0,
    );
    if (Number.parseInt(stat, 10) === pid) ticks += user + system + usersOfEnded + systemOfEnded;
    else if (parent === pid) ticks += user + system;
  }
  return ticks * KERNEL_TICK;
}
