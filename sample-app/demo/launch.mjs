// Builds what is out of date, then starts the demo or the sample app: `node sample-app/demo/launch.mjs demo|sample`.
// Plain JavaScript, as nothing is built yet. Several terminals may start it at the same moment.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exclusively } from './exclusively.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const stampFile = join(root, '.build', 'sample-app.json');

const SOURCES = ['lib', 'sample-app', 'test/support', 'package.json', 'nest-cli.json'];
const CONFIGS = ['tsconfig.json', 'tsconfig.build.json', 'tools/programs.mjs', 'tools/swc.mjs'];
const RESULTS = ['dist', 'sample-app/dist'];

const [program = 'sample'] = process.argv.slice(2);
process.chdir(root);
const locked = (work) => exclusively(join(root, '.cache', 'sample-app'), work);
await locked(buildIfNeeded);
process.setSourceMapsEnabled(true);
const { main } = await import(`../../.build/sample-app/demo/${program}.js`);
try {
  await main(locked);
} catch (error) {
  // Most likely there is no Redis, and the message says what to do. A stack would bury it.
  console.error(process.env.DEBUG ? error : `\n${error.message}`);
  process.exit(1);
}

/** A second terminal builds nothing: the build would delete what the first one is running. */
async function buildIfNeeded() {
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp()) return;
  console.log('Building the library and the sample app …');
  rmSync(stampFile, { force: true });
  await run(process.execPath, [join('tools', 'build.mjs')]);
  await Promise.all([
    run(process.execPath, [join('node_modules', '@nestjs', 'cli', 'bin', 'nest.js'), 'build', 'sample-app']),
    run(process.execPath, [join('tools', 'programs.mjs')]),
  ]);
  writeFileSync(stampFile, stamp());
}

/** Changes when a source does, and when something else than this has built, perhaps only half. */
function stamp() {
  const files = [...SOURCES, ...CONFIGS, ...RESULTS].flatMap((path) => filesIn(path));
  return JSON.stringify(files, undefined, 1);
}

/** The files under a path, with what tells whether they have changed. */
function filesIn(path) {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (!facts?.isDirectory()) return [`${path} ${facts?.size} ${facts?.mtimeMs}`];
  return readdirSync(path)
    .filter((name) => name !== 'dist')
    .flatMap((name) => filesIn(join(path, name)));
}

/** Shows what a step wrote only if it fails. */
async function run(command, args) {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  if (code === 0) return;
  console.error(`${output}\nThe build failed: ${command} ${args.join(' ')}`);
  process.exit(1);
}
