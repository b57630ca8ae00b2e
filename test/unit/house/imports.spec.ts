import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../support/machine.js';
import {
  changingGetters,
  folderCircles,
  importCircles,
  importProblems,
  impureParts,
  linesOf,
  clocksOfTheMachine,
  openingProblems,
  scraps,
  surfaceProblems,
  timeProblems,
} from './support/rules.js';
import { LINES, ROOMS } from './rooms.js';
import { parseSource, readSources } from './support/sources.js';

const sources = readSources();

describe('the house', () => {
  test('is there', () => {
    expect(sources.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        'index.ts',
        'testing/index.ts',
        'lock/lease.ts',
        'stores/redis/redis-connection.ts',
      ]),
    );
  });

  test.each(Object.entries(LINES))(
    'the rooms %s have no more lines than their ceiling',
    (rooms, { ceiling }) => {
      const lines = linesOf(rooms, sources);
      expect(lines).toBeGreaterThan(0);
      expect(lines).toBeLessThanOrEqual(ceiling);
    },
  );

  test('each room has a ceiling, and each file is in one room', () => {
    const counted = Object.keys(LINES).flatMap((rooms) => rooms.split(' '));
    expect(counted.sort()).toEqual(Object.keys(ROOMS).sort());
    const all = sources.reduce((sum, { tree }) => sum + tree.text.split('\n').length - 1, 0);
    expect(Object.keys(LINES).reduce((sum, rooms) => sum + linesOf(rooms, sources), 0)).toBe(all);
  });

  test('has no file under ten lines, but for what the package exports', () => {
    expect(scraps(sources)).toEqual([]);
  });

  test('imports point down only, and packages are imported where they belong', () => {
    expect(sources.flatMap(importProblems)).toEqual([]);
  });

  test('no files import each other in a circle', () => {
    expect(importCircles(sources)).toEqual([]);
  });

  test('no folders import each other in a circle', () => {
    expect(folderCircles(sources)).toEqual([]);
  });

  test('time enters by base/clock.ts only', () => {
    expect(sources.flatMap(timeProblems)).toEqual([]);
  });

  test('the clock of the machine is a default, which the clock of an application replaces', () => {
    expect(sources.flatMap(clocksOfTheMachine)).toEqual([]);
  });

  test('the rules of a lock are pure: they know no clock, and wait for nothing', () => {
    const rules = sources.filter(({ path }) => path.startsWith('rules/lock/'));
    expect(rules.length).toBeGreaterThan(5);
    expect(rules.flatMap(impureParts)).toEqual([]);
  });

  test('each room has one opening comment, which says its idea and what may not enter', () => {
    expect(openingProblems(sources)).toEqual([]);
  });

  // In the hover of an editor nothing stands above it.
  test('no docstring begins with "The same"', () => {
    const vague = sources.filter(({ tree }) => /^ *(\/\*\*?|\*) The same\b/m.test(tree.text));
    expect(vague.map(({ path }) => path)).toEqual([]);
  });

  test('no getter of lib/nest changes anything', () => {
    const glue = sources.filter(({ path }) => path.startsWith('nest/'));
    expect(glue.flatMap(changingGetters)).toEqual([]);
  });

  test('no file is excused from the bound of lines per function', () => {
    const text = readFileSync(join(projectRoot, '.oxlintrc.json'), 'utf8').replaceAll(/^\s*\/\/.*$/gm, '');
    const { overrides } = JSON.parse(text) as {
      overrides: { files: string[]; rules: Record<string, unknown> }[];
    };
    const excused = overrides.filter(({ rules }) => 'max-lines-per-function' in rules);
    const ofLibrary = excused.flatMap(({ files }) => files).filter((file) => file.startsWith('lib/'));
    expect(ofLibrary).toEqual([]);
  });

  test('public names are named one by one, and the compiler is not silenced', () => {
    expect(sources.flatMap(surfaceProblems)).toEqual([]);
  });
});

