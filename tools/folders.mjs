import { dirname, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

export const fileOf = (path) => relative(root, path).split(sep).join('/');
/** `test/unit`: the first two parts of a path. */
export const folderOf = (path) => fileOf(path).split('/').slice(0, 2).join('/');

/** How many files of each folder run. The sequencer knows it, and the reporter needs it: both are modules of one process. */
export const expected = new Map();

/** What waits most of the time, and then what is cheap to understand when it fails, comes first. */
const FIRST = [
  'test/unit',
  'test/contract',
  'test/tools',
  'test/types',
  'sample-app/src',
  'test/integration',
];

/** Notes how many files each folder has. Returns them by folder; within one, the order stays. */
export function expect(tests) {
  expected.clear();
  const folders = new Map();
  for (const test of tests) {
    const folder = folderOf(test.path);
    folders.set(folder, [...(folders.get(folder) ?? []), test]);
  }
  for (const [folder, own] of folders) expected.set(folder, own.length);
  const rank = ([folder]) => (FIRST.includes(folder) ? FIRST.indexOf(folder) : FIRST.length);
  return [...folders].sort((one, other) => rank(one) - rank(other)).flatMap(([, own]) => own);
}
