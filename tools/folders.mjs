import { dirname, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

export const fileOf = (path) => relative(root, path).split(sep).join('/');
/** `test/unit`: the first two parts of a path. */
export const folderOf = (path) => fileOf(path).split('/').slice(0, 2).join('/');

/** How many files of each folder run. The sequencer knows it, and the reporter needs it: both are modules of one process. */
export const expected = new Map();

const OTHERS = 'others';
/** The longest files, and what waits most of the time, come first; many short files at the end keep all workers at work. */
const ORDER = [
  'test/end-to-end',
  'test/types',
  'test/integration',
  'test/contract',
  OTHERS,
  'test/tools',
  'test/unit',
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
  const rank = ([folder]) => ORDER.indexOf(ORDER.includes(folder) ? folder : OTHERS);
  return [...folders].sort((one, other) => rank(one) - rank(other)).flatMap(([, own]) => own);
}
