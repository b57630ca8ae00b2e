// The hook before a commit, and its switch.
//
// node tools/hook.mjs on|off   `off` is for good: the choice is kept in this clone's git configuration
// node tools/hook.mjs prepare  after `npm ci`: on, unless something speaks against it. It is the script `dependencies` of
//                              package.json, which npm runs here alone: of a script `prepare` it would warn whoever installs the
//                              packed package. It cannot fail: a tarball has no folder `tools`, not every machine has git
// node tools/hook.mjs run      checks format and lint of the staged files, as they are on the disk
// node tools/hook.mjs message  checks the message in the file that is named next
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = '.githooks';
/** Of the first line of a message, characters. */
const LONGEST = 100;
/** How many changed lines want a reason. */
const MUCH = 100;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
// Of another repository, in a shell that works on that one; git itself sets GIT_INDEX_FILE for a hook, which is needed.
for (const other of ['GIT_DIR', 'GIT_WORK_TREE']) if (process.argv[2] !== 'run') delete process.env[other];
const commands = { on: switchOn, off: switchOff, prepare, run, message };
const [name = 'on', file] = process.argv.slice(2);
if (!Object.hasOwn(commands, name)) throw new Error(`No command is called ${name}: say on or off.`);
commands[name]();

function switchOn() {
  git('config', 'core.hooksPath', FOLDER);
  console.log('Commits check the format and lint of staged files now. Off: node tools/hook.mjs off');
}

/** Git's own folder, by its name: `prepare` sees that somebody has chosen. */
function switchOff() {
  git('config', 'core.hooksPath', gitsOwnHooks());
  console.log('Commits check nothing any more. On: node tools/hook.mjs on');
}

/**
 * Leaves alone: CI, a tarball, this package inside of another repository, hooks of somebody's own, and whoever has
 * switched it off.
 */
function prepare() {
  if (process.env['CI'] || ask('rev-parse', '--show-toplevel') === undefined || !isOwnRepository()) return;
  if (ask('config', '--get', 'core.hooksPath') !== undefined || hasOtherHooks()) return;
  if (ask('config', 'core.hooksPath', FOLDER) !== undefined)
    console.log('Commits check the format and lint of staged files. Off: node tools/hook.mjs off');
}

function isOwnRepository() {
  return realpathSync(ask('rev-parse', '--show-toplevel')) === realpathSync(root);
}

function hasOtherHooks() {
  const folder = gitsOwnHooks();
  return existsSync(folder) && readdirSync(folder).some((file) => !file.endsWith('.sample'));
}

function gitsOwnHooks() {
  return resolve(root, git('rev-parse', '--git-common-dir'), 'hooks');
}

function run() {
  // Without `npm ci` there is nothing to check with.
  if (!existsSync(join(root, 'node_modules/.bin/oxlint'))) return;
  const staged = git('diff', '--cached', '--name-only', '--diff-filter=ACMR', '-z')
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(root, path)));
  const scripts = staged.filter((path) => /^(lib|test|tools|sample-app)\/.*\.[cm]?[jt]s$/.test(path));
  const bad = [
    staged.length === 0 ||
      passes('prettier', '--check', '--ignore-unknown', '--log-level', 'warn', ...staged),
    scripts.length === 0 || passes('oxlint', ...scripts),
  ].includes(false);
  if (!bad) return;
  console.error(
    'Not committed. `npm run format` mends the format; `git commit --no-verify` commits all the same.',
  );
  process.exitCode = 1;
}

function message() {
  // Below the scissors is the diff of `git commit -v`.
  const [text = ''] = readFileSync(file, 'utf8').split(/^.* -{24} >8 -{24}$/m, 1);
  const lines = text.split('\n').filter((line) => !line.startsWith('#'));
  const [subject = '', ...body] = lines;
  // git's own words for what it makes by itself.
  if (/^(Merge|Revert|fixup!|squash!) /.test(subject)) return;
  const size = git('diff', '--cached', '--numstat')
    .split('\n')
    .flatMap((line) => line.split('\t').slice(0, 2))
    .reduce((sum, count) => sum + (Number(count) || 0), 0);
  const wrong = [
    !/^(feat|fix|test|docs|refactor|chore|merge): \S/.test(subject) &&
      'begins with feat:, fix:, test:, docs:, refactor:, chore: or merge:',
    subject.length > LONGEST && `has at most ${LONGEST} characters in its first line (${subject.length} now)`,
    size > MUCH && body.join('').trim() === '' && `has a body that says why, as ${size} lines change`,
  ].filter(Boolean);
  if (wrong.length === 0) return;
  console.error(`Not committed. A message ${wrong.join('; and ')}. What was written: ${file}`);
  process.exitCode = 1;
}

/** Says what it found only if it found something. */
function passes(tool, ...args) {
  const shell = process.platform === 'win32';
  const { status, stdout, stderr } = spawnSync(join('node_modules/.bin', tool), args, {
    cwd: root,
    shell,
    encoding: 'utf8',
  });
  if (status !== 0) process.stderr.write(`${stdout}${stderr}`);
  return status === 0;
}

function git(...args) {
  const answer = ask(...args);
  if (answer === undefined) throw new Error(`git ${args.join(' ')} failed: is this a clone?`);
  return answer;
}

/** `undefined` if git says no, or is not there. */
function ask(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}
