import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from './until.js';

/** What takes longest, an application with all its packages, on a machine that does other things as well, ms. */
const LIMIT = 500_000;

/**
 * Makes something in a folder once in a run of tests, whichever of its processes asks first. The others wait for it. The folder is
 * outside of the repository, is shared, and goes when the run is over: whoever changes something in it makes a copy.
 *
 * @param name what it is; two that differ in it are two
 * @param make is given the folder, which is empty
 * @throws what it has failed with, to all who ask
 */
export async function madeOnce(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(runFolder(), createHash('sha256').update(name).digest('hex').slice(0, 12));
  const outcome = `${folder}.outcome`;
  const isOurs = await mkdir(folder).then(() => true, isTaken);
  if (isOurs) {
    const failure = await make(folder).then(() => '', String);
    // At once with its text: the others look for it.
    await writeFile(`${outcome}.new`, failure);
    await rename(`${outcome}.new`, outcome);
  }
  await until(() => existsSync(outcome), {
    timeout: LIMIT,
    message: () => `another process to make ${name}`,
  });
  const failure = await readFile(outcome, 'utf8');
  if (failure !== '') throw new Error(`${name} could not be made: ${failure}`);
  return folder;
}

function isTaken(error: NodeJS.ErrnoException): boolean {
  if (error.code !== 'EEXIST') throw error;
  return false;
}

/** Whether this process is one of a run of tests, and not the benchmark, say. */
export const isInRun = (): boolean => process.env['TEST_RUN_FOLDER'] !== undefined;

function runFolder(): string {
  const folder = process.env['TEST_RUN_FOLDER'];
  if (folder === undefined) throw new Error('TEST_RUN_FOLDER is not set: tools/test.mjs does that');
  return folder;
}
