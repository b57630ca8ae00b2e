import { describe, expect, jest, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SABOTAGES } from '../chaos/sabotage.js';
import { guard } from '../support/process-guard.js';
import { builtScript, projectRoot } from '../support/project.js';

/*
 * The chaos run has to notice what it is there for: each of these runs a library with one thing taken away, and ends
 * as soon as that is seen. The run on the library as it is, is a step of .ci/run.
 */

/** Longer than the longest run below, on a busy machine. */
jest.setTimeout(300_000);

async function node(args: string[], env: NodeJS.ProcessEnv = {}): Promise<{ code: unknown; output: string }> {
  const child = spawn(process.execPath, args, { cwd: projectRoot, env: { ...process.env, ...env } });
  guard(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [unknown];
  return { code, output };
}

describe('a chaos run catches a library', () => {
  // A few at a time: see maxConcurrency in jest.config.js.
  test.concurrent.each(Object.entries(SABOTAGES))('with %s', async (name, { caughtBy, seed }) => {
    const folder = mkdtempSync(join(tmpdir(), 'scheduler-lock-chaos-'));
    try {
      const args = ['--instances', '5', '--seconds', '240', '--seed', String(seed), '--history', folder];
      const { code, output } = await node([builtScript('test/chaos/main.js'), ...args, '--sabotage', name]);
      expect(output).toMatch(new RegExp(`^FAILED: .*\\b${caughtBy}\\b`, 'm'));
      expect(code).toBe(1);
      // The history tells it to whoever asks again.
      const again = await node([builtScript('test/chaos/check.js'), folder]);
      expect(again.code).toBe(1);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

test('the clock of an instance is shifted for cron too', async () => {
  // Half a second ahead: cron, if it saw the true time, would fire in the middle of this process's seconds.
  const script = `
    import { createRequire } from 'node:module';
    const require = createRequire(${JSON.stringify(join(projectRoot, 'package.json'))});
    const { CronJob } = createRequire(require.resolve('@nestjs/schedule'))('cron');
    const job = new CronJob('* * * * * *', () => {
      // Late by less than a quarter of a second, for once: then it is this clock's second that fires it.
      if (Date.now() % 1000 > 250) return;
      job.stop();
      // The greatest of many: the process may be put aside between the two clocks.
      const ahead = () => Date.now() - performance.timeOrigin - performance.now();
      console.log(Math.max(...Array.from({ length: 1000 }, ahead)));
    }, null, true, 'UTC');`;
  const shift = pathToFileURL(builtScript('test/chaos/worker/shift-clock.js')).href;
  const args = ['--import', shift, '--input-type=module', '--eval', script];
  const { code, output } = await node(args, { CHAOS_CLOCK_OFFSET: '500' });
  expect({ code, output: Math.round(Number(output) / 100) }).toEqual({ code: 0, output: 5 });
});
