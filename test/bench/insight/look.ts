import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CronTime } from 'cron';
import { longestStretch } from '../../support/stretch.js';
import { median } from '../statistics.js';

/*
 * look.js <folder of a checkout> <url>: asks `jobs()` some times, and tells what that has cost this process, as JSON.
 */
const [, , folder = '', url = ''] = process.argv;

interface Parts {
  RedisLockStore: typeof import('../../../lib/stores/redis/index.js').RedisLockStore;
  Insight: typeof import('../../../lib/insight/insight.js').Insight;
  tickFinder: typeof import('../../../lib/schedule/tick-finder.js').tickFinder;
}

const load = async <K extends keyof Parts>(path: string, name: K): Promise<Parts[K]> =>
  ((await import(pathToFileURL(join(folder, '.build/lib', path)).href)) as Parts)[name];

const RedisLockStore = await load('stores/redis/index.js', 'RedisLockStore');
const Insight = await load('insight/insight.js', 'Insight');
const tickFinder = await load('schedule/tick-finder.js', 'tickFinder');

/** Looks after the first one whose median is told. */
const LOOKS = 7;

const store = new RedisLockStore(url);
await store.init();
await store.inspect(['a lock that nobody has']);
const insight = new Insight(store, { ticks: tickFinder(() => CronTime) });

const ms = (microseconds: number): number => microseconds / 1e3;

/** Milliseconds of processor time of this process, compiler and garbage collector included. */
async function processorTime(): Promise<number> {
  const before = process.cpuUsage();
  await insight.jobs();
  const { user, system } = process.cpuUsage(before);
  return ms(user + system);
}

// A look whose stretches are watched costs more: the first one is either.
const isWatched = process.argv[4] === 'stretch';
const first = isWatched ? await longestStretch(() => insight.jobs()) : await processorTime();
const [times, stretches]: number[][] = [[], []];
for (let n = 0; n < LOOKS; n++) {
  times?.push(await processorTime());
  stretches?.push(await longestStretch(() => insight.jobs()));
}
const jobs = await insight.jobs();
const figures = {
  first,
  next: median(times ?? []),
  nextStretch: median(stretches ?? []),
  json: JSON.stringify({ jobs }).length / 1e3,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
await store.close();