describe('the rules catch', () => {
  const caught: [what: string, path: string, text: string][] = [
    ['a leaf that imports a room', 'base/duration.ts', "import '../contract/line.js';"],
    [
      'the contract that imports rules',
      'contract/a.ts',
      "import type { Lease } from '../rules/lock/document.js';",
    ],
    ['a rule that imports a place', 'rules/lock/a.ts', "import '../../stores/memory/memory-entries.js';"],
    ['a store that imports leases', 'stores/redis/a.ts', "import type { Lease } from '../../lock/lease.js';"],
    ['Redis that imports the rules of a lock', 'stores/redis/a.ts', "import '../../rules/lock/leases.js';"],
    ['a store that imports another store', 'stores/memory/a.ts', "export { x } from '../redis/keys.js';"],
    ['a database that imports another', 'stores/mysql/a.ts', "export { x } from '../postgres/schema.js';"],
    ['a place that imports what databases share', 'stores/mongo/a.ts', "import '../sql/failure.js';"],
    ['what databases share, with one of them', 'stores/sql/a.ts', "import '../postgres/schema.js';"],
    ['a place that imports its driver', 'stores/mongo/a.ts', "import type { Db } from 'mongodb';"],
    ['a driver that is always loaded', 'stores/redis/driver.ts', "import { Redis } from 'ioredis';"],
    ['a driver elsewhere', 'stores/redis/redis-client.ts', "const { Redis } = await import('ioredis');"],
    ['a lease that imports a store', 'lock/a.ts', "import { S } from '../stores/redis/redis-lock.store.js';"],
    ['a lease that imports Nest', 'lock/a.ts', "import { Logger } from '@nestjs/common';"],
    ['a lease that imports the glue', 'lock/a.ts', "import type { S } from '../nest/lock-host.js';"],
    ['an election that imports the scheduler', 'lock/leader/a.ts', "import '../../schedule/gated-jobs.js';"],
    ['events that import Nest', 'contract/events/events.ts', "import { Logger } from '@nestjs/common';"],
    ['missed ticks that import leases', 'schedule/ticks/a.ts', "import '../../lock/lease.js';"],
    ['insight that imports the scheduler', 'insight/a.ts', "import '../schedule/cron-ticks.js';"],
    ['insight that imports Nest', 'insight/a.ts', "import { Injectable } from '@nestjs/common';"],
    ['a switch that imports an option', 'insight/control/a.ts', "import '../../nest/options/table.js';"],
    ['the glue with another store', 'nest/a.ts', "import '../stores/sql/failure.js';"],
    ["the glue with Nest's scheduler", 'nest/a.ts', "import { Cron } from '@nestjs/schedule';"],
    ['a type that imports a driver in passing', 'nest/a.ts', "type L = import('pg').Pool;"],
    ['glue that imports the testing entry', 'nest/a.ts', "import '../testing/index.js';"],
    ['glue that imports measurements', 'nest/a.ts', "import '../show/metrics/instruments.js';"],
    ['the shell that imports the engine', 'show/cli/a.ts', "import '../../lock/lease.js';"],
    ['the shell that imports Nest', 'show/cli/run.ts', "import { Logger } from '@nestjs/common';"],
    ['the shell that always loads a driver', 'show/cli/drivers.ts', "import { Pool } from 'pg';"],
    ['an entry that imports the other one', 'show/prometheus/a.ts', "import '../otel/meters.js';"],
    ['an entry with the package of the other one', 'show/otel/a.ts', "import { Gauge } from 'prom-client';"],
    ['a test store that imports Nest', 'testing/a.ts', "import '../nest/tokens.js';"],
    ['the main entry with the testing entry', 'index.ts', "export { M } from './testing/manual-clock.js';"],
    ['the main entry with a database', 'index.ts', "export { P } from './stores/postgres/index.js';"],
    ['the main entry with the shell', 'index.ts', "export { run } from './show/cli/run.js';"],
    ['a file at an unknown place', 'utils/a.ts', "import '../base/errors.js';"],
  ];

  test.each(caught)('%s', (_what, path, text) => {
    expect(importProblems(parseSource(path, text))).toHaveLength(1);
  });

  test.each([
    "import { systemClock } from '../../base/clock.js';",
    'async function a() {}',
    'const a: Promise<void> | undefined = undefined;',
    'Math.random();',
  ])('an impure rule: %s', (text) => {
    expect(impureParts(parseSource('rules/lock/a.ts', text))).not.toEqual([]);
  });

  test.each(['this.#a ??= 1', 'this.#a++', 'delete this.#a[0]', '[1].map(() => (this.#a = 1))'])(
    'a getter that changes something: %s',
    (change) => {
      const within = (kind: string): string[] =>
        changingGetters(parseSource('nest/a.ts', `class A { ${kind} a() { return ${change}; } }`));
      expect(within('get')).toHaveLength(1);
      expect(within('')).toEqual([]);
    },
  );

  test('a circle', () => {
    const circle = [
      parseSource('lock/a.ts', "import type { B } from './b.js';"),
      parseSource('lock/b.ts', "export { A } from './a.js';"),
    ];
    expect(importCircles(circle)).toEqual(['lock/a.ts → lock/b.ts → lock/a.ts']);
    expect(folderCircles(circle)).toEqual([]);
  });

  test('a circle of folders whose files have none', () => {
    const circle = [
      parseSource('lock/a.ts', "import type { B } from './queue/b.js';"),
      parseSource('lock/queue/c.ts', "import '../d.js';"),
    ];
    expect(importCircles(circle)).toEqual([]);
    expect(folderCircles(circle)).toEqual(['lock → lock/queue → lock']);
  });

  test('a room with a line too many, and a scrap', () => {
    const sources = [parseSource('stores/sql/a.ts', 'a;\nb;\n'), parseSource('stores/mysql/b.ts', 'c;\n')];
    expect(linesOf('stores/sql stores/mysql', sources)).toBe(3);
    expect(linesOf('stores/sql', sources)).toBe(2);
    expect(scraps(sources)).toEqual(['stores/sql/a.ts', 'stores/mysql/b.ts']);
    expect(scraps([parseSource('stores/sql/index.ts', 'a;\n')])).toEqual([]);
  });

  const opening = (room: string, no = '\n * May not enter: jobs.'): string =>
    `/*\n * lib/${room}: leases.${no}\n */\n`;
  test.each([
    ['no opening comment', ['const a = 1;'], 'lib/lock has no opening comment'],
    ['an opening comment that is not at the top', [`let a;\n${opening('lock')}`], 'lib/lock has no opening'],
    [
      'two opening comments',
      [opening('lock'), opening('lock')],
      'lock/1.ts opens lib/lock, and is not the first',
    ],
    ['one that lets everything enter', [opening('lock', '')], 'does not say what may not enter'],
  ])('a room with %s', (_, texts, problem) => {
    const files = texts.map((text, index) => parseSource(`lock/${index}.ts`, text));
    expect(openingProblems(files)).toEqual([expect.stringContaining(problem)]);
    expect(openingProblems([parseSource('lock/a.ts', opening('lock'))])).toEqual([]);
  });

  test('a room with the opening comment of another', () => {
    const files = [parseSource('lock/a.ts', opening('lock')), parseSource('lock/b.ts', opening('nest'))];
    expect(openingProblems(files)).toEqual(['lock/b.ts opens lib/nest, and is in lib/lock']);
  });

  test.each([
    'Date.now()',
    'new Date()',
    'performance.now()',
    'const { now } = { now: performance.now };',
    'setTimeout(() => 1, 1)',
    'setImmediate(() => 1)',
    'queueMicrotask(() => 1)',
    'globalThis.setInterval(() => 1, 1)',
    'process.hrtime.bigint()',
    "import { scheduler } from 'node:timers/promises';",
  ])('time taken by %s', (text) => {
    expect(timeProblems(parseSource('lock/lease.ts', text))).not.toEqual([]);
    expect(timeProblems(parseSource('lock/lease.ts', `// ${text}\nnew Date(1);`))).toEqual([]);
  });

  test('the clock of the machine, used beside the one that was given', () => {
    const used = (text: string): string[] => clocksOfTheMachine(parseSource('stores/sql/a.ts', text));
    expect(used('new Gate(pool, systemClock);')).toHaveLength(1);
    expect(used('systemClock.now();')).toHaveLength(1);
    expect(used('const f = (clock = systemClock) => clock.now();')).toEqual([]);
  });

  test.each([
    "export * from './a.js';",
    "export * as a from './a.js';",
    'let a: any;',
    '// @ts-ignore\nlet a;',
  ])('%s', (text) => expect(surfaceProblems(parseSource('index.ts', text))).toHaveLength(1));
});
