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
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
// An interrupt from the terminal reaches us alone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));
let failed = 0;
for (const tier of tiers) failed = (await jest(tier)) || failed;
process.exitCode = failed;

/** Resolves to the exit code. */
async function jest(tier) {
  const program = join(root, 'node_modules/jest/bin/jest.js');
  // What files of tests share, each of which runs in a process of its own: see test/support/once.ts.
  const shared = mkdtempSync(join(tmpdir(), 'scheduler-lock-run-'));
  const child = spawn(process.execPath, ['--experimental-vm-modules', '--no-warnings', program, ...rest], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, TIER: tier, TEST_RUN_FOLDER: shared },
    detached: true,
  });
  const letGo = endWithUs(child.pid, shared);
  const code = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (status, signal) => resolve(signal === null ? status : 1));
  });
  await letGo();
  return code;
}

/**
 * Kills the group of a process when it has ended, and when this process ends, however that ends, and removes its folder: a shell reads
 * from a pipe that closes then. A worker of Jest that computes without a pause does not notice that Jest is gone, and would go on for
 * minutes.
 */
function endWithUs(group, folder) {
  const shell = spawn(
    '/bin/sh',
    ['-c', 'trap \'\' INT TERM HUP; read -r _; kill -KILL -$1; rm -rf -- "$2"', 'sh', String(group), folder],
    {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    },
  );
  return () => {
    shell.stdin.end();
    return new Promise((resolve) => shell.on('exit', resolve));
  };
}
