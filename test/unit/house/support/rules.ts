import ts from 'typescript';
import { type Import, nodesOf, type Source } from './sources.js';

/** The files at the root that every room may import. They import nothing of ours. */
const LEAVES = '(errors|clock|duration|lock-name|job-start|shared|wording)';

/** What stores may know: the contract, its rules, and what stores of ours may have besides. */
const CONTRACT =
  'stores/(lock-store|lock-info|lease-ref|queued-call-store|history-store|readable|fast-port|line|pause|queued-arguments|rules|holder-text|foreign-clients|tested-channel|quietly)';

/** What a room may import, besides its own files and the leaves; and why no more. The first place that fits a path decides. */
const ROOMS: readonly [place: string, mayImport: string, why: string][] = [
  [LEAVES, '', 'leaves import nothing of ours'],
  [CONTRACT, CONTRACT, 'the contract knows leaves only'],
  ['store/', CONTRACT, 'the rules of a lock know the contract, and no place'],
  [
    'stores/(memory|mongo|sql)/',
    `${CONTRACT}|store/.+`,
    'a place knows the contract, the port, and its own folder',
  ],
  [
    'stores/redis/',
    `${CONTRACT}|store/(entries|moments|side/.+)`,
    'Redis has scripts of its own for a lock, and shares the rules of entries',
  ],
  [
    'stores/(postgres|mysql)/',
    `${CONTRACT}|store/port|stores/sql/.+`,
    'a database knows what databases share, and no other',
  ],
  ['events/', CONTRACT, 'events are facts: they know nobody who reports them'],
  ['store-access/', `${CONTRACT}|events/(events|[a-z]+-events)`, 'calls of a store know nothing of leases'],
  [
    'lease/',
    `${CONTRACT}|events/(events|[a-z]+-events)|store-access/.+`,
    'leases know neither jobs nor schedules',
  ],
  [
    'leader/',
    'events/(events|[a-z]+-events)|lease/.+',
    'elections know leases, and nothing of the scheduler',
  ],
  [
    'queue/',
    `${CONTRACT}|events/(events|[a-z]+-events)|lease/(drain|lock-call|lock-runner)`,
    'queues know runs, and nothing of Nest',
  ],
  [
    'insight/',
    `${CONTRACT}|events/(events|[a-z]+-events)`,
    'insight knows the contract, and neither Nest nor drivers nor cron',
  ],
  [
    'control/',
    `${CONTRACT}|events/(events|[a-z]+-events)|insight/.+|options/table|store-access/time-limits`,
    'switches know a store, what is read of it and the defaults, and neither Nest nor the engine',
  ],
  [
    'cli/',
    `${CONTRACT}|insight/.+|control/.+|board/(answer|board|route|source)|scheduler/tick-finder|stores/redis/(redis-connection|redis-lock.store|acl|keys)|stores/sql/table-name|stores/postgres/(postgres-lock.store|client|setup)|stores/mysql/(mysql-lock.store|client|setup)`,
    'the shell reads by insight, opens stores, and knows nothing of Nest',
  ],
  ['scheduler/', '', 'what is known of the scheduler stands alone'],
  ['ticks/', `${CONTRACT}|scheduler/.+`, 'missed ticks know schedules and refusals, and nothing of leases'],
  [
    'options/',
    `${CONTRACT}|events/(events|[a-z]+-events)|lease/(lock-call|current-lock)|scheduler/scheduler-parts|stores/redis/(connection-options|keys)`,
    'options know the types that they name',
  ],
  [
    'decorators/',
    'options/(lock-|module-)?options|lease/current-lock',
    'decorators know the types of their options',
  ],
  [
    'nest/',
    '(?!index$|testing/|cli/|board/|metrics/|otel/|prometheus/|stores/(redis(?!/redis-lock.store$)|sql|postgres|mysql|mongo)/).+',
    'Nest ties all rooms together, but for the entries, and makes the stores that options are short for',
  ],
  [
    'testing/',
    `${CONTRACT}|store/.+|stores/memory/.+|lease/.+|decorators/locked-method`,
    'the testing entry needs no Nest and no database',
  ],
  [
    'metrics/',
    'events/.+|insight/judgement',
    'what is measured knows events and judgements, and neither Nest nor what it is measured with',
  ],
  [
    '(otel|prometheus)/',
    'events/scheduler-lock.events|metrics/.+|lease/current-lock|stores/quietly|nest/(beside|scheduler-lock-health|scheduler-lock.service)',
    'an entry for metrics listens from outside',
  ],
  [
    'board/',
    `${CONTRACT}|insight/.+|control/(types|told)|nest/(beside|scheduler-lock-(insight|control))`,
    'the page shows what insight tells, and knows neither stores nor the engine',
  ],
  [
    'index',
    '(?!testing/|cli/|board/|metrics/|otel/|prometheus/|stores/(sql|postgres|mysql|mongo)/).+',
    'the main entry does not load the other entries',
  ],
];

