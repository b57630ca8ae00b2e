// Runs the tests of a tier. The name of a file says in which tier it is:
//
//   *.spec.ts  fast  `npm test`: each promise of the README once, in three minutes
//   *.full.ts  full  databases, faults, models, the packed package
//   *.slow.ts  slow  broken libraries, set-ups of users, and what needs the machine for itself
//
// node tools/test.mjs fast|full|slow|all [arguments of Jest]
//
// A path among the arguments is looked for in all tiers: `npm test -- test/faults/wire`.
import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TIERS } from './tiers.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [asked = 'fast', ...rest] = process.argv.slice(2);
if (asked !== 'all' && !Object.hasOwn(TIERS, asked)) {
  console.error(`There is no tier ${asked}. There are ${Object.keys(TIERS).join(', ')}, and all.`);
  process.exit(2);
}
const isPath = (argument) => /^(\.\/)?(test|sample-app)(\/|$)/.test(argument);
const tiers = asked === 'all' ? Object.keys(TIERS) : [rest.some(isPath) ? 'any' : asked];
let failed = 0;
for (const tier of tiers) failed = (await jest(tier)) || failed;
process.exitCode = failed;

/** Resolves to the exit code. */
function jest(tier) {
  const program = join(root, 'node_modules/jest/bin/jest.js');
  const child = spawn(process.execPath, ['--experimental-vm-modules', '--no-warnings', program, ...rest], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, TIER: tier },
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(signal === null ? code : 1));
  });
}
