import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { projectRoot } from '../../support/machine.js';
import { npm } from './tarball.js';

/**
 * A Node of this version, from npm. It stays in `.cache/node`.
 *
 * @param version as in `npm install`: `22` is the latest of its kind
 * @returns the path of the program
 */
export async function nodeBinary(version: string): Promise<string> {
  const folder = join(projectRoot, '.cache/node', version);
  const binary = join(folder, 'node_modules/node/bin/node');
  if (existsSync(binary)) return binary;
  // Another suite may install the same one now: whoever is first has it moved to its place.
  await mkdir(join(projectRoot, '.cache/node'), { recursive: true });
  const own = await mkdtemp(`${folder}-`);
  try {
    // Installed here, not in the project above.
    await npm(['install', '--prefix', own, '--no-package-lock', '--no-save', `node@${version}`], own);
    await rename(own, folder).catch((error: unknown) => {
      if (!existsSync(binary)) throw error;
    });
  } finally {
    await rm(own, { recursive: true, force: true });
  }
  return binary;
}
