import { expect, jest, test } from '@jest/globals';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { builtScript, projectRoot } from '../support/machine.js';
import { chaos, node } from './support/chaos.js';

/* Short runs on the databases. Longer ones, that on Redis, and those of broken libraries are steps of .ci/run. */

/** Longer than the longest run below, on a busy machine. */
jest.setTimeout(700_000);

/** On each database kills, pauses, a crash of the server, a broken logger and faults of the network, in a few seconds. */
const RUNS = [
  ['postgres', 29292],
  ['mysql', 2085],
] as const;

// A few at a time: see maxConcurrency in jest.config.js.
test.concurrent.each(RUNS)('a short chaos run on %s finds nothing wrong', async (store, seed) => {
  const args = `--instances 4 --seconds 20 --seed ${seed} --no-data-loss --callers 3`.split(' ');
  await chaos([...args, '--store', store], (code, output) => {
    expect(output).toMatch(/^injected: .*kill/m);
    expect(output).toMatch(/^All checks passed/m);
    expect(code).toBe(0);
  });
});

test('the clock of an instance is shifted for cron too', async () => {
  // Half a second ahead: cron, if it saw the true time, would fire in the middle of this process's seconds.
  const script = `
    import { createRequire } from 'node:module';
    const require = createRequire(${JSON.stringify(join(projectRoot, 'package.json'))});
    const { CronJob } = createRequire(require.resolve('@nestjs/schedule'))('cron');
    let told = false;
    const job = new CronJob('* * * * * *', () => {
      // Late by less than a quarter of a second, for once: then it is this clock's second that fires it.
      if (told || Date.now() % 1000 > 250) return;
      told = true;
      job.stop();
      // The greatest of many: the process may be put aside between the two clocks.
      const ahead = () => Date.now() - performance.timeOrigin - performance.now();
      console.log(Math.max(...Array.from({ length: 1000 }, ahead)));
    }, null, true, 'UTC');`;
  const shift = pathToFileURL(builtScript('test/chaos/worker/shift-clock.js')).href;
  const args = ['--import', shift, '--input-type=module', '--eval', script];
  const { code, output } = await node(args, { CHAOS_CLOCK_OFFSET: '500' });
  const ahead = Math.round(Number(output) / 100);
  expect({ code, ahead: Number.isNaN(ahead) ? output : ahead }).toEqual({ code: 0, ahead: 5 });
});
