import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { builtScript } from '../support/machine.js';
import { type ChaosArguments, parseArguments } from './arguments.js';
import { checkHistory, CHECKS, type CheckName } from './checker/check.js';
import { reportLines } from './checker/report.js';
import { drive } from './driver.js';
import { whatIsPossible } from './left-out.js';
import { monotonic, readHistory } from './history.js';
import { makePlan, planLines } from './plan.js';
import { sabotage, sabotageOf } from './sabotage.js';
import type { Sabotage } from './sabotages/sabotage.js';

/** With `--until`, a violation ends the run when it was seen this often, without a look that found none. */
const LOOKS = 5;
/** A look costs more as the history grows: this many times as long until the next one, at least. */
const REST = 9;

/*
 * npm run chaos -- --instances 5 --seconds 120 --seed 42 [--store redis]: see CONTRIBUTING.md.
 *
 * Exits with 1 if a check fails; the history is kept then, and `node .build/test/chaos/check.js <folder>` judges it again.
 */
const { args, broken } = readArguments();
const only = args.only.length > 0 ? args.only : (broken?.only ?? []);
const { leftOut, clock } = await whatIsPossible(args.store);
const volley = Math.max(args.volley, broken?.volley ?? 0);
const callers = Math.max(args.callers, broken?.callers ?? 0);
const seconds = broken?.seconds ?? args.seconds;
const plan = makePlan({ ...args, seconds, volley, callers, only, leftOut });
console.log(planLines(plan).join('\n'));
for (const [fault, why] of leftOut) console.log(`LEFT OUT: ${fault}, as ${why}`);
try {
  if (!args.planOnly) process.exitCode = await run();
} finally {
  clock?.close();
}

function readArguments(): { args: ChaosArguments; broken: Sabotage | undefined } {
  try {
    const parsed = parseArguments(process.argv.slice(2));
    const { sabotage: how, store } = parsed;
    return { args: parsed, broken: how === '' ? undefined : sabotageOf(how, store) };
  } catch (error) {
    // A mistake in the arguments: a stack would bury the message.
    console.error((error as Error).message);
    process.exit(2);
  }
}

async function run(): Promise<number> {
  const program = broken === undefined ? builtScript('test/chaos') : sabotage(args.sabotage, broken);
  const folder = args.history || mkdtempSync(join(tmpdir(), 'scheduler-lock-chaos-'));
  const until = args.until || (broken?.seconds === undefined ? broken?.caughtBy : undefined);
  if (until !== undefined && !Object.hasOwn(CHECKS, until))
    throw new Error(`--until ${until}: there is ${Object.keys(CHECKS).join(', ')}`);
  // Judged as if it was over: a run that goes on may end before its last deadline.
  const violated = (): boolean =>
    checkHistory([...readHistory(folder), { k: 'over', m: monotonic() }], [until as CheckName]).some(
      ({ violations }) => violations.length > 0,
    );
  // What explains it may be written later, on a busy machine by seconds.
  let looks = 0;
  let nextLook = 0;
  const failed = (): boolean => {
    const from = monotonic();
    if (from < nextLook) return false;
    looks = violated() ? looks + 1 : 0;
    nextLook = monotonic() + REST * (monotonic() - from);
    return looks >= LOOKS;
  };
  console.log(`\nrunning; the history is in ${folder}`);
  const log = (line: string): void => console.log(line);
  const { store, roundTrip } = args;
  const options = { store, folder, program, volley, callers, roundTrip, log, clock };
  const counts = await drive(plan, until === undefined ? options : { ...options, enough: failed });
  if (broken !== undefined) rmSync(dirname(dirname(program)), { recursive: true, force: true });

  const findings = checkHistory(readHistory(folder));
  const injected = [...counts].sort().map(([fault, count]) => `${fault} ${count}`);
  console.log(`\ninjected: ${injected.join(', ') || 'nothing'}\n\n${reportLines(findings).join('\n')}\n`);
  const wrong = findings.filter(({ violations }) => violations.length > 0);
  if (wrong.length === 0) {
    if (args.history === '') rmSync(folder, { recursive: true, force: true });
    console.log(`All checks passed. Made by: npm run chaos -- ${commandLine()}`);
    return 0;
  }
  console.log(`FAILED: ${wrong.map(({ name }) => name).join(', ')}. The history is in ${folder}`);
  console.log(`Run the same plan again: npm run chaos -- ${commandLine()}`);
  return 1;
}

function commandLine(): string {
  const { instances, seconds, seed, store, dataLoss, only, sabotage: how } = args;
  const more = [
    ...(args.volley > 0 ? [`--volley ${args.volley}`] : []),
    ...(args.callers > 0 ? [`--callers ${args.callers}`] : []),
    ...(args.roundTrip > 0 ? [`--round-trip ${args.roundTrip}`] : []),
    ...(dataLoss ? [] : ['--no-data-loss']),
    ...(only.length > 0 ? [`--only ${only.join(',')}`] : []),
    ...(how === '' ? [] : [`--sabotage ${how}`]),
  ];
  return [`--instances ${instances} --seconds ${seconds} --seed ${seed} --store ${store}`, ...more].join(' ');
}
