import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';
import { parseArguments } from './arguments.js';
import { CASES } from './cases.js';
import { comparisonTable } from './comparison.js';
import { Session } from './session.js';
import { markdownTable, type Row } from './table.js';

/*
 * npm run bench [-- --only <part of a case's name>] [-- --rounds <n>] [-- --quick] [-- --against <folder>]
 *
 * A benchmark, not a test: it exits with 0 for any figures, with 1 if a case has none. Ratios are medians over interleaved rounds, each measurement in
 * fresh processes. If measurements are compared with each other, they take turns within a round. With --against, another
 * checkout of this project (whose tools are built) is one more contender, and every figure is shown beside its own.
 */
const args = parseArguments(process.argv.slice(2));
const cases = CASES.filter(({ name }) => name.includes(args.only));
if (cases.length === 0) {
  throw new Error(`No case is called ${args.only}. There are: ${CASES.map(({ name }) => name).join(', ')}`);
}

const session = await Session.open(args.quick, args.against);
const rows: Row[] = [];
const rounds: string[] = [];
try {
  for (const bench of cases) {
    const count = args.rounds || bench.rounds;
    try {
      rows.push(...(await bench.run(session, count)));
      rounds.push(`${bench.name} ${count}`);
    } catch (error) {
      // Half an hour of figures must not be lost because one case fails, such as one that the other checkout does not have.
      process.exitCode = 1;
      console.error(`${bench.name} failed:`, error);
    }
  }
  console.log(`\n${markdownTable(rows)}\n`);
  if (session.compares) console.log(`${comparisonTable(session.comparisons)}\n`);
  console.log(`Machine: ${await session.machine()}.`);
} finally {
  await session.close();
}
const packages = ['nestjs-scheduler-lock', 'ioredis', 'redlock', 'redis-semaphore', '@nestjs/core'];
console.log(`Versions: ${packages.map((name) => `${name} ${version(name)}`).join(', ')}.`);
console.log(`Rounds: ${rounds.join(', ')}. Made by: npm run bench${commandLine()}`);

function version(name: string): string {
  const folder = name === 'nestjs-scheduler-lock' ? '.' : join('node_modules', name);
  const text = readFileSync(join(projectRoot, folder, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

function commandLine(): string {
  const given = process.argv.slice(2).join(' ');
  return given === '' ? '' : ` -- ${given}`;
}
