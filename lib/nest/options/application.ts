import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

/**
 * The name of the application that this process runs: that of the nearest `package.json` at or above its main module. `undefined` if
 * there is none, or the main module is that of a tool, such as a runner of tests.
 *
 * @param main path of the main module
 */
export function applicationOf(main: string | undefined): string | undefined {
  if (main === undefined || isTool(main)) return undefined;
  for (let folder = dirname(resolved(main)); ; folder = dirname(folder)) {
    // A build may have a `package.json` without a name.
    const name = nameIn(join(folder, 'package.json'));
    if (name !== undefined || folder === dirname(folder)) return name;
  }
}

/** Whether a tool has started this process, such as a runner of tests. @param main path of the main module */
export const isTool = (main: string | undefined): boolean =>
  main !== undefined && dirname(resolved(main)).split(sep).includes('node_modules');

/** `node dist/main` leaves the ending out, so there may be no such file. */
function resolved(main: string): string {
  try {
    return realpathSync(main);
  } catch {
    return main;
  }
}

function nameIn(path: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(path, 'utf8')) as { name?: unknown };
    return typeof name === 'string' && name !== '' ? name : undefined;
  } catch {
    return undefined;
  }
}
