import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';
import { apply } from './mutants.mjs';

/** Not a fault: an import, a variable or a line that only the mutant does without. */
const UNUSED = new Set([6133, 6138, 6192, 6196, 6198, 6199, 7027]);

/** The tests run without a compiler. A mutant that does not compile needs none of them to be noticed: it is not counted. */
export class Compiler {
  #versions = new Map();
  #texts = new Map();
  #service;
  #root;
  #names;

  constructor(root) {
    this.#root = root;
    const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined };
    const config = ts.getParsedCommandLineOfConfigFile(join(root, 'tsconfig.build.json'), {}, host);
    this.#names = config.fileNames;
    this.#service = ts.createLanguageService({
      getScriptFileNames: () => config.fileNames,
      getScriptVersion: (name) => String(this.#versions.get(name) ?? 0),
      getScriptSnapshot: (name) =>
        ts.sys.fileExists(name)
          ? ts.ScriptSnapshot.fromString(this.#texts.get(name) ?? readFileSync(name, 'utf8'))
          : undefined,
      getCurrentDirectory: () => root,
      getCompilationSettings: () => config.options,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      fileExists: ts.sys.fileExists,
      readFile: ts.sys.readFile,
      readDirectory: ts.sys.readDirectory,
      directoryExists: ts.sys.directoryExists,
      getDirectories: ts.sys.getDirectories,
    });
  }

  /** From the root of the project. */
  get files() {
    return this.#names.map((name) => relative(this.#root, name));
  }

  get program() {
    return this.#service.getProgram();
  }

  /** As it was when the mutants were made: it may have been edited since. */
  textOf(file) {
    return this.program.getSourceFile(file).text;
  }

  has(file) {
    return this.files.includes(file);
  }

  accepts(mutant, text) {
    const name = join(this.#root, mutant.file);
    this.#set(name, apply(mutant, text));
    const problems = [
      ...this.#service.getSyntacticDiagnostics(name),
      ...this.#service.getSemanticDiagnostics(name),
    ];
    this.#set(name, text);
    return problems.every(({ code }) => UNUSED.has(code));
  }

  #set(name, text) {
    this.#texts.set(name, text);
    this.#versions.set(name, (this.#versions.get(name) ?? 0) + 1);
  }
}
