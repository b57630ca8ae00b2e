import { basename, join } from 'node:path';
import ts from 'typescript';
import { projectRoot } from '../../support/machine.js';

const folder = join(projectRoot, 'test/types');

/**
 * What TypeScript says about each of these programs, which are kept in memory and compiled together against the
 * sources, with the strict options of this project.
 *
 * @param programs sources by a name of one's own
 * @returns messages by that name, each after the number of its line: `3: Type 'number' is not …`
 */
export function diagnose(programs: Record<string, string>): Record<string, string[]> {
  const names = Object.keys(programs);
  const sources = new Map(
    names.map((name, index) => [join(folder, `program-${index}.ts`), programs[name] ?? '']),
  );
  const options = { ...projectOptions(), noUnusedLocals: false, noUnusedParameters: false };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => sources.has(path) || fileExists.call(host, path);
  host.readFile = (path) => sources.get(path) ?? readFile.call(host, path);
  host.getSourceFile = (path, ...rest) => {
    const text = sources.get(path);
    // A module by its own format, as the compiler's host would have found it out.
    return text === undefined
      ? getSourceFile.call(host, path, ...rest)
      : ts.createSourceFile(path, text, {
          languageVersion: ts.ScriptTarget.ES2022,
          impliedNodeFormat: ts.ModuleKind.ESNext,
        });
  };
  const program = ts.createProgram([...sources.keys()], options, host);
  const found = Object.fromEntries(names.map((name): [string, string[]] => [name, []]));
  for (const diagnostic of ts.getPreEmitDiagnostics(program)) {
    const { file, start = 0, messageText } = diagnostic;
    const text = ts.flattenDiagnosticMessageText(messageText, ' ');
    const name = names[[...sources.keys()].indexOf(file?.fileName ?? '')];
    if (file === undefined || name === undefined)
      throw new Error(`${basename(file?.fileName ?? 'options')}: ${text}`);
    found[name]?.push(`${file.getLineAndCharacterOfPosition(start).line + 1}: ${text}`);
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
