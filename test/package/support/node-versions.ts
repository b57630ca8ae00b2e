import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
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
  if (!existsSync(binary)) {
    await mkdir(folder, { recursive: true });
    // Installed here, not in the project above.
    await npm(['install', '--prefix', folder, '--no-package-lock', '--no-save', `node@${version}`], folder);
  }
  return binary;
}
