import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { broken, STORE_SABOTAGES } from '../../chaos/sabotage.js';
import { CORE_SABOTAGES } from '../../chaos/sabotages/core.js';
import { projectRoot } from '../../support/machine.js';

// Each of them takes half a minute to be caught: here it is known at once if the library has changed beneath one.
const ALL = Object.entries({ ...STORE_SABOTAGES, core: CORE_SABOTAGES }).flatMap(([store, sabotages]) =>
  Object.entries(sabotages).map(([name, how]) => [name, store, how] as const),
);

const pathOf = (file: string): string => join(projectRoot, 'dist', file);

/** Files of the built library, as the compiler is to see them instead of the ones on the disk. */
const changed = new Map<string, string>();

const compiler = ts.createLanguageService({
  getCompilationSettings: () => ({
    allowJs: true,
    checkJs: true,
    noEmit: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
  }),
  getCurrentDirectory: () => projectRoot,
  getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
  getScriptFileNames: () => [...new Set(ALL.map(([, , { file }]) => pathOf(file)))],
  getScriptVersion: (path) => changed.get(path) ?? '',
  getScriptSnapshot: (path) => {
    const text = changed.get(path) ?? ts.sys.readFile(path);
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
  },
  fileExists: (path) => ts.sys.fileExists(path),
  readFile: (path) => ts.sys.readFile(path),
});

/** What the compiler says of a file: as the library's own are no typed JavaScript, it always says something. */
function complaints(path: string): string[] {
  return [...compiler.getSyntacticDiagnostics(path), ...compiler.getSemanticDiagnostics(path)].map(
    ({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '),
  );
}

test.each(ALL)('the sabotage %s, on %s, finds its place in the built library', (name, _, how) => {
  const path = pathOf(how.file);
  const text = readFileSync(path, 'utf8');
  const before = complaints(path);
  changed.set(path, broken(name, how, text));
  const now = complaints(path);
  changed.delete(path);
  // It does something else than before: it does not fail because it calls what is no longer there.
  expect(now.filter((complaint) => !before.includes(complaint))).toEqual([]);
});
