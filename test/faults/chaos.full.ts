import { expect, jest, test } from '@jest/globals';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { builtScript, projectRoot } from '../support/machine.js';
import { chaos, node } from './support/chaos.js';

/* Short runs on the databases. Longer ones, that on Redis, and those of broken libraries are steps of .ci/run. */

/** Longer than the longest run below, on a busy machine. */
jest.setTimeout(700_000);

/** On each database kills, pauses, a crash of the server, a broken logger, faults of the network and a switch, in a few seconds. */
const RUNS = [
  ['postgres', 29589],
  ['mysql', 2117],
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
  // Half a second ahead. How long cron waits, counted from the true time, ends in the middle of a true second. A job that stops itself
  // would not do: when a busy machine starts it late, cron 4 fires it at once, and sets its timer after that, though it was stopped.
  const script = `
    import { createRequire } from 'node:module';
    const require = createRequire(${JSON.stringify(join(projectRoot, 'package.json'))});
    const { CronTime } = createRequire(require.resolve('@nestjs/schedule'))('cron');
    const seconds = new CronTime('* * * * * *', 'UTC');
    const trueNow = () => performance.timeOrigin + performance.now();
    // Of many, the one that was least interrupted between the two clocks.
    const tries = Array.from({ length: 1000 }, () => {
      const before = trueNow();
      const wait = seconds.getTimeout();
      return { lasted: trueNow() - before, at: (before + wait) % 1000 };
    });
    console.log(tries.sort((one, other) => one.lasted - other.lasted)[0].at);`;
  const shift = pathToFileURL(builtScript('test/chaos/worker/shift-clock.js')).href;
  const args = ['--import', shift, '--input-type=module', '--eval', script];
  const { code, output } = await node(args, { CHAOS_CLOCK_OFFSET: '500' });
  const middle = Math.round(Number(output) / 100);
  expect({ code, middle: Number.isNaN(middle) ? output : middle }).toEqual({ code: 0, middle: 5 });
});
