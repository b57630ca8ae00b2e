import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import ts from 'typescript';
import { projectRoot } from '../../../support/machine.js';

const lib = join(projectRoot, 'lib');

/** One import or re-export, as it is written. */
export interface Import {
  /** `lock/lease.ts` for one of our files, else the name of the package. */
  readonly target: string;
  readonly ours: boolean;
  /** `import('…')`: loaded when it is needed. */
  readonly dynamic: boolean;
}

/** A file of `lib`, parsed. Comments and texts are not taken for code. */
export interface Source {
  /** Below `lib`, with slashes: `lock/lease.ts`. */
  readonly path: string;
  readonly imports: readonly Import[];
  readonly tree: ts.SourceFile;
}

export function readSources(): Source[] {
  const files = readdirSync(lib, { recursive: true, withFileTypes: true }).filter(({ name }) =>
    /\.tsx?$/.test(name),
  );
  return files.map((file) => {
    const path = relative(lib, join(file.parentPath, file.name)).replaceAll('\\', '/');
    return parseSource(path, readFileSync(join(lib, path), 'utf8'));
  });
}

export function parseSource(path: string, text: string): Source {
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  return { path, tree, imports: nodesOf(tree).flatMap((node) => importsOf(path, node)) };
}

/** Every node of a tree, the outer ones first. */
export function nodesOf(node: ts.Node): ts.Node[] {
  const all: ts.Node[] = [];
  const visit = (each: ts.Node): void => {
    all.push(each);
    ts.forEachChild(each, visit);
  };
  visit(node);
  return all;
}

function importsOf(path: string, node: ts.Node): Import[] {
  const dynamic = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
  let specifier: ts.Node | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) specifier = node.moduleSpecifier;
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    specifier = node.argument.literal;
  else if (dynamic) specifier = node.arguments[0];
  if (specifier === undefined) return [];
  // The module that a person names with `--config`: the shell is never bundled.
  if (path === 'show/cli/config.ts' && dynamic && !ts.isStringLiteral(specifier)) return [];
  // A name that is put together cannot be checked, and no bundler could follow it.
  if (!ts.isStringLiteral(specifier)) throw new Error(`${path}: import of ${specifier.getText()}`);
  const { text } = specifier;
  if (!text.startsWith('.')) return [{ target: text, ours: false, dynamic }];
  return [{ target: posix.join(posix.dirname(path), text).replace(/\.js$/, '.ts'), ours: true, dynamic }];
}
