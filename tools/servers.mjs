// Runs the tests of stores, a chaos run and the demo, in which an instance is killed, on each server that the README names, and prints a
// table of what ran. The servers come from package registries: see test/support/servers.ts.
//
// node tools/servers.mjs                  all, one after the other
// node tools/servers.mjs redis-8          these
// node tools/servers.mjs --turn 17        one of each kind beside one another, the contract and a shorter chaos run: other ones for another number
//
// Exits with 1 if something failed; and if a server could not be had, unless it is one of a turn: a registry that is away is no reason to keep a change
// out, and the table says that it did not run.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serverProgram, SERVERS } from '../.build/test/support/servers.js';

const SQL_FAULTS = ['servers', 'processes', 'sql-wire', 'sql-waiting'].map((name) => `faults/${name}`);
const SQL = ['integration/sql-', 'integration/setup-rights', 'integration/shell-rights', 'model/sql-'];

/** What runs on each kind: its name on a command line, the tests that a turn has, and the rest. */
const KINDS = {
  Redis: {
    store: 'redis',
    contract: [
      'contract/redis-lock',
      'contract/redis-entries',
      'contract/redis-clients',
      'contract/node-redis',
    ],
    rest: [
      'contract/redis-cluster',
      ...[
        'acl',
        'cluster',
        'sentinel',
        'servers',
        'processes',
        'set-back',
        'read-only',
        'script-flush',
        'wire.full',
        'wrong-type',
      ].map((name) => `faults/${name}`),
      'integration/redis-',
      'integration/eviction',
      'model/redis-',
    ],
  },
  PostgreSQL: {
    store: 'postgres',
    contract: ['contract/postgres', 'contract/sql-documents'],
    rest: [...SQL_FAULTS, ...SQL, 'integration/postgres-'],
  },
  MySQL: {
    store: 'mysql',
    contract: ['contract/mysql', 'contract/sql-documents'],
    rest: [...SQL_FAULTS, 'faults/mysql-', ...SQL, 'integration/mysql-'],
  },
};
const HEAD = ['server', 'version', 'from', 'tests', 'chaos', 'an application with a kill', 'took'];
const NEVER =
  'FerretDB 2, MongoDB: not to be had from these registries (FerretDB needs an extension of PostgreSQL)';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const turn = args[0] === '--turn' ? Number(args[1]) : undefined;
const asked = turn === undefined ? args : [];
const unknown = asked.filter((key) => !SERVERS.some((server) => server.key === key));
if (unknown.length > 0 || Number.isNaN(turn)) {
  console.error(`Give --turn and a number, or some of ${SERVERS.map(({ key }) => key).join(', ')}`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'scheduler-lock-servers-'));
// What was started listens for the end of this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

let isWrong = false;
const rows = [];
const tried = async (server) => rows.push(await rowOf(server));
if (turn === undefined)
  for (const server of SERVERS.filter(({ key }) => asked.length === 0 || asked.includes(key)))
    await tried(server);
else
  await Promise.all(
    Object.keys(KINDS).map((kind) => {
      const all = SERVERS.filter((server) => server.kind === kind);
      return tried(all[turn % all.length]);
    }),
  );
console.log(
  `\n${[HEAD, HEAD.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n\n${NEVER}`,
);
process.exitCode = isWrong ? 1 : 0;

/** What ran on a server, as a row of the table. */
async function rowOf(server) {
  const began = performance.now();
  const { name, source } = server;
  const program = await serverProgram(server).catch((error) => error);
  if (program instanceof Error) {
    isWrong ||= turn === undefined;
    console.log(`${name} could not be had: ${program.message}`);
    return [name, 'NOT HAD', source, '', '', '', ''];
  }
  const { output } = await run(server, program.command, ['--version'], program.env);
  const cells = [await tests(server), await chaos(server), await demo(server)];
  isWrong ||= cells.some((cell) => cell.startsWith('FAILED'));
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  return [name, /\d+(\.\d+)+/.exec(output)?.[0] ?? output, source, ...cells, `${minutes} min`];
}

async function tests(server) {
  const { contract, rest } = KINDS[server.kind];
  const paths = [...contract, ...(turn === undefined ? rest : [])].map((path) => `test/${path}`);
  const file = join(folder, `${server.key}.json`);
  const { code } = await run(server, process.execPath, [
    'tools/test.mjs',
    'full',
    '--json',
    `--outputFile=${file}`,
    ...paths,
  ]);
  if (!existsSync(file)) return 'FAILED: Jest did not end';
  const told = JSON.parse(readFileSync(file, 'utf8'));
  const { numPassedTests, numFailedTests, numRuntimeErrorTestSuites, numPendingTests } = told;
  const failed = numFailedTests + numRuntimeErrorTestSuites;
  const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : '';
  if (code === 0) return `${numPassedTests} passed${skipped}`;
  return `FAILED: ${failed} of ${numPassedTests + failed}${skipped}`;
}

async function chaos(server) {
  const seconds = turn === undefined ? 60 : 20;
  const plan = [
    '--instances',
    '4',
    '--seconds',
    String(seconds),
    '--seed',
    '531',
    '--callers',
    '3',
    '--volley',
    '100',
  ];
  const { store } = KINDS[server.kind];
  const { code, output } = await run(server, process.execPath, [
    '.build/test/chaos/main.js',
    '--store',
    store,
    ...plan,
  ]);
  const without = Array.from(output.matchAll(/^LEFT OUT: ([\w-]+)/gm), ([, fault]) => `, without ${fault}`);
  return `${code === 0 ? `passed, ${seconds} s` : 'FAILED'}${without.join('')}`;
}

async function demo(server) {
  const main = "(await import('./.build/sample-app/demo/demo.js')).main()";
  const words = ['--input-type=module', '--eval', main, '--', '--store', KINDS[server.kind].store];
  return (await run(server, process.execPath, words)).code === 0 ? 'passed' : 'FAILED';
}

/** Runs a program to its end, and shows what it said if that was not well. */
async function run({ name, key }, command, words, env = process.env) {
  const child = spawn(command, words, {
    cwd: root,
    env: { ...env, TEST_SERVER: key },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  process.on('exit', () => child.kill());
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  console.log(`\n=== ${name}: ${words.join(' ')}: ${code === 0 ? 'well' : `exit code ${code}\n${output}`}`);
  return { code, output };
}
