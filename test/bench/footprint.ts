import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';
import { format } from './statistics.js';
import type { Row } from './table.js';

/** The packages that an installation brings, without peers. */
export function footprint(): Row[] {
  const ours = packagesOf('.');
  const [redlock, semaphore] = [
    packagesOf('node_modules/redlock'),
    packagesOf('node_modules/redis-semaphore'),
  ];
  const megabytes = (packages: ReadonlySet<string>): number =>
    [...packages].reduce((sum, folder) => sum + folderSize(folder), 0) / 1e6;
  return [
    {
      case: 'runtime dependencies besides peers',
      ours: String(ours.size),
      reference: '-',
      redlock: String(redlock.size),
      semaphore: String(semaphore.size),
      target: '≤ 2',
      met: ours.size <= 2,
    },
    {
      case: 'their size, installed',
      ours: format(megabytes(ours), 'MB'),
      reference: '-',
      redlock: format(megabytes(redlock), 'MB'),
      semaphore: format(megabytes(semaphore), 'MB'),
      target: '< 1 MB',
      met: megabytes(ours) < 1,
    },
  ];
}

/** Folders of the packages on which the one in `folder` depends, also indirectly. */
function packagesOf(folder: string, found = new Set<string>()): Set<string> {
  const text = readFileSync(join(projectRoot, folder, 'package.json'), 'utf8');
  const { dependencies = {} } = JSON.parse(text) as { dependencies?: Record<string, string> };
  for (const name of Object.keys(dependencies)) {
    const nested = join(folder, 'node_modules', name);
    const place = existsSync(join(projectRoot, nested)) ? nested : join('node_modules', name);
    if (found.has(place)) continue;
    found.add(place);
    packagesOf(place, found);
  }
  return found;
}

function folderSize(folder: string): number {
  return readdirSync(join(projectRoot, folder), { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? folderSize(path) : statSync(join(projectRoot, path)).size);
  }, 0);
}
