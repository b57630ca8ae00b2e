import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectRoot } from '../../support/project.js';

const run = promisify(execFile);

/** What `npm pack` says it has put into a tarball. */
export interface Packed {
  filename: string;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

/** What is put beside `dist` by hand: npm takes the last two along without being asked. */
const FILES = ['package.json', 'CHANGELOG.md', 'README.md', 'LICENSE'];

/**
 * The package as it would be published, from the sources as they are now. It is built into a folder of its own: other
 * tests run programs that load `dist`, which a build empties for a moment.
 *
 * @returns the path of the tarball, and a function that removes it
 */
export async function makeTarball(): Promise<{ path: string; packed: Packed; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'scheduler-lock-package-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const packed = await buildAndPack(folder);
    return { path: join(folder, packed.filename), packed, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function buildAndPack(folder: string): Promise<Packed> {
  const stage = join(folder, 'stage');
  await mkdir(stage);
  const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc');
  const config = join(projectRoot, 'tsconfig.build.json');
  await runProgram(process.execPath, [compiler, '-p', config, '--outDir', join(stage, 'dist')], folder);
  for (const file of FILES) {
    if (existsSync(join(projectRoot, file))) await copyFile(join(projectRoot, file), join(stage, file));
  }
  return pack(stage, ['--pack-destination', folder]);
}

/** What a tarball made of the project's folder would hold. Nothing is written. */
export function packProjectDryRun(): Promise<Packed> {
  return pack(projectRoot, ['--dry-run']);
}

async function pack(folder: string, options: string[]): Promise<Packed> {
  // Without scripts: `prepack` would build again, in a folder that others read.
  const stdout = await npm(['pack', '--json', '--ignore-scripts', ...options], folder);
  const answer = JSON.parse(stdout) as Packed[] | Record<string, Packed>;
  const [packed] = Object.values(answer);
  if (packed === undefined) throw new Error(`npm pack said ${stdout}`);
  return packed;
}

/** Runs npm with a cache of the project's own, so that a repeated run asks the registry for nothing. */
export function npm(args: string[], folder: string): Promise<string> {
  const cache = ['--cache', join(projectRoot, '.cache/npm'), '--prefer-offline'];
  return runProgram('npm', [...args, ...cache, '--no-audit', '--no-fund', '--no-update-notifier'], folder);
}

/** @throws with everything the program said, if it fails */
export async function runProgram(command: string, args: string[], folder: string): Promise<string> {
  try {
    const { stdout } = await run(command, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
    return stdout;
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
