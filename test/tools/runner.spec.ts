import { test } from '@jest/globals';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnChild } from '../support/child.js';
import { isAlive, projectRoot } from '../support/machine.js';
import { until } from '../support/until.js';

/** Computes without a pause, as a model does: it notices nothing from outside. */
const FILE = `
import { writeFileSync } from 'node:fs';
test('computes', () => {
  writeFileSync(process.env.STARTED + process.env.JEST_WORKER_ID, String(process.pid));
  for (;;);
});`;

test('a run that is killed leaves no worker behind, though that computes and notices nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'scheduler-lock-runner-'));
  const started = join(folder, 'pid');
  try {
    for (const name of ['one', 'two']) await writeFile(join(folder, `${name}.test.mjs`), FILE);
    const config = JSON.stringify({ rootDir: folder, testMatch: ['**/*.test.mjs'], transform: {} });
    const runner = await spawnChild(join(projectRoot, 'tools/test.mjs'), {
      args: ['fast', '--maxWorkers', '2', '--config', config],
      env: { STARTED: started },
      cwd: projectRoot,
    });
    const pids = await until(
      async () => {
        const both = await Promise.all([1, 2].map((id) => readFile(`${started}${id}`, 'utf8')));
        return both.every((text) => text !== '') && both.map(Number);
      },
      {
        message: () => `two workers; the runner has said:\n${runner.stdout}${runner.stderr}`,
        timeout: 40_000,
      },
    );
    await runner.kill();
    await until(() => !pids.some(isAlive), { message: `the end of ${pids.join(' and ')}` });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
