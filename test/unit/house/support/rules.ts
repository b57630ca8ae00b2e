import ts from 'typescript';
import { type Import, nodesOf, type Source } from './sources.js';

/** The contract of stores, and what stores of ours may have besides. */
const CONTRACT = 'stores/(lock|replying)-store\\.ts';
const LEAVES = '(errors|clock|duration|lock-name|job-start|shared|spelling|writable)\\.ts';

/** Which of our files a file may import. The first rule that fits its path decides; without one, it is at the wrong place. */
const DIRECTIONS: readonly [file: RegExp, mayImport: RegExp, why: string][] = [
  [new RegExp(`^${LEAVES}$`), /^$/, 'leaves import nothing of ours'],
  [new RegExp(`^${CONTRACT}$`), new RegExp(`^(${LEAVES}|${CONTRACT})$`), 'the contract knows leaves only'],
  [
    /^stores\/redis\//,
    new RegExp(`^(${LEAVES}|${CONTRACT}|stores/redis/.+)$`),
    'a store knows leaves, the contract and its own folder',
  ],
  [
    /^stores\/memory\//,
    new RegExp(`^(${LEAVES}|${CONTRACT}|stores/memory/.+)$`),
    'a store knows leaves, the contract and its own folder',
  ],
  [
    /^stores\/sql\//,
    new RegExp(`^(${LEAVES}|${CONTRACT}|stores/sql/.+)$`),
    'what databases share knows leaves, the contract and its own folder',
  ],
  [
    /^stores\/postgres\//,
    new RegExp(`^(${LEAVES}|${CONTRACT}|stores/(sql|postgres)/.+)$`),
    'a store knows leaves, the contract, what databases share and its own folder',
  ],
  [
    /^stores\/mysql\//,
    new RegExp(`^(${LEAVES}|${CONTRACT}|stores/(sql|mysql)/.+)$`),
    'a store knows leaves, the contract, what databases share and its own folder',
  ],
  [
    /^lease\//,
    new RegExp(`^(${LEAVES}|${CONTRACT}|lease/.+)$`),
    'leases know leaves and the contract of stores',
  ],
  [
    /^leader\//,
    new RegExp(`^(${LEAVES}|lease/.+|leader/.+)$`),
    'the policy of elections knows leaves and leases',
  ],
  [/^schedule\//, new RegExp(`^(${LEAVES}|schedule/.+)$`), 'the schedule knows leaves'],
  [
    /^guard\.ts$/,
    new RegExp(`^(${LEAVES}|scheduler-lock\\.options\\.ts)$`),
    'the guard knows leaves and the types of options',
  ],
  [
    /^testing\//,
    /^(?!index\.ts$|scheduler-lock\.|schedule\/|stores\/(sql|postgres|mysql)\/)/,
    'the testing entry needs no Nest, so nothing that does, and no database',
  ],
  [
    /^scheduler-lock\.[a-z-]+\.ts$/,
    /^(?!index\.ts$|testing\/|stores\/(sql|postgres|mysql)\/)/,
    'glue stands above all but the entries',
  ],
  [
    /^index\.ts$/,
    /^(?!testing\/|stores\/(sql|postgres|mysql)\/)/,
    'the main entry does not load the other entries',
  ],
];

/** Which packages a file may import, `node:` modules aside. */
const PACKAGES: readonly [file: RegExp, mayImport: (used: Import) => boolean][] = [
  [/^scheduler-lock\.decorator\.ts$/, ({ target }) => target === 'reflect-metadata'],
  // Nest's scheduler is an application's: a copy of our own could be another one.
  [/^scheduler-lock\.[a-z-]+\.ts$/, ({ target }) => target === '@nestjs/common' || target === '@nestjs/core'],
  [/^(lease|testing)\//, ({ target }) => target === 'uuid'],
  [/^stores\/redis\/driver\.ts$/, ({ target, dynamic }) => target === 'ioredis' && dynamic],
];

/** What is wrong with the imports of a file, one line for each. */
export function importProblems({ path, imports }: Source): string[] {
  const [, mayImport, why] = DIRECTIONS.find(([file]) => file.test(path)) ?? [
    path,
    /^$/,
    'no rule knows this place',
  ];
  return imports.flatMap((used) => {
    if (used.target.startsWith('node:')) return [];
    const allowed = used.ours
      ? mayImport.test(used.target)
      : PACKAGES.some(([file, may]) => file.test(path) && may(used));
    const reason = used.ours ? why : 'this package is not for this file';
    return allowed ? [] : [`${path} imports ${used.target}: ${reason}`];
  });
}

/** Files that import each other in a circle, types included: `a → b → a`. */
export function importCircles(sources: readonly Source[]): string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const { target, ours } of byPath.get(path)?.imports ?? []) if (ours) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const { path } of sources) visit(path, []);
  return circles;
}

const TIMERS = new Set(['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval']);
const CLOCKS = new Set([
  'Date.now',
  'performance.now',
  'process.hrtime',
  'process.hrtime.bigint',
  'process.uptime',
]);

/** Where time comes in by another way than the clock that is passed around. */
export function timeProblems({ path, tree, imports }: Source): string[] {
  if (path === 'clock.ts') return [];
  const found = [...nodesOf(tree)].filter((node) => {
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

/** `export *`, which makes names public without anybody's deciding so, and opt-outs of the compiler. */
export function surfaceProblems({ path, tree }: Source): string[] {
  const found = [...nodesOf(tree)].flatMap((node) => {
    if (ts.isExportDeclaration(node) && (!node.exportClause || ts.isNamespaceExport(node.exportClause))) {
      return ['export *'];
    }
    return node.kind === ts.SyntaxKind.AnyKeyword ? ['any'] : [];
  });
  if (/@ts-(ignore|nocheck|expect-error)/.test(tree.text)) found.push('a comment that silences the compiler');
  return found.map((what) => `${path} has ${what}`);
}
