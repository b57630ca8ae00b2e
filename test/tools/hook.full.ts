import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';

// npm, on a machine that does other things as well.
jest.setTimeout(120_000);

/** A repository with our scripts, and one dependency that needs no registry. */
let clone: string;

beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), 'scheduler-lock-hook-'));
  const text = await readFile(join(projectRoot, 'package.json'), 'utf8');
  const { scripts } = JSON.parse(text) as { scripts: Record<string, string> };
  await writeFile(
    join(clone, 'package.json'),
    JSON.stringify({ name: 'clone', scripts, dependencies: { own: 'file:own' } }),
  );
  await mkdir(join(clone, 'own'));
  await writeFile(join(clone, 'own/package.json'), '{ "name": "own", "version": "1.0.0" }');
  await cp(join(projectRoot, 'tools/hook.mjs'), join(clone, 'tools/hook.mjs'));
  run('git', 'init', '--quiet');
  run('npm', 'install', '--package-lock-only');
});

afterEach(() => rm(clone, { recursive: true, force: true }));

test('`npm ci` in a clone switches the hook on', () => {
  expect(hooks()).toBe('');
  run('npm', 'ci');
  expect(hooks()).toBe('.githooks');
});

test('`npm ci` leaves alone whoever has switched the hook off, and CI', () => {
  run('node', 'tools/hook.mjs', 'off');
  const off = hooks();
  expect(off).toMatch(/[/]hooks$/);
  run('npm', 'ci');
  expect(hooks()).toBe(off);
  run('git', 'config', '--unset', 'core.hooksPath');
  run('npm', 'ci', { CI: 'true' });
  expect(hooks()).toBe('');
});

test('`npm ci` works where the tools are missing, as in a tarball', async () => {
  await rm(join(clone, 'tools'), { recursive: true });
  run('npm', 'ci');
  expect(hooks()).toBe('');
});

test('of a message that is written over a diff (`git commit -v`), the diff is no body', async () => {
  await cp(join(projectRoot, '.githooks'), join(clone, '.githooks'), { recursive: true });
  run('node', 'tools/hook.mjs', 'on');
  await writeFile(join(clone, 'changed.txt'), 'a line of a diff\n'.repeat(500));
  run('git', 'add', 'changed.txt');
  const own = ['-c', 'user.name=n', '-c', 'user.email=e@x', '-c', 'core.editor=true'];
  const commit = (message: string): string => run('git', ...own, 'commit', '-v', '-e', '-m', message);
  expect(() => commit('fix: a word')).toThrow('a body that says why');
  commit('fix: a word\n\nWhy it was wrong.');
});

test.each([
  ['fix: a word', 1, ''],
  ['merge: another branch\n\nWhat it brings.', 500, ''],
  [`Merge branch 'other'`, 500, ''],
  ['fix: a word\n\nWhy it was wrong.', 500, ''],
  ['a word', 1, 'begins with feat:'],
  [`fix: ${'long '.repeat(20)}`, 1, 'at most 100 characters'],
  ['fix: a word\n\n# Changes to be committed', 500, 'a body that says why'],
])('a commit with the message %j that changes %i lines', async (message, lines, problem) => {
  await cp(join(projectRoot, '.githooks'), join(clone, '.githooks'), { recursive: true });
  run('node', 'tools/hook.mjs', 'on');
  await writeFile(join(clone, 'changed.txt'), 'a line\n'.repeat(lines));
  run('git', 'add', 'changed.txt');
  const commit = (): string =>
    run('git', '-c', 'user.name=n', '-c', 'user.email=e@x', 'commit', '--cleanup=strip', '-m', message);
  if (problem === '') commit();
  else expect(commit).toThrow(problem);
});

const hooks = (): string => run('git', 'config', '--default', '', '--get', 'core.hooksPath');

/** Runs a program in there, outside of CI and of any other repository unless the last argument says so. */
function run(command: string, ...given: (string | Record<string, string>)[]): string {
  const args = given.filter((each) => typeof each === 'string');
  const more = Object.assign(
    { CI: '', npm_config_audit: 'false' },
    ...given.filter((each) => typeof each === 'object'),
  ) as Record<string, string>;
  const git = Object.fromEntries(
    Object.keys(process.env)
      .filter((name) => name.startsWith('GIT_'))
      .map((name) => [name, undefined]),
  );
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: clone,
    env: { ...process.env, ...git, ...more },
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout.trim();
}
