import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../../support/machine.js';
import { runProgram } from '../../support/program.js';
import { madeOnce } from '../../support/once.js';

/** What `npm pack` says it has put into a tarball. */
export interface Packed {
  filename: string;
  /** Of the tarball, bytes. */
  size: number;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

/**
 * The package as it would be published, from the build as it is: `npm test` makes it first. Packed once in a run.
 *
 * @returns the path of the tarball
 */
export async function theTarball(): Promise<string> {
  const folder = await madeOnce('the tarball', async (path) => {
    await pack(['--pack-destination', path]);
  });
  const [name = ''] = await readdir(folder);
  return join(folder, name);
}

/** What a tarball made of the project's folder would hold. Nothing is written. */
export function packProjectDryRun(): Promise<Packed> {
  return pack(['--dry-run']);
}

async function pack(options: string[]): Promise<Packed> {
  // Without scripts: `prepack` would build again, in a folder that others read.
  const stdout = await npm(['pack', '--json', '--ignore-scripts', ...options], projectRoot);
  const answer = JSON.parse(stdout) as Packed[] | Record<string, Packed>;
  const [packed] = Object.values(answer);
  if (packed === undefined) throw new Error(`npm pack said ${stdout}`);
  return packed;
}

/** Runs npm with a cache of the project's own, so that a repeated run asks the registry for nothing. */
export function npm(args: string[], folder: string): Promise<string> {
  const options = ['--cache', join(projectRoot, '.cache/npm'), '--prefer-offline'];
  // Before the rest: what follows after `--` is for the program that `npm exec` runs.
  options.push('--no-audit', '--no-fund', '--no-update-notifier');
  return runToSuccess('npm', [...options, ...args], folder);
}

/** Of npm, a compiler or the tests of an application, on a machine that does other things as well, ms. */
const LIMIT = 280_000;

/** @throws with everything the program said, if it fails */
export async function runToSuccess(
  command: string,
  args: string[],
  folder: string,
  env: Record<string, string> = {},
): Promise<string> {
  const { code, stdout, output } = await runProgram(command, args, { cwd: folder, env, limit: LIMIT });
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${output}`);
  return stdout;
}

/** A copy of a folder, with its links as they are: npm writes into files of the packages that it has installed. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await runToSuccess('cp', ['-RPp', `${from}/.`, to], from);
}
