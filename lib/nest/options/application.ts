import { readFileSync, realpathSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';

/** What a `package.json` says of an application. */
interface Application {
  readonly name?: string;
  readonly version?: string;
}

/** The application of this main module, by the nearest `package.json` with a name at or above it. Empty if there is none, or it is a tool's. */
export function applicationOf(main: string | undefined): Application {
  if (main === undefined || isTool(main)) return {};
  for (let folder = dirname(resolved(main)); ; folder = dirname(folder)) {
    // A build may have a `package.json` without a name.
    const found = applicationIn(join(folder, 'package.json'));
    if (found.name !== undefined || folder === dirname(folder)) return found;
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

function applicationIn(path: string): Application {
  try {
    const { name, version } = JSON.parse(readFileSync(path, 'utf8')) as { name?: unknown; version?: unknown };
    if (typeof name !== 'string' || name === '') return {};
    return typeof version === 'string' ? { name, version } : { name };
  } catch {
    return {};
  }
}
