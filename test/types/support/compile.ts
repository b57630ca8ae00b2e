import { join } from 'node:path';
import ts from 'typescript';
import { projectRoot } from '../../support/machine.js';

const folder = join(projectRoot, 'test/types');

/**
 * What TypeScript says about each of these programs, which are kept in memory, and about files, compiled together with the strict
 * options of this project.
 *
 * @param programs sources by a name of one's own
 * @returns messages by that name, each after the number of its line: `3: Type 'number' is not …`; those of files by their paths
 */
export function diagnose(
  programs: Readonly<Record<string, string>>,
  files: readonly string[],
): Record<string, string[]> {
  const names = new Map(
    Object.keys(programs).map((name, index) => [join(folder, `program-${index}.ts`), name]),
  );
  const options = { ...projectOptions(), noUnusedLocals: false };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  const textOf = (path: string): string | undefined => programs[names.get(path) ?? ''];
  host.fileExists = (path) => names.has(path) || fileExists.call(host, path);
  host.readFile = (path) => textOf(path) ?? readFile.call(host, path);
  host.getSourceFile = (path, ...rest) => {
    const text = textOf(path);
    // A module by its own format, as the compiler's host would have found it out.
    return text === undefined
      ? getSourceFile.call(host, path, ...rest)
      : ts.createSourceFile(path, text, {
          languageVersion: ts.ScriptTarget.ES2022,
          impliedNodeFormat: ts.ModuleKind.ESNext,
        });
  };
  const program = ts.createProgram([...names.keys(), ...files], options, host);
  const found: Record<string, string[]> = {};
  for (const { file, start = 0, messageText } of ts.getPreEmitDiagnostics(program)) {
    const path = file?.fileName ?? 'options';
    const line = (file?.getLineAndCharacterOfPosition(start).line ?? 0) + 1;
    (found[names.get(path) ?? path] ??= []).push(
      `${line}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
  }
  return found;
}

function projectOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(projectRoot, 'tsconfig.json'), (path) =>
    ts.sys.readFile(path),
  ) as {
    config: unknown;
  };
  return ts.parseJsonConfigFileContent(config, ts.sys, projectRoot).options;
}
