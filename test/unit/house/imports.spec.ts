import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../support/machine.js';
import {
  changingGetters,
  importCircles,
  importProblems,
  impureParts,
  openingProblems,
  strayComments,
  surfaceProblems,
  timeProblems,
} from './support/rules.js';
import { parseSource, readSources } from './support/sources.js';

const sources = readSources();

describe('the house', () => {
  test('is there', () => {
    expect(sources.map(({ path }) => path)).toEqual(
      expect.arrayContaining([
        'index.ts',
        'testing/index.ts',
        'lease/lease.ts',
        'stores/redis/redis-connection.ts',
      ]),
    );
  });

  test('has no file over 300 lines, and half of them have 90 at most', () => {
    const lines = sources.map(({ path, tree }) => ({ path, lines: tree.text.split('\n').length - 1 }));
    // One idea each: what becomes of the calls of a lane; of a queued call.
    const longer: Record<string, number> = { 'store/rounds.ts': 360, 'store/side/queue.ts': 370 };
    expect(lines.filter(({ path, lines: count }) => count > (longer[path] ?? 300))).toEqual([]);
    const sorted = lines.map((file) => file.lines).sort((a, b) => a - b);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThanOrEqual(90);
  });

  test('has eight files in its hall', () => {
    expect(sources.map(({ path }) => path).filter((path) => !path.includes('/')).length).toBeLessThanOrEqual(
      8,
    );
  });

  test('imports point down only, and packages are imported where they belong', () => {
    expect(sources.flatMap(importProblems)).toEqual([]);
  });

  test('no files import each other in a circle', () => {
    expect(importCircles(sources)).toEqual([]);
  });

  test('time enters by clock.ts only', () => {
    expect(sources.flatMap(timeProblems)).toEqual([]);
  });

  test('the rules of a lock are pure: they know no clock, and wait for nothing', () => {
    const rules = sources.filter(({ path }) => path.startsWith('store/rules/'));
    expect(rules.length).toBeGreaterThan(8);
    expect(rules.flatMap(impureParts)).toEqual([]);
  });

  test('each room has one opening comment, which says its idea and what may not enter', () => {
    expect(openingProblems(sources)).toEqual([]);
  });

  // The stores describe what they keep where between their statements, and insight its sources.
  test('what heads a file is the docstring of its first export', () => {
    const others = sources.filter(({ path }) => !/^(stores|insight)\//.test(path));
    expect(others.flatMap(strayComments)).toEqual([]);
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
    ['a leaf that imports another', 'duration.ts', "import { systemClock } from './clock.js';"],
    [
      'a store that imports leases',
      'stores/redis/keys.ts',
      "import type { Lease } from '../../lease/lease.js';",
    ],
    ['a rule that imports a place', 'store/rules/a.ts', "import '../../stores/memory/hints.js';"],
    ['a store that imports another store', 'stores/memory/a.ts', "export { x } from '../redis/keys.js';"],
    ['a database that imports another', 'stores/mysql/a.ts', "export { x } from '../postgres/schema.js';"],
    ['a place that imports what databases share', 'stores/mongo/a.ts', "import '../sql/failure.js';"],
    ['a place that imports its driver', 'stores/mongo/a.ts', "import type { Db } from 'mongodb';"],
    ['the main entry with a place of its own', 'index.ts', "export { M } from './stores/mongo/index.js';"],
    ['what databases share, with one of them', 'stores/sql/a.ts', "import '../postgres/schema.js';"],
    ['a database that imports its driver', 'stores/postgres/a.ts', "import type { Pool } from 'pg';"],
    ['the main entry with a database', 'index.ts', "export { P } from './stores/postgres/index.js';"],
    [
      'a store that imports the service',
      'stores/redis/a.ts',
      "import '../../nest/scheduler-lock.service.js';",
    ],
    [
      'a lease that imports a store',
      'lease/a.ts',
      "import { S } from '../stores/redis/redis-lock.store.js';",
    ],
    ['a lease that imports Nest', 'lease/a.ts', "import { Logger } from '@nestjs/common';"],
    [
      'a lease that imports the glue',
      'lease/a.ts',
      "import type { S } from '../nest/scheduler-lock.service.js';",
    ],
    [
      'a type that imports Nest in passing',
      'decorators/locked-method.ts',
      "type L = import('@nestjs/common').Logger;",
    ],
    [
      "the glue with Nest's scheduler",
      'nest/scheduler-lock.explorer.ts',
      "import { Cron } from '@nestjs/schedule';",
    ],
    ['a driver that is always loaded', 'stores/redis/driver.ts', "import { Redis } from 'ioredis';"],
    ['a driver elsewhere', 'stores/redis/redis-client.ts', "const { Redis } = await import('ioredis');"],
    ['glue that imports the testing entry', 'nest/scheduler-lock.module.ts', "import '../testing/index.js';"],
    [
      'the main entry with the testing entry',
      'index.ts',
      "export { ManualClock } from './testing/manual-clock.js';",
    ],
    ['a call of a store that imports leases', 'store-access/a.ts', "import '../lease/lease.js';"],
    ['events that import the service', 'events/a.ts', "import '../nest/scheduler-lock.service.js';"],
    ['events that import Nest', 'events/events.ts', "import { Logger } from '@nestjs/common';"],
    ['the scheduler that imports leases', 'scheduler/a.ts', "import '../lease/lease.js';"],
    ['missed ticks that import leases', 'ticks/a.ts', "import '../lease/lease.js';"],
    ['insight that imports the scheduler', 'insight/a.ts', "import '../scheduler/cron-ticks.js';"],
    ['insight that imports a store', 'insight/a.ts', "import '../stores/memory/starts.js';"],
    ['insight that imports Nest', 'insight/a.ts', "import { Injectable } from '@nestjs/common';"],
    ['the shell that imports the engine', 'cli/a.ts', "import '../lease/lease.js';"],
    ['the shell that imports Nest', 'cli/run.ts', "import { Logger } from '@nestjs/common';"],
    ['the shell that always loads a driver', 'cli/drivers.ts', "import { Pool } from 'pg';"],
    ['the main entry with the shell', 'index.ts', "export { run } from './cli/run.js';"],
    ['insight that imports the shell', 'insight/a.ts', "import '../cli/table.js';"],
    ['an election that imports the scheduler', 'leader/a.ts', "import '../scheduler/gated-jobs.js';"],
    ['an option that imports the engine', 'options/a.ts', "import '../lease/lock-runner.js';"],
    ['a decorator that imports the engine', 'decorators/a.ts', "import '../lease/lock-runner.js';"],
    ['a test store that imports Nest', 'testing/a.ts', "import '../nest/tokens.js';"],
    ['measurements that import Nest', 'metrics/a.ts', "import { Module } from '@nestjs/common';"],
    ['glue that imports measurements', 'nest/a.ts', "import '../metrics/instruments.js';"],
    ['the main entry with OpenTelemetry', 'index.ts', "export { S } from './otel/index.js';"],
    ['an entry that imports the other one', 'prometheus/a.ts', "import '../otel/meters.js';"],
    ['an entry with the package of the other one', 'otel/a.ts', "import { Gauge } from 'prom-client';"],
    ['a file at an unknown place', 'utils/a.ts', "import '../errors.js';"],
  ];

  test.each(caught)('%s', (_what, path, text) => {
    expect(importProblems(parseSource(path, text))).toHaveLength(1);
  });

  test.each([
    "import { systemClock } from '../../clock.js';",
    'async function a() {}',
    'const a: Promise<void> | undefined = undefined;',
    'Math.random();',
  ])('an impure rule: %s', (text) => {
    expect(impureParts(parseSource('store/rules/a.ts', text))).not.toEqual([]);
  });

  test.each(['/* What follows. */\nconst a = 1;', '/*\n * The idea.\n */\n\n/** A. */\nexport const a = 1;'])(
    'a comment that belongs to nothing: %j',
    (text) => {
      expect(strayComments(parseSource('lease/a.ts', text))).toHaveLength(1);
      const fine = text.replace(/\/\*\n?[^]*?\*\//, '/*\n * lib/lease: leases.\n */');
      expect(strayComments(parseSource('lease/a.ts', fine))).toEqual([]);
    },
  );

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
      parseSource('lease/a.ts', "import type { B } from './b.js';"),
      parseSource('lease/b.ts', "export { A } from './a.js';"),
    ];
    expect(importCircles(circle)).toEqual(['lease/a.ts → lease/b.ts → lease/a.ts']);
  });

  const opening = (room: string, no = '\n * May not enter: jobs.'): string =>
    `/*\n * lib/${room}: leases.${no}\n */\n`;
  test.each([
    ['no opening comment', ['const a = 1;'], 'lib/lease has no opening comment'],
    [
      'an opening comment that is not at the top',
      [`let a;\n${opening('lease')}`],
      'lib/lease has no opening',
    ],
    ['two opening comments', [opening('lease'), opening('lease')], 'lib/lease has 2 opening comments'],
    ['that of another room', [opening('leader')], 'opens lib/leader'],
    ['one that lets everything enter', [opening('lease', '')], 'does not say what may not enter'],
  ])('a room with %s', (_, texts, problem) => {
    const files = texts.map((text, index) => parseSource(`lease/${index}.ts`, text));
    expect(openingProblems(files)).toEqual([expect.stringContaining(problem)]);
    expect(openingProblems([parseSource('lease/a.ts', opening('lease'))])).toEqual([]);
  });

  test.each([
    'Date.now()',
    'new Date()',
    'performance.now()',
    'const { now } = { now: performance.now };',
    'setTimeout(() => 1, 1)',
    'globalThis.setInterval(() => 1, 1)',
    'process.hrtime.bigint()',
    "import { scheduler } from 'node:timers/promises';",
  ])('time taken by %s', (text) => {
    expect(timeProblems(parseSource('lease/lease.ts', text))).not.toEqual([]);
    expect(timeProblems(parseSource('lease/lease.ts', `// ${text}\nnew Date(1);`))).toEqual([]);
  });

  test.each([
    "export * from './a.js';",
    "export * as a from './a.js';",
    'let a: any;',
    '// @ts-ignore\nlet a;',
  ])('%s', (text) => expect(surfaceProblems(parseSource('index.ts', text))).toHaveLength(1));
});