/** Which packages a file may import, `node:` modules aside. */
const PACKAGES: readonly [place: RegExp, mayImport: (used: Import) => boolean][] = [
  // Nest's scheduler is an application's: a copy of our own could be another one.
  [/^(nest\/|events\/log)/, ({ target }) => target === '@nestjs/common' || target === '@nestjs/core'],
  [/^(otel|prometheus)\//, ({ target }) => target === '@nestjs/common' || target === '@nestjs/core'],
  [
    /^board\/(board\.module|controller|options)$/,
    ({ target }) => target === '@nestjs/common' || target === '@nestjs/core',
  ],
  [/^board\/templates$/, ({ target }) => target === 'preact' || target === 'preact-render-to-string'],
  [/^otel\//, ({ target }) => target === '@opentelemetry/api'],
  [/^prometheus\//, ({ target }) => target === 'prom-client'],
  [/^decorators\/scheduler-lock\.decorator$/, ({ target }) => target === 'reflect-metadata'],
  [/^(lease|testing)\//, ({ target }) => target === 'uuid'],
  [/^cli\/drivers$/, ({ target, dynamic }) => dynamic && ['pg', 'mysql2/promise'].includes(target)],
  [/^stores\/redis\/driver$/, ({ target, dynamic }) => dynamic && ['ioredis', 'redis'].includes(target)],
];

/** What is wrong with the imports of a file, one line for each. */
export function importProblems({ path, imports }: Source): string[] {
  const name = nameOf(path);
  const room = ROOMS.find(([place]) => new RegExp(`^${place}${place.endsWith('/') ? '' : '$'}`).test(name));
  if (room === undefined) return [`${path}: no rule knows this place`];
  const [place, mayImport, why] = room;
  const ownRoom = place.endsWith('/') ? new RegExp(`^${place}`).exec(name)?.[0] : undefined;
  const leaves = place === LEAVES ? '' : LEAVES;
  const allowed = new RegExp(`^(${[leaves, mayImport].filter(Boolean).join('|')})$`);
  return imports.flatMap((used) => {
    const target = nameOf(used.target);
    if (target.startsWith('node:')) return [];
    const isAllowed = used.ours
      ? (ownRoom !== undefined && target.startsWith(ownRoom)) || allowed.test(target)
      : PACKAGES.some(([file, may]) => file.test(name) && may(used));
    const reason = used.ours ? why : 'this package is not for this file';
    return isAllowed ? [] : [`${path} imports ${used.target}: ${reason}`];
  });
}

/** A path without its ending, as the rules have it. */
const nameOf = (path: string): string => path.replace(/\.tsx?$/, '');

/** Files that import each other in a circle, types included: `a → b → a`. */
export function importCircles(sources: readonly Source[]): string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const { target, ours } of (byPath.get(path) ?? byPath.get(`${path}x`))?.imports ?? [])
      if (ours) visit(target, [...trail, path]);
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

/** What makes a rule depend on more than what it is given. */
export function impureParts({ path, tree, imports }: Source): string[] {
  const clocks = imports.filter(({ target, ours }) => !ours || target === 'clock.ts');
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

/** Comments that belong to nothing: only a room has one, as its opening. What heads a file is the docstring of its first export. */
export function strayComments({ path, tree }: Source): string[] {
  const { text } = tree;
  const comments = tree.statements.flatMap(
    (statement) => ts.getLeadingCommentRanges(text, statement.getFullStart()) ?? [],
  );
  return comments.flatMap(({ pos, end, kind }) => {
    const comment = text.slice(pos, end);
    const isStray =
      kind === ts.SyntaxKind.MultiLineCommentTrivia && !/^\/\*(\*|\n \* lib\/\S+: )/.test(comment);
    return isStray ? [`${path}: make it a docstring: ${comment.slice(0, 60)}`] : [];
  });
}

/** The folder that a file belongs to, as people speak of it: each folder of `lib`, and each store. */
const roomOf = (path: string): string | undefined => /^(stores\/[^/]+(?=\/)|[^/]+(?=\/))/.exec(path)?.[0];

/** What is wrong with the comments that open rooms, one line for each room: it has one, before the imports of its main file. */
export function openingProblems(sources: readonly Source[]): string[] {
  const rooms = new Set(sources.map(({ path }) => roomOf(path)).filter((room) => room !== undefined));
  return [...rooms].flatMap((room) => {
    const files = sources.filter(({ path }) => roomOf(path) === room);
    const openings = files.flatMap(({ path, tree }) => {
      const text = /^\/\*\n \* lib\/(\S+): .*?\*\//s.exec(tree.text);
      return text === null ? [] : [{ path, of: text[1], text: text[0] }];
    });
    const [opening, ...others] = openings;
    if (opening === undefined)
      return [`lib/${room} has no opening comment: begin its main file with "lib/${room}: <idea>"`];
    if (others.length > 0)
      return [
        `lib/${room} has ${openings.length} opening comments: ${openings.map(({ path }) => path).join(', ')}`,
      ];
    if (opening.of !== room) return [`${opening.path} opens lib/${opening.of}, and is in lib/${room}`];
    return opening.text.includes('\n * May not enter')
      ? []
      : [`${opening.path} does not say what may not enter`];
  });
}
