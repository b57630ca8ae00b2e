import { test } from '@jest/globals';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { spawnChild } from '../support/child.js';
import { isAlive, projectRoot } from '../support/machine.js';
import { until } from '../support/until.js';

/** Computes without a pause, as a model does: nothing from outside is noticed. */
const FILE = `
import { test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
test('computes', () => {
  writeFileSync(process.env.STARTED + process.env.JEST_WORKER_ID, String(process.pid));
  for (;;);
});`;

test('a run that is killed leaves no worker behind, though it computes and notices nothing', async () => {
  // Among the tests, or Jest would not look there; ignored by git.
  const folder = join(projectRoot, 'test/tools', `.left-${process.pid}`);
  await mkdir(folder);
  const started = join(folder, 'pid');
  try {
    for (const name of ['one', 'two']) await writeFile(join(folder, `${name}.spec.ts`), FILE);
    const runner = await spawnChild(join(projectRoot, 'tools/test.mjs'), {
      args: ['fast', '--maxWorkers', '2', folder],
      env: { STARTED: started, JEST_WORKER_ID: undefined },
      cwd: projectRoot,
    });
    const { readFile } = await import('node:fs/promises');
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
