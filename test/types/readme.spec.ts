import { expect, test } from '@jest/globals';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');
// Inside the package, so that its own name resolves to what was built.
const folder = join(root, '.build/readme');

/** The TypeScript blocks of a Markdown file. One that exports a class is imported under that class's name in kebab case. */
function snippets(file: string): Map<string, string> {
  const blocks = [...readFileSync(join(root, file), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(
    ([, text = '']) => text,
  );
  return new Map(
    blocks.map((text, index) => {
      const [, name = `Snippet${index + 1}`] = /^export class (\w+)/m.exec(text) ?? [];
      return [`${name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase()}.ts`, text];
    }),
  );
}

function compile(files: readonly string[]): string[] {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)).config,
    ts.sys,
    root,
  );
  const program = ts.createProgram([...files], { ...options, noUnusedLocals: false });
  return ts.getPreEmitDiagnostics(program).map(({ messageText, file, start }) => {
    const line =
      file === undefined || start === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line + 1;
    return `${file?.fileName ?? ''}:${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
  });
}

test('every TypeScript snippet of the README compiles against the built package', () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const files = [...snippets('README.md')].map(([name, text]) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  });
  expect(files.length).toBeGreaterThan(5);
  expect(compile(files)).toEqual([]);
}, 60_000);

test('every guarantee of the README names tests that exist', () => {
  const rows = readFileSync(join(root, 'README.md'), 'utf8')
    .split('\n')
    .filter((line) => line.includes('| `test/'));
  expect(rows.length).toBeGreaterThan(5);
  const missing = rows.flatMap((row) => {
    const files = [...row.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) =>
      readFileSync(join(root, file), 'utf8'),
    );
    const names = [...row.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name);
    return names.filter(
      (name) => !files.some((text) => text.replaceAll(/^test\.each|%s: /g, '').includes(name)),
    );
  });
  expect(missing).toEqual([]);
});
