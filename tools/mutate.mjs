// Breaks the library in many small ways, one at a time, and sees which of them the tests notice.
//
// node tools/mutate.mjs                          all of the targets: hours
// node tools/mutate.mjs --sample 200 --seed 7    200 mutants, always the same ones
// node tools/mutate.mjs --file lib/lock/run.ts  one file or folder; more than once for more
// node tools/mutate.mjs --jobs 1                 how many at a time: as many as there are processors, if not given
//
// tools/mutation/targets.json says which tests are asked about which files, in which order. A mutant that they let pass
// survives: it needs a test, or an entry in tools/mutation/judged.json that says why none would be worth it. One that does
// not compile is not counted, and a kill is believed only if the tests that failed pass without the mutant, now or in the
// last minutes. Works on copies; when interrupted it reports what it has.
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Compiler } from './mutation/compiler.mjs';
import { mutantsOf } from './mutation/mutants.mjs';
import { printReport } from './mutation/report.mjs';
import { Workshop } from './mutation/workshop.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    file: { type: 'string', multiple: true },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});
const targets = readJson('targets.json');
const compiler = new Compiler(root);
const files = compiler.files.filter(isAsked);
if (files.length === 0) throw new Error('There is no such file among tools/mutation/targets.json.');

const all = files.flatMap((file) => mutantsOf(file, compiler.program));
const judged = readJson('judged.json').filter(({ file }) => files.includes(file) || !compiler.has(file));
const isJudged = (mutant) => judged.some((entry) => isSame(entry, mutant));
const stale = judged.filter((entry) => !all.some((mutant) => isSame(entry, mutant)));
const open = all.filter((mutant) => !isJudged(mutant));
const chosen =
  options.sample === undefined ? open : sample(open, Number(options.sample), Number(options.seed));
console.log(
  `${all.length} mutants of ${files.length} files, ${all.length - open.length} judged; ${chosen.length} to go`,
);

const workshops = Array.from({ length: Number(options.jobs) }, () => new Workshop(root));
const queue = [...chosen];
/** Seconds that tests take without a fault. */
const usual = new Map();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(report() ? 0 : 1));
await untilAllPass();
await Promise.all(workshops.map(work));
for (const workshop of workshops) workshop.close();
process.exitCode = report() ? 0 : 1;

function report() {
  const tried = chosen.filter(({ fate }) => fate !== undefined);
  return printReport({ files, all, judged, stale, tried }) && tried.length === chosen.length;
}

function readJson(name) {
  return JSON.parse(readFileSync(join(root, 'tools/mutation', name), 'utf8'));
}

function isAsked(file) {
  if (targetOf(file) === undefined) return false;
  return options.file?.some((path) => isBelow(file, path.replace(/\/$/, ''))) ?? true;
}

/** The longest path wins: a file may have tests of its own. */
function targetOf(file) {
  const paths = Object.keys(targets).filter((path) => isBelow(file, path));
  return targets[paths.sort((a, b) => b.length - a.length)[0]];
}

function isBelow(file, path) {
  return file === path || file.startsWith(`${path}/`);
}

function isSame(entry, mutant) {
  return ['file', 'original', 'mutated'].every((key) => entry[key] === mutant[key]);
}

/** Without a fault all have to pass: what fails by itself would notice every mutant. */
async function untilAllPass() {
  const stages = new Set(chosen.flatMap(({ file }) => targetOf(file)).map((stage) => JSON.stringify(stage)));
  for (const stage of stages) {
    // All at once, as later: then they know how long the tests take on a busy machine.
    const from = performance.now();
    const runs = await Promise.all(workshops.map((workshop) => workshop.test(JSON.parse(stage))));
    usual.set(stage, (performance.now() - from) / 1_000);
    const failed = runs.find(({ passed }) => !passed);
    if (failed !== undefined)
      throw new Error(`These tests fail without any mutant: ${stage}\n${failed.output}`);
  }
}

/** A mutant that takes this much longer hangs, even if the machine has more to do by now. */
function limitOf(stages) {
  return 30 + 5 * stages.reduce((sum, stage) => sum + usual.get(JSON.stringify(stage)), 0);
}

async function work(workshop) {
  for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
    const text = compiler.textOf(mutant.file);
    const accepted = compiler.accepts(mutant, text);
    const stages = targetOf(mutant.file);
    mutant.fate = accepted ? await workshop.fateOf(mutant, text, stages, limitOf(stages)) : 'not compiled';
    const { file, line, kind, original, mutated, fate } = mutant;
    console.log(`${fate.padEnd(12)} ${file}:${line} ${kind}`);
    if (fate === 'survived') console.log(`  - ${original}\n  + ${mutated}`);
  }
}

/** The same ones for the same seed, as long as the mutants are the same. */
function sample(mutants, size, seed) {
  let state = seed;
  // Mulberry32.
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const drawn = mutants.map((mutant) => ({ mutant, at: random() })).sort((a, b) => a.at - b.at);
  const taken = new Set(drawn.slice(0, size).map(({ mutant }) => mutant));
  return mutants.filter((mutant) => taken.has(mutant));
}
