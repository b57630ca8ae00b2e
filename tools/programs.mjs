// Makes `.build`: the programs of tests that are processes of their own, the benchmark, the chaos run, the demo, and what they import.
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
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
await Promise.all(FOLDERS.flatMap(scriptsIn).map(build));
// What was built before, and has no source any more, would go on to run. The others stay: a program of them may be starting.
const built = new Set([...seen].map(scriptOf).flatMap((script) => [script, `${script}.map`]));
for (const folder of ['lib', 'test', 'sample-app'])
  for (const file of filesIn(join(root, '.build', folder)))
    if (!built.has(join(folder, file))) rmSync(join(root, '.build', folder, file));

function scriptsIn(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .map((file) => join(folder, file))
    .filter((file) => /(?<!\.d)\.tsx?$/.test(file));
}

/** The paths of all files in a folder, as far as there is one. */
function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true }).filter((file) => statSync(join(folder, file)).isFile());
}

/** Builds a file, and then what it imports. */
async function build(file) {
  if (seen.has(file)) return;
  seen.add(file);
  // A map within a script would be most of its text, which node keeps: the garbage collector would cost what the benchmark measures.
  const { code, map } = await transformFile(join(root, file), { ...SWC, sourceMaps: true });
  const target = join(root, '.build', scriptOf(file));
  const mapFile = `${target}.map`;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(mapFile, map);
  writeFileSync(target, `${code}//# sourceMappingURL=${basename(mapFile)}\n`);
  const imported = Array.from(code.matchAll(IMPORT), ([, path]) => join(dirname(file), path));
  await Promise.all(imported.map((path) => build(sourceOf(path))));
}

function scriptOf(file) {
  return file.replace(/\.tsx?$/, '.js');
}

function sourceOf(path) {
  return existsSync(join(root, `${path}.ts`)) ? `${path}.ts` : `${path}.tsx`;
}
