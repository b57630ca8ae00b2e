import ts from 'typescript';
import { posix } from 'node:path';
import { LOADED_LATE, ROOMS } from '../rooms.js';
import { type Import, nodesOf, type Source } from './sources.js';

/** What is wrong with the imports of a file, one line for each. */
export function importProblems({ path, imports }: Source): string[] {
  const own = roomOf(path);
  const room = own === undefined ? undefined : ROOMS[own];
  if (own === undefined || room === undefined) return [`${path}: it is in no room`];
  const mayImport = [...(own === 'index' ? [] : [own]), ...room.imports];
  return imports.flatMap(({ target, ours, dynamic }) => {
    if (target.startsWith('node:')) return [];
    const isAllowed = ours
      ? mayImport.some((place) => isIn(place, target))
      : room.packages?.includes(target) === true ||
        (dynamic && LOADED_LATE[nameOf(path)]?.includes(target) === true);
    return isAllowed ? [] : [`${path} imports ${target}: ${own} may not`];
  });
}

/** A path without its ending, as the rules have it. */
const nameOf = (path: string): string => path.replace(/\.tsx?$/, '');

/** Whether a file is the one that is named, or in the folder that is. */
const isIn = (place: string, path: string): boolean => nameOf(path) === place || path.startsWith(`${place}/`);

/** The room that a file is in. */
function roomOf(path: string): string | undefined {
  return Object.keys(ROOMS).find((room) => isIn(room, path));
}

/** How many lines the files of some rooms have, in one name with blanks between. */
export function linesOf(rooms: string, sources: readonly Source[]): number {
  const files = sources.filter(({ path }) => rooms.split(' ').some((room) => isIn(room, path)));
  return files.reduce((sum, { tree }) => sum + tree.text.split('\n').length - 1, 0);
}

/** Files that are so short that they are no thought of their own. What a package exports is an entry, however short. */
export function scraps(sources: readonly Source[]): string[] {
  const short = sources.filter(
    ({ path, tree }) => tree.text.split('\n').length <= 10 && !/(^|\/)index\.ts$/.test(path),
  );
  return short.map(({ path }) => path);
}

/** The same graph, of folders: a file of one imports a file of the other. */
export function folderCircles(sources: readonly Source[]): string[] {
  const folders = new Map<string, Import[]>();
  for (const { path, imports } of sources) {
    const from = posix.dirname(path);
    const others = imports.filter(({ target, ours }) => ours && posix.dirname(target) !== from);
    const known = folders.get(from) ?? [];
    folders.set(from, [...known, ...others.map((each) => ({ ...each, target: posix.dirname(each.target) }))]);
  }
  return circles([...folders].map(([path, imports]) => ({ path, imports })));
}

/** Files that import each other in a circle, types included: `a → b → a`. */
export const importCircles = (sources: readonly Source[]): string[] => circles(sources);

function circles(nodes: readonly Pick<Source, 'path' | 'imports'>[]): string[] {
  const byPath = new Map(nodes.map((node) => [node.path, node]));
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) found.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const { target, ours } of (byPath.get(path) ?? byPath.get(`${path}x`))?.imports ?? [])
      if (ours) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const { path } of nodes) visit(path, []);
  return found;
}

const TIMERS = new Set([
  'setTimeout',
  'setInterval',
  'clearTimeout',
  'clearInterval',
  'setImmediate',
  'queueMicrotask',
]);
const CLOCKS = new Set([
  'Date.now',
  'performance.now',
  'process.hrtime',
  'process.hrtime.bigint',
  'process.uptime',
]);

/** Where time comes in by another way than the clock that is passed around. */
export function timeProblems({ path, tree, imports }: Source): string[] {
  if (path === 'base/clock.ts') return [];
  const found = nodesOf(tree).filter((node) => {
    // `new Date(x)` shows a time; `new Date()` takes one.
    if (ts.isNewExpression(node)) return node.expression.getText() === 'Date' && !node.arguments?.length;
    if (ts.isPropertyAccessExpression(node)) return CLOCKS.has(node.getText());
    return ts.isIdentifier(node) && TIMERS.has(node.text);
  });
  const modules = imports.filter(({ target }) => /^node:(timers|perf_hooks)/.test(target));
  return [...found.map((node) => node.getText()), ...modules.map(({ target }) => target)].map(
    (what) => `${path} uses ${what}: time comes from a Clock`,
  );
}

