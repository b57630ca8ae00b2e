// Makes `.build`: the programs of tests that are processes of their own, the benchmark, the chaos run, the demo, and what they import.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';
import { SWC } from './swc.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const FOLDERS = [
  'test/support',
  'test/bench',
  'test/chaos',
  'test/faults/children',
  'test/shedlock/nest',
  'sample-app/demo',
];
/** An import of another file. */
const IMPORT = /\b(?:from|import|import\()\s*['"](\.\.?\/[^'"]+)\.js['"]/g;

const seen = new Set();
// What was built before, and has no source any more, would go on to run.
for (const folder of ['lib', 'test', 'sample-app'])
  rmSync(join(root, '.build', folder), { recursive: true, force: true });
await Promise.all(FOLDERS.flatMap(scriptsIn).map(build));

function scriptsIn(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((file) => join(folder, file))
    .filter((file) => /(?<!\.d)\.tsx?$/.test(file));
}

/** Builds a file, and then what it imports. */
async function build(file) {
  if (seen.has(file)) return;
  seen.add(file);
  const { code } = await transformFile(join(root, file), SWC);
  const target = join(root, '.build', file.replace(/\.tsx?$/, '.js'));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, code);
  const imported = Array.from(code.matchAll(IMPORT), ([, path]) => join(dirname(file), path));
  await Promise.all(imported.map((path) => build(sourceOf(path))));
}

function sourceOf(path) {
  return existsSync(join(root, `${path}.ts`)) ? `${path}.ts` : `${path}.tsx`;
}
