// Builds the package into a folder (`dist`): ES modules, and the same as CommonJS in its folder `cjs`.
//
// The shell is a program of its own, which no application loads: it is only there as ES modules.
//
// Two builds must be no larger than one was. So comments stay only in the types, where editors show them; scripts are indented
// by tabs; scripts that no entry leads to are left out; and there is one set of types, and one page. Both are CommonJS: an ES
// module can re-export that, but not the reverse.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import ts from 'typescript';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = resolve(process.argv[2] ?? join(root, 'dist'));

rmSync(target, { recursive: true, force: true });
compile(join(root, 'tsconfig.build.json'));
const scripts = filesBelow(target).filter((path) => path.endsWith('.js'));
for (const path of scripts) {
  const text = read(path);
  write(path, withoutComments(text));
  if (path.startsWith('show/cli/')) continue;
  const cjs = asCommonJs(text);
  // The mark of a module with a default export is for others' imports; here all imports are by name.
  write(
    join('cjs', path),
    basename(path) === 'index.js'
      ? cjs
      : cjs.replace(/^Object\.defineProperty\(exports, "__esModule".*\n/m, ''),
  );
}
await share('show/board/board.js');
const entries = scripts.filter((path) => basename(path) === 'index.js');
await keepReached('cjs', entries);
await keepReached('.', [...entries, 'show/cli/main.js']);
const types = entries.map(typesOf);
const reached = new Set();
for (const path of types) reachTypes(path);
for (const path of reached) write(join('cjs', path), readFileSync(join(target, path)));
for (const path of scripts) rmSync(join(target, typesOf(path)));
for (const path of types) {
  const up = relative(dirname(path), '.') || '.';
  write(path, `export * from '${up}/cjs/${path.replace('.d.ts', '.js')}';\n`);
}
write('cjs/package.json', '{ "type": "commonjs" }\n');

/** Without a check of types, which is a third of the time: `npm run check` has it, and npm, before it packs. */
function compile(config) {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail };
  const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(
    config,
    { outDir: target, noCheck: true },
    host,
  );
  const program = ts.createProgram(fileNames, options);
  const { diagnostics } = program.emit();
  const all = [...program.getSyntacticDiagnostics(), ...diagnostics];
  if (all.length > 0) fail(...all);
}

/** @returns never */
function fail(...diagnostics) {
  const host = {
    getCanonicalFileName: (path) => path,
    getCurrentDirectory: () => root,
    getNewLine: () => '\n',
  };
  process.stderr.write(ts.formatDiagnostics(diagnostics, host));
  process.exit(1);
}

/**
 * Makes one small file of a script, and all that it imports of its folder. Both builds have that file, so nothing in there may depend on
 * being the same class as elsewhere.
 */
async function share(path) {
  const folder = join(target, dirname(path));
  const elsewhere = {
    name: 'elsewhere',
    setup: ({ onResolve }) =>
      onResolve({ filter: /^\.\.?\// }, ({ path: to, resolveDir }) => {
        const found = relative(folder, join(resolveDir, to));
        return found.startsWith('..') ? { path: found, external: true } : undefined;
      }),
  };
  await build({
    entryPoints: [join(target, path)],
    outfile: join(target, 'cjs', path),
    allowOverwrite: true,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'cjs',
    target: 'es2022',
    plugins: [elsewhere],
    logLevel: 'error',
  });
  const names = readFileSync(join(target, path), 'utf8').matchAll(/^export (?:class|const|function) (\w+)/gm);
  const list = Array.from(names, ([, name]) => name).join(', ');
  write(path, `export { ${list} } from '${relative(folder, join(target, 'cjs', path))}';\n`);
}

/** Leaves those scripts out that no entry leads to: of types nothing is left, and what is shared is there. */
async function keepReached(folder, entries) {
  const absWorkingDir = join(target, folder);
  const { metafile } = await build({
    entryPoints: entries,
    absWorkingDir,
    outdir: 'nowhere',
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    ignoreAnnotations: true,
    metafile: true,
    logLevel: 'error',
  });
  for (const path of scripts)
    if (!Object.hasOwn(metafile.inputs, path)) rmSync(join(absWorkingDir, path), { force: true });
}

/** Collects the types that an entry leads to: users can reach no others. */
function reachTypes(path) {
  if (reached.has(path)) return;
  reached.add(path);
  const { importedFiles } = ts.preProcessFile(readFileSync(join(target, path), 'utf8'));
  for (const { fileName } of importedFiles) {
    if (fileName.startsWith('.')) reachTypes(typesOf(join(dirname(path), fileName)));
  }
}

/** An ES module without its comments. */
function withoutComments(text) {
  const printer = ts.createPrinter({ removeComments: true, target: ts.ScriptTarget.ES2022 });
  return indentByTabs(printer.printFile(parsed(text)));
}

function asCommonJs(text) {
  const compilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.CommonJS,
    removeComments: true,
  };
  const transformers = { before: [requireDynamically] };
  const { outputText } = ts.transpileModule(text, { compilerOptions, transformers });
  // What is exported is assigned below. Until then it is undefined without this line, too.
  return indentByTabs(outputText.replace(/^(exports\.\w+ = )+void 0;\n/m, ''));
}

/** The compiler indents by four spaces. Leaves the text of template literals, such as Lua and SQL, as it is. */
function indentByTabs(text) {
  const inside = [];
  const visit = (node) => {
    const isTemplate =
      node.kind >= ts.SyntaxKind.NoSubstitutionTemplateLiteral && node.kind <= ts.SyntaxKind.TemplateTail;
    if (isTemplate) inside.push([node.getStart(), node.end]);
    ts.forEachChild(node, visit);
  };
  visit(parsed(text));
  return text.replace(/^( {4})+/gm, (spaces, _, start) =>
    inside.some(([from, to]) => from < start && start < to) ? spaces : '\t'.repeat(spaces.length / 4),
  );
}

/**
 * Replaces each `import('…')` by `require('…')`: Jest has no dynamic import in CommonJS. A bundler knows that a module which
 * is required inside of `try` may be missing.
 */
function requireDynamically(context) {
  const visit = (node) =>
    ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
      ? context.factory.updateCallExpression(
          node,
          context.factory.createIdentifier('require'),
          undefined,
          node.arguments,
        )
      : ts.visitEachChild(node, visit, context);
  return (file) => ts.visitEachChild(file, visit, context);
}

/** Paths of files below a folder, from there. */
function filesBelow(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((file) => file.isFile())
    .map((file) => relative(folder, join(file.parentPath, file.name)));
}

function typesOf(path) {
  return path.replace(/\.js$/, '.d.ts');
}

/** With parents, without which a printer does not find how a literal was written. */
function parsed(text) {
  return ts.createSourceFile('script.js', text, ts.ScriptTarget.ES2022, true);
}

function read(path) {
  return readFileSync(join(target, path), 'utf8');
}

function write(path, text) {
  mkdirSync(dirname(join(target, path)), { recursive: true });
  writeFileSync(join(target, path), text);
}
