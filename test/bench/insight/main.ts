import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { projectRoot } from '../../support/machine.js';
import { startRedis } from '../../support/local-redis.js';
import { median } from '../statistics.js';
import { MANY_INSTANCES, MANY_JOBS, SCENARIOS, seed } from './fleet.js';

/*
 * node .build/test/bench/insight/main.js [--against ../before] [--rounds 3] [--up 20,200] [--instances 1000]
 *
 * A benchmark, not a test: what one look at all jobs costs the process that looks, and Redis, with 500 jobs and the 1,000 instances that
 * a week of deploys leaves behind. Each figure is of a fresh process: its first look, and the median of those that follow. With --against,
 * another checkout of this project, whose tools are built, takes turns with this one.
 */
const { values } = parseArgs({
  options: {
    against: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    up: { type: 'string', default: '20,200' },
    instances: { type: 'string', default: String(MANY_INSTANCES) },
  },
});
const run = promisify(execFile);
const folders = [projectRoot, ...(values.against === '' ? [] : [resolve(values.against)])];
const CHILD = resolve(projectRoot, '.build/test/bench/insight/look.js');

console.log(
  '| up | jobs | checkout | first look, processor ms | at a stretch | next looks | at a stretch | Redis, longest | `--json` kB |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- |');
const redis = await startRedis();
try {
  for (const up of values.up.split(',').map(Number))
    for (const scenario of SCENARIOS) {
      await redis.command('FLUSHALL');
      await seed(redis.url, { jobs: MANY_JOBS, instances: Number(values.instances), up, scenario });
      const found = new Map<string, Record<string, number>[]>();
      for (let round = 0; round < Number(values.rounds); round++)
        for (const folder of folders) {
          await redis.command('SLOWLOG', 'RESET');
          await redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', 500);
          const look = async (how: string): Promise<Record<string, number>> =>
            JSON.parse((await run(process.execPath, [CHILD, folder, redis.url, how])).stdout) as never;
          const { first: firstStretch = NaN } = await look('stretch');
          const looked = await look('time');
          const slow = (await redis.command('SLOWLOG', 'GET', -1)) as [number, number, number][];
          const longest = Math.max(0, ...slow.map(([, , microseconds]) => microseconds)) / 1e3;
          const figures = { ...looked, firstStretch, redis: longest };
          found.set(folder, [...(found.get(folder) ?? []), figures]);
        }
      for (const [folder, rounds] of found) {
        const of = (figure: string): string =>
          median(rounds.map((figures) => figures[figure] ?? NaN)).toFixed(1);
        const row = ['first', 'firstStretch', 'next', 'nextStretch', 'redis', 'json'].map(of);
        const name = folder === projectRoot ? 'this' : 'against';
        console.log(`| ${[up, scenario, name, ...row].join(' | ')} |`);
      }
    }
} finally {
  await redis.stop();
}
