import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { builtScript } from '../support/machine.js';
import { runProgram } from '../support/program.js';

test('a built script carries no map in its text, so that the benchmark does not measure what holding maps costs', () => {
  const scripts = ['lib', 'test', 'sample-app'].flatMap((folder) => scriptsIn(builtScript(folder)));
  expect(scripts).toContain(builtScript('lib/index.js'));
  const carrying = scripts.filter((path) =>
    readFileSync(path, 'utf8').includes('\n//# sourceMappingURL=data:'),
  );
  expect(carrying).toEqual([]);
});

test('a built program that fails names the line of its source all the same', async () => {
  const { code, stderr } = await runProgram(process.execPath, [
    '--enable-source-maps',
    builtScript('test/bench/main.js'),
    '--only',
    'no such case',
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/No case is called no such case[^]* \(?\S*test\/bench\/main\.ts:\d+/);
});

function scriptsIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => path.endsWith('.js') && statSync(path).isFile());
}
