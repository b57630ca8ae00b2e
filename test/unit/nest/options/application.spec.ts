import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applicationOf } from '../../../../lib/nest/options/application.js';

let root: string;
beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'application-')));
  write('package.json', '{ "name": "@shop/billing", "version": "1.5.0" }');
  write('dist/package.json', '{ "type": "module" }');
  write('dist/main.js');
  write('broken/package.json', '{ "name": ');
  write('broken/main.js');
  write('node_modules/runner/package.json', '{ "name": "runner" }');
  write('node_modules/runner/bin/run.js');
  write('apps/web/package.json', '{ "name": "web" }');
  write('apps/web/main.js');
  symlinkSync(join(root, 'apps/web/main.js'), join(root, 'web'));
});
afterAll(() => rmSync(root, { recursive: true }));

function write(path: string, text = ''): void {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), text);
}

const BILLING = { name: '@shop/billing', version: '1.5.0' };
test.each([
  ['the nearest package.json has its name and version', 'apps/web/main.js', { name: 'web' }],
  ['one without a name is passed over', 'dist/main.js', BILLING],
  ['so is one that cannot be read', 'broken/main.js', BILLING],
  ['a main module may be named without its ending', 'dist/main', BILLING],
  ['and by a link', 'web', { name: 'web' }],
  ['a tool, such as a runner of tests, is no application', 'node_modules/runner/bin/run.js', {}],
])('%s', (_case, main, application) => {
  expect(applicationOf(join(root, main))).toEqual(application);
});

test('without a main module it has no name', () => {
  expect(applicationOf(undefined)).toEqual({});
});