/** The clock of the machine as more than a default: whoever gives a clock has it everywhere. */
export function clocksOfTheMachine({ path, tree }: Source): string[] {
  if (!/^(stores|rules|lock)\//.test(path)) return [];
  const uses = nodesOf(tree).filter((node) => ts.isIdentifier(node) && node.text === 'systemClock');
  return uses
    .filter(({ parent }) => !ts.isImportSpecifier(parent) && !isDefault(parent))
    .map(({ parent }) => `${path} has ${parent.getText()}: take the Clock that was given`);
}

const isDefault = (node: ts.Node): boolean =>
  ts.isParameter(node) ||
  ts.isBindingElement(node) ||
  (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken);

/** What makes a rule depend on more than what it is given. */
export function impureParts({ path, tree, imports }: Source): string[] {
  const clocks = imports.filter(({ target, ours }) => !ours || target === 'base/clock.ts');
  const found = nodesOf(tree).filter((node) => {
    if (node.kind === ts.SyntaxKind.AsyncKeyword) return true;
    if (ts.isPropertyAccessExpression(node)) return node.getText() === 'Math.random';
    return ts.isIdentifier(node) && node.text === 'Promise';
  });
  return [...clocks.map(({ target }) => target), ...found.map((node) => node.getText())].map(
    (what) => `${path} has ${what}: a rule knows a document, the time and a request`,
  );
}

/** Getters that change something: whoever reads a value does not expect that. */
export function changingGetters({ path, tree }: Source): string[] {
  const getters = nodesOf(tree).filter(ts.isGetAccessorDeclaration);
  return getters
    .filter((getter) => nodesOf(getter).some(isAssignment))
    .map((getter) => `${path}: the getter ${getter.name.getText()} changes something: make it a method`);
}

function isAssignment(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) {
    const { kind } = node.operatorToken;
    return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
  }
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node))
    return node.operator === ts.SyntaxKind.PlusPlusToken || node.operator === ts.SyntaxKind.MinusMinusToken;
  return ts.isDeleteExpression(node);
}

/** `export *`, which makes names public without anybody's deciding so, and opt-outs of the compiler. */
export function surfaceProblems({ path, tree }: Source): string[] {
  const found = nodesOf(tree).flatMap((node) => {
    if (ts.isExportDeclaration(node) && (!node.exportClause || ts.isNamespaceExport(node.exportClause))) {
      return ['export *'];
    }
    return node.kind === ts.SyntaxKind.AnyKeyword ? ['any'] : [];
  });
  if (/@ts-(ignore|nocheck|expect-error)/.test(tree.text)) found.push('a comment that silences the compiler');
  return found.map((what) => `${path} has ${what}`);
}

/** What is wrong with the comments that open rooms, one line for each room: it has one, before the imports of its main file. */
export function openingProblems(sources: readonly Source[]): string[] {
  const rooms = new Set(
    sources.map(({ path }) => roomOf(path)).filter((room) => room !== undefined && room !== 'index'),
  );
  const openings = sources.flatMap(({ path, tree }) => {
    const text = /^\/\*\n \* lib\/(\S+): .*?\*\//s.exec(tree.text);
    return text === null ? [] : [{ path, of: text[1] ?? '', text: text[0] }];
  });
  const misplaced = openings.filter(({ path, of }) => posix.dirname(path) !== of && roomOf(path) !== of);
  const missing = [...rooms].filter((room) => !openings.some(({ of }) => of === room));
  const twice = openings.filter(({ of, path }) =>
    openings.some((other) => other.of === of && other.path < path),
  );
  const open = openings.filter(({ text }) => !text.includes('\n * May not enter'));
  return [
    ...misplaced.map(({ path, of }) => `${path} opens lib/${of}, and is in lib/${posix.dirname(path)}`),
    ...missing.map(
      (room) => `lib/${room} has no opening comment: begin its main file with "lib/${room}: <idea>"`,
    ),
    ...twice.map(({ path, of }) => `${path} opens lib/${of}, and is not the first`),
    ...open.map(({ path }) => `${path} does not say what may not enter`),
  ];
}
