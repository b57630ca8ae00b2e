import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { DATABASES } from '../../support/database.js';
import { hour, LET_GO } from '../cases/full-hour.js';
import { type Contender, overStore } from '../contenders.js';
import { CLOSE, type Figures } from '../task.js';
import { bareLocks } from './contenders.js';

/*
 * An instance of a fleet, in a process of its own: see full-hour.ts. Reads commands: the time of an hour, epoch milliseconds, or what
 * follows it. Answers each by a line of JSON.
 */

export interface InstanceTask {
  readonly measurement: 'full-hour';
  readonly database: string;
  readonly url: string;
  readonly table: string;
  readonly jobs: number;
  readonly contender: 'bare' | 'ours';
  /** Of the pool. */
  readonly connections: number;
}

const TTL = 60_000;

const task = JSON.parse(process.argv[2] ?? '') as InstanceTask;
const database = DATABASES.find(({ name }) => name === task.database);
if (database === undefined) throw new Error(`There is no ${task.database}`);
let statements = 0;
const pool = database.pool(task.url, { max: task.connections, onStatement: () => (statements += 1) });
const locks = Array.from({ length: task.jobs }, (_, i) => `job-${i}`);
const store = pool.store({ table: task.table });
await store.init();
const contender: Pick<Contender, 'run' | 'close'> =
  task.contender === 'ours' ? overStore(store, TTL) : bare();
let letGo: () => Promise<Figures> = async () => ({});

say({});
for await (const command of createInterface({ input: process.stdin })) {
  if (command === CLOSE) break;
  if (command === LET_GO) {
    say(await letGo());
    continue;
  }
  statements = 0;
  const { figures, end } = await hour(contender, locks, Number(command));
  letGo = end;
  say({ ...figures, statements });
}
await contender.close();
await pool.end();
say({});
process.stdout.write('', () => process.exit(0));

/** One conditional write for each attempt. */
function bare(): Pick<Contender, 'run' | 'close'> {
  const { take, release } = bareLocks(database as NonNullable<typeof database>, pool, task.table);
  return {
    run: async (lock, job) => {
      const token = randomUUID();
      if (!(await take(lock, token))) return false;
      await job();
      await release(lock, token);
      return true;
    },
    close: async () => undefined,
  };
}

function say(figures: Figures): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
