import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { parseDuration } from '../../../lib/duration.js';
import * as library from '../../../lib/index.js';
import { DEFAULTS } from '../../../lib/options/options.js';
import { tableOf } from './support/documents.js';
import { ENTRIES, type PublicName, Surface } from './support/surface.js';

jest.setTimeout(60_000);

/** The table of options is three. */
const optionRows = ['Daily', 'Timing', 'Expert'].flatMap((group) => tableOf('README.md', group));
const EVENTS = 'docs/events-and-errors.md';

const surface = new Surface();
let names: PublicName[];
let errors: PublicName[];

beforeAll(() => {
  names = surface.names('index.ts');
  errors = names.filter((name) => surface.isSubclass(name, 'SchedulerLockError'));
});

const named = (wanted: string): PublicName => {
  const found = names.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`${wanted} is not public`);
  return found;
};

test.each(ENTRIES)('every public name of %s has a docstring', (entry) => {
  const all = surface.names(entry);
  expect(all.length).toBeGreaterThan(2);
  expect(all.filter(({ doc }) => doc === '').map(({ name }) => name)).toEqual([]);
});

describe('errors', () => {
  test('are all public that are exported at run time, each with a code of its own', () => {
    const exported = Object.entries(library).filter(
      ([, value]) => typeof value === 'function' && value.prototype instanceof library.SchedulerLockError,
    );
    expect(errors.map(({ name }) => name).sort()).toEqual(exported.map(([name]) => name).sort());
    const codes = errors.map((error) => surface.constantOf(error, 'code'));
    expect(codes).not.toContain(undefined);
    expect(new Set(codes).size).toBe(errors.length);
    expect(errors.length).toBeGreaterThan(5);
  });

  test('are those of the table in the documents', () => {
    const rows = tableOf(EVENTS, 'Errors').map((row) => ({ class: row['class'], code: row['code'] }));
    const expected = errors.map((error) => ({ class: error.name, code: surface.constantOf(error, 'code') }));
    expect(rows).toHaveLength(expected.length);
    expect(rows).toEqual(expect.arrayContaining(expected));
  });
});

test('events are those of the table in the documents', () => {
  const types = surface.variants(named('SchedulerLockEvent'), 'type');
  expect(types).toContain('acquired');
  expect(
    tableOf(EVENTS, 'Events')
      .map((row) => row['event'])
      .sort(),
  ).toEqual([...types].sort());
});

test('reasons of a skip are those of the table in the documents', () => {
  const reasons = surface.literals(named('SkipReason'));
  expect(reasons).toContain('held');
  expect(
    tableOf(EVENTS, 'Reasons of a skip')
      .map((row) => row['reason'])
      .sort(),
  ).toEqual([...reasons].sort());
});

describe('options', () => {
  const places = {
    module: ['SchedulerLockModuleOptions', 'SchedulerLockModuleExtras'],
    lock: ['SchedulerLockOptions'],
    'run()': ['RunOptions'],
  };

  test('are those of the tables in the README, each once, at its places', () => {
    const expected = new Map<string, string[]>();
    for (const [place, interfaces] of Object.entries(places)) {
      for (const option of interfaces.flatMap((name) => [...surface.properties(named(name)).keys()])) {
        expected.set(option, [...(expected.get(option) ?? []), place]);
      }
    }
    const found = optionRows.map((row): [string, string[]] => [
      row['option'] ?? '',
      row['where']?.split(', ') ?? [],
    ]);
    expect(found).toHaveLength(expected.size);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  });

  test('have their defaults in the README and in their docstrings', () => {
    const docs = new Map([
      ...surface.properties(named('SchedulerLockOptions')),
      ...surface.properties(named('SchedulerLockModuleOptions')),
    ]);
    const readme = new Map(optionRows.map((row) => [row['option'] ?? '', row['default']]));
    for (const [option, value] of Object.entries(DEFAULTS)) {
      expect({ option, value: readDefault(readme.get(option)) }).toEqual({ option, value });
      expect({ option, value: readDefault(docs.get(option)) }).toEqual({ option, value });
    }
  });

  test('that have no default in the code are given none in the README', () => {
    const without = optionRows.filter((row) => !Object.hasOwn(DEFAULTS, row['option'] ?? ''));
    const constants = without.filter((row) => readDefault(row['default']) !== row['default']);
    expect(constants.map((row) => row['option'])).toEqual(['isGlobal']);
  });
});

/** A default as the code has it: `'1m'` is 60,000 ms, `0.3 × ttl` is 0.3; what is no constant is left as it is. */
function readDefault(text: string | undefined): unknown {
  const [first = ''] = text?.split(', ') ?? [];
  const [, quoted] = /^'(.*)'$/.exec(first) ?? [];
  if (quoted !== undefined) return parseDuration(quoted) ?? quoted;
  if (first === 'true' || first === 'false') return first === 'true';
  if (/^\d+$/.test(first)) return Number(first);
  const [, part] = /^([\d.]+) × ttl$/.exec(first) ?? [];
  return part === undefined ? text : Number(part);
}
