import { describe, expect, jest, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { STORE_SABOTAGES } from '../chaos/sabotage.js';
import { CORE_SABOTAGES } from '../chaos/sabotages/core.js';
import { REDIS_SABOTAGES } from '../chaos/sabotages/redis.js';
import { guard } from '../support/child.js';
import { builtScript, projectRoot } from '../support/machine.js';

/*
 * The chaos run has to notice what it is there for: each of these runs a library with one thing taken away, and ends
 * as soon as that is seen. Beside them short runs on the library as it is; longer ones, and that on Redis, are steps of
 * .ci/run.
 */

/** Longer than the longest run below, on a busy machine. */
jest.setTimeout(700_000);

async function node(args: string[], env: NodeJS.ProcessEnv = {}): Promise<{ code: unknown; output: string }> {
  const child = spawn(process.execPath, args, { cwd: projectRoot, env: { ...process.env, ...env } });
  guard(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [unknown];
  return { code, output };
}

/** Runs the chaos run, and hands its output and its history to the judgement. */
async function chaos(
  args: readonly string[],
  judge: (code: unknown, output: string, folder: string) => void | Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'scheduler-lock-chaos-'));
  try {
    const { code, output } = await node([builtScript('test/chaos/main.js'), ...args, '--history', folder]);
    await judge(code, output, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

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

const BROKEN = Object.entries({
  ...STORE_SABOTAGES,
  redis: { ...REDIS_SABOTAGES, ...CORE_SABOTAGES },
}).flatMap(([store, sabotages]) =>
  Object.entries(sabotages).map(([name, how]) => [name, store, how] as const),
);

describe('a chaos run catches a library', () => {
  test.concurrent.each(BROKEN)('with %s on %s', async (name, store, { caughtBy, seed }) => {
    const args = ['--instances', '5', '--seconds', '480', '--seed', String(seed), '--store', store];
    await chaos([...args, '--sabotage', name], async (code, output, folder) => {
      expect(output).toMatch(new RegExp(`^FAILED: .*\\b${caughtBy}\\b`, 'm'));
      expect(code).toBe(1);
      // The history tells it to whoever asks again.
      const again = await node([builtScript('test/chaos/check.js'), folder]);
      expect(again.code).toBe(1);
    });
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
