import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of this project's package.json: the same from the sources and from their compiled copy. */
export const projectRoot: string = findRoot(dirname(fileURLToPath(import.meta.url)));

/** The absolute path of a compiled tool: `builtScript('test/faults/children/worker.js')`. */
export function builtScript(path: string): string {
  return join(projectRoot, '.build', path);
}

function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error('No package.json above the test support');
  return findRoot(parent);
}
