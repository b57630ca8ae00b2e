import { readdirSync, readFileSync } from 'node:fs';
import { builtScript } from '../../support/machine.js';
import type { TestDatabase } from '../../support/database.js';
import { uniqueTable } from '../../support/database-server.js';
import { LET_GO } from '../cases/full-hour.js';
import { Child } from '../child-process.js';
import { compare, type Comparison } from '../comparison.js';
import { format, median, medianRatio } from '../statistics.js';
import type { Row } from '../table.js';
import { BEFORE, type Figures } from '../task.js';
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
/** The script of an instance. */
export const INSTANCE = 'test/bench/sql/instance.js';
/** Of each instance. */
const CONNECTIONS = 4;
const WARM_UP = 3;
/** Between the order and the hour, ms: all processes have set their timers by then. */
const LEAD = 400;
/** A tick of the kernel's statistics, microseconds: USER_HZ is 100 on Linux. */
const KERNEL_TICK = 10_000;

/** Options of a server that has room for the connections of three fleets. */
export const ROOM: Readonly<Record<string, string>> = {
  PostgreSQL: 'max_connections=650',
  MySQL: '--max-connections=650',
};

type Contestant = InstanceTask['contender'] | typeof BEFORE;
type Hours = ReadonlyMap<Contestant, readonly Figures[]>;

interface Setting {
  readonly database: TestDatabase;
  readonly server: { readonly url: string; readonly pid: number };
  /** On which the server runs: the instances use the others. */
  readonly core: number | undefined;
  readonly rounds: number;
  /** The script of an instance of another checkout, if there is one. */
  readonly before: string | undefined;
}

export async function fullHours(setting: Setting): Promise<{ rows: Row[]; comparisons: Comparison[] }> {
  const [rows, comparisons]: [Row[], Comparison[]] = [[], []];
  for (const { instances, jobs } of SIZES) {
    const hours = await measureHours(setting, instances, jobs);
    const title = `${setting.database.name}: full hour, ${instances} × ${jobs}`;
    rows.push(...rowsOf(title, hours));
    if (hours.has(BEFORE)) comparisons.push(...compare(title, hours.get('ours'), hours.get(BEFORE)));
  }
  return { rows, comparisons };
}

function rowsOf(title: string, hours: Hours): Row[] {
  const of = (contender: Contestant, figure: string): number[] =>
    (hours.get(contender) ?? []).map((figures) => figures[figure] ?? NaN);
  const row = (label: string, ours: string, reference: string): Row => ({
    case: `${title}: ${label}`,
    ours,
    reference,
    redlock: '-',
    semaphore: '-',
    target: '',
    met: undefined,
  });
  const over = (label: string, figure: string, unit = ''): Row => {
    const [ours, bare] = [of('ours', figure), of('bare', figure)];
    const ratio = format(medianRatio(ours, bare));
    return row(
      `${label}, over bare`,
      `${ratio} (${format(median(ours), unit)})`,
      `1 (${format(median(bare), unit)})`,
    );
  };
  const missed = (contender: Contestant): string => String(median(of(contender, 'missed')));
  return [
    over('statements', 'total'),
    over('statements per attempt', 'statements'),
    over("the server's processor time per attempt", 'cpu', 'µs'),
    over('the last job begins after', 'last', 'ms'),
    row('jobs that do not run', missed('ours'), missed('bare')),
  ];
}

async function measureHours(
  { database, server, core, rounds, before }: Setting,
  instances: number,
  jobs: number,
): Promise<Hours> {
  const cores = core === undefined || core === 0 ? undefined : `0-${core - 1}`;
  const contenders: readonly Contestant[] = before === undefined ? CONTENDERS : [...CONTENDERS, BEFORE];
  const fleets: { contender: Contestant; children: Child[]; hours: Figures[] }[] = [];
  for (const contender of contenders) {
    const task: InstanceTask = {
      measurement: 'full-hour',
      database: database.name,
      url: server.url,
      table: await filledTable(database, server.url, jobs),
      jobs,
      contender: contender === BEFORE ? 'ours' : contender,
      connections: CONNECTIONS,
    };
    const script = contender === BEFORE ? before : builtScript(INSTANCE);
    const children = Array.from({ length: instances }, () => new Child(task, cores, script));
    await Promise.all(children.map((child) => child.answer()));
    fleets.push({ contender, children, hours: [] });
  }
  for (let round = 0; round < WARM_UP + rounds; round++) {
    for (const { children, hours } of fleets) {
      const figures = await hour(children, server.pid, instances * jobs);
      if (round >= WARM_UP) hours.push({ ...figures, missed: jobs - (figures['won'] ?? 0) });
    }
  }
  for (const { children } of fleets)
    await Promise.all(children.map((child) => child.close().then(() => child.exit())));
  return new Map(fleets.map(({ contender, hours }) => [contender, hours]));
}

async function hour(children: readonly Child[], server: number, attempts: number): Promise<Figures> {
  const at = Date.now() + LEAD;
  const before = processorTime(server);
  const found = await Promise.all(children.map((child) => child.ask(String(at))));
  const cpu = processorTime(server) - before;
  const sum = (figure: string): number => found.reduce((total, figures) => total + (figures[figure] ?? 0), 0);
  const figures = {
    won: sum('won'),
    total: sum('statements'),
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
