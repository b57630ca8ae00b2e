// The parts of CI that start no server, side by side: one line for each, and all that a part says which fails.
//
// node tools/check.mjs                     the fast ones, under a minute: `npm run check`
// node tools/check.mjs lint types package  those that are named, and what they need: also `npm run check -- lint types`
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * The longest first: the others fill the gaps. What reads the built package comes after it: the sample app is checked
 * against the package as its users see it, and the sabotages of the chaos run look for their lines in there.
 */
const PARTS = {
  build: { command: [process.execPath, 'tools/build.mjs'] },
  unit: { command: unitTests(), after: 'build' },
  types: {
    // All files; then the library as it is built, with the types of what it depends on.
    command: program(
      ['tsconfig.json', 'tsconfig.build.json']
        .map(
          (config) =>
            `tsc -p ${config} --noEmit --incremental --tsBuildInfoFile .cache/${config}.tsbuildinfo`,
        )
        .join(' && '),
    ),
    after: 'build',
  },
  lint: { command: program('oxlint lib test tools sample-app'), after: 'build' },
  format: {
    command: program('prettier --check --cache --cache-strategy content --cache-location .cache/prettier .'),
  },
  // It packs: scripts of npm would build again, and delete what the others are reading.
  package: {
    command: program('publint --strict && attw --pack .'),
    after: 'build',
    env: { npm_config_ignore_scripts: 'true' },
  },
};
const FAST = ['build', 'unit', 'types', 'lint', 'format'];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) {
  console.error(`No part is called ${unknown.join(', ')}. There are ${Object.keys(PARTS).join(', ')}.`);
  process.exit(2);
}
const began = performance.now();
const ended = await runAll(withNeeds(asked.length > 0 ? asked : FAST));
const bad = [...ended].filter(([, state]) => state !== 'ok').map(([name]) => name);
console.log(`${bad.length === 0 ? 'all' : `not ${bad.join(', ')}: the rest is`} ok after ${seconds(began)}`);
process.exitCode = bad.length === 0 ? 0 : 1;

/** Programs of the dependencies. */
function program(line) {
  return ['npm', 'exec', '--no', '--call', line];
}

function unitTests() {
  return [
    process.execPath,
    'tools/test.mjs',
    'fast',
    '--runInBand',
    '--testPathPatterns',
    '^(?!.*/stores/redis/).*/test/(unit|tools/chaos)/',
  ];
}

function withNeeds(names) {
  const needed = names.map((name) => PARTS[name].after).filter((name) => name !== undefined);
  return Object.keys(PARTS).filter((name) => names.includes(name) || needed.includes(name));
}

/** As many at a time as there are processors. Returns how each part ended. */
async function runAll(names) {
  const states = new Map();
  const waiting = [...names];
  const running = new Map();
  while (waiting.length + running.size > 0) {
    const next = waiting.find((name) => isReady(PARTS[name].after, states));
    if (next !== undefined && running.size < availableParallelism()) {
      waiting.splice(waiting.indexOf(next), 1);
      running.set(next, run(next, states.get(PARTS[next].after)));
      continue;
    }
    const [name, state] = await Promise.race(running.values());
    running.delete(name);
    states.set(name, state);
  }
  return states;
}

function isReady(need, states) {
  return need === undefined || states.has(need);
}

async function run(name, need = 'ok') {
  if (need !== 'ok') {
    console.log(`${name.padEnd(8)} not run: ${PARTS[name].after} failed`);
    return [name, 'not run'];
  }
  const from = performance.now();
  const { code, output } = await outputOf(PARTS[name]);
  const state = code === 0 ? 'ok' : 'failed';
  console.log(`${name.padEnd(8)} ${state.padEnd(6)} ${seconds(from)}`);
  if (code !== 0) console.log(output);
  return [name, state];
}

function outputOf({ command: [command, ...args], env }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const chunks = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output: Buffer.concat(chunks).toString() }));
  });
}

function seconds(from) {
  return `${((performance.now() - from) / 1_000).toFixed(1)} s`;
}
