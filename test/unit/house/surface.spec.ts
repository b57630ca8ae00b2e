import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { parseDuration } from '../../../lib/base/duration.js';
import * as guard from '../../../lib/guard/index.js';
import * as library from '../../../lib/index.js';
import { PARTS } from '../../../lib/contract/allowances.js';
import { OPTION_NAMES, OPTIONS } from '../../../lib/nest/options/table.js';
import { tableOf } from './support/documents.js';
import { ENTRIES, type PublicName, Surface } from './support/surface.js';

jest.setTimeout(60_000);

const OPTIONS_PAGE = 'docs/reference/options.md';
/** The store that takes some options of the module itself. */
const REDIS = 'RedisLockStore';
/** The table of options is three. */
const optionRows = ['Daily', 'Set-up', 'Expert'].flatMap((group) => tableOf(OPTIONS_PAGE, group));
/** Other options have a table each. */
const PARTS_OF_OPTIONS = ['queue', 'insight', 'Dynamic jobs', 'Stores'];
/** What an ordinary application uses. */
const NINE = 'name ttl timeout catchUp rerun wait onHeld onSkip shutdownTimeout';
const EVENTS = 'docs/observe/events.md';
const ERRORS = 'docs/reference/errors.md';

const surface = new Surface();
let names: PublicName[];
let errors: PublicName[];

beforeAll(() => {
  names = surface.names('index.ts');
  const all = [...names, ...surface.names('guard/index.ts')];
  errors = all.filter((name) => surface.isSubclass(name, 'SchedulerLockError'));
});

const named = (wanted: string): PublicName => {
  const found = names.find(({ name }) => name === wanted);
  if (found === undefined) throw new Error(`${wanted} is not public`);
  return found;
};

test.each(ENTRIES)('every public name of %s has a docstring', (entry) => {
  const all = surface.names(entry);
  // An entry for metrics has a module and its options.
  expect(all.length).toBeGreaterThanOrEqual(2);
  expect(all.filter(({ doc }) => doc === '').map(({ name }) => name)).toEqual([]);
});

test('the main entry has what users name in their own code, 120 names at most', () => {
  expect(names.length).toBeGreaterThan(50);
  expect(names.length).toBeLessThanOrEqual(120);
});

describe('errors', () => {
  test('are all public that are exported at run time, each with a code of its own', () => {
    const exported = Object.entries({ ...library, ...guard }).filter(
      ([, value]) => typeof value === 'function' && value.prototype instanceof library.SchedulerLockError,
    );
    expect(errors.map(({ name }) => name).sort()).toEqual(exported.map(([name]) => name).sort());
    const codes = errors.map((error) => surface.constantOf(error, 'code'));
    expect(codes).not.toContain(undefined);
    expect(new Set(codes).size).toBe(errors.length);
    expect(errors.length).toBeGreaterThan(5);
  });

  test('are those of the table in the documents', () => {
    const rows = tableOf(ERRORS, 'Errors').map((row) => ({ class: row['class'], code: row['code'] }));
    const expected = errors.map((error) => ({ class: error.name, code: surface.constantOf(error, 'code') }));
    expect(rows).toHaveLength(expected.length);
    expect(rows).toEqual(expect.arrayContaining(expected));
  });
});

test('events are those of the table in the documents, 18 types at most', () => {
  const types = new Set(surface.variants(named('SchedulerLockEvent'), 'type'));
  expect(types).toContain('acquired');
  expect(types.size).toBeLessThanOrEqual(18);
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
    tableOf(ERRORS, 'Reasons of a skip')
      .map((row) => row['reason'])
      .sort(),
  ).toEqual([...reasons].sort());
});

describe('options', () => {
  /** By the words of those tables. */
  const places = { module: 'module', lock: 'decorator', 'run()': 'run' } as const;
  const interfaces = {
    SchedulerLockModuleOptions: 'module',
    SchedulerLockOptions: 'decorator',
    RunOptions: 'run',
    CronJobOptions: 'cron',
    IntervalJobOptions: 'interval',
    LeaderOptions: 'leader',
    LeaderElectionOptions: 'election',
  } as const;
  const defaultOf = (option: string): unknown => {
    const row: { at: string; default?: unknown; ofTtl?: number } = OPTIONS[option as keyof typeof OPTIONS];
    return row.ofTtl ?? row.default;
  };
  /** The default that a document gives an option, where it is a constant. */
  const constantOf = (text: string | undefined): unknown => {
    const value = readDefault(text);
    return value === text || value === 'host:pid:short-uuid' ? undefined : value;
  };

  test('are those of the tables in the documents, each once, at its places', () => {
    const expected = new Map<string, string[]>();
    for (const [place, at] of Object.entries(places)) {
      for (const option of OPTION_NAMES[at]) expected.set(option, [...(expected.get(option) ?? []), place]);
    }
    const found = optionRows.map((row): [string, string[]] => [
      row['option'] ?? '',
      row['where']?.split(', ').filter((place) => place !== REDIS) ?? [],
    ]);
    expect(found).toHaveLength(expected.size);
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected));
  });

  test('have their defaults in the documents', () => {
    for (const { option = '', default: text } of optionRows) {
      expect({ option, value: constantOf(text) }).toEqual({ option, value: defaultOf(option) });
    }
  });

  test('are at most 50, and the nine that an ordinary application uses come first', () => {
    const others = PARTS_OF_OPTIONS.flatMap((heading) => tableOf(OPTIONS_PAGE, heading));
    expect(optionRows.length + others.length).toBeLessThanOrEqual(50);
    expect(tableOf(OPTIONS_PAGE, 'Daily').map((row) => row['option'])).toEqual(NINE.split(' '));
  });

  test.each(['Daily', 'Set-up', 'Expert', ...PARTS_OF_OPTIONS])(
    'under "%s" have a meaning, a type and an example each',
    (heading) => {
      const rows = tableOf(OPTIONS_PAGE, heading);
      expect(rows.length).toBeGreaterThan(1);
      const wanting = rows.filter((row) => !row['meaning'] || !row['type, range'] || !row['example']);
      expect(wanting).toEqual([]);
    },
  );

  test.each([
    ['queue', 'QueueOptions', PARTS.queue],
    ['insight', 'InsightOptions', PARTS.insight],
  ])('under "%s" are those of %s, with their defaults', (heading, name, defaults) => {
    const rows = tableOf(OPTIONS_PAGE, heading);
    const options = rows.map((row) => row['option']);
    expect(options.sort()).toEqual([...surface.properties(named(name)).keys()].sort());
    const given = rows.filter(({ option = '' }) => Object.hasOwn(defaults, option));
    expect(Object.fromEntries(given.map(({ option, default: text }) => [option, constantOf(text)]))).toEqual(
      defaults,
    );
  });

  test('of stores are those of their table', () => {
    const stores = [
      ['stores/redis/index.ts', 'RedisLockStoreOptions'],
      ['stores/postgres/index.ts', 'PostgresLockStoreOptions'],
      ['stores/mysql/index.ts', 'MysqlLockStoreOptions'],
      ['stores/mongo/index.ts', 'MongoLockStoreOptions'],
    ] as const;
    const options = stores.flatMap(([entry, wanted]) => {
      const found = surface.names(entry).find(({ name }) => name === wanted);
      return found === undefined ? [wanted] : [...surface.properties(found).keys()];
    });
    const ofRedis = optionRows.filter((row) => row['where']?.includes(REDIS));
    const listed = [...ofRedis, ...tableOf(OPTIONS_PAGE, 'Stores')].map((row) => row['option']);
    expect(listed.sort()).toEqual([...new Set(options)].sort());
  });

  test.each(Object.entries(interfaces))('of %s have their defaults in its docstrings', (name, place) => {
    const docs = surface.properties(named(name));
    expect([...docs.keys()].sort()).toEqual([...OPTION_NAMES[place]].sort());
    for (const [option, text] of docs) {
      // An election has the ttl of the module.
      if (option === 'ttl' && text === "the module's `ttl`") continue;
      expect({ option, value: constantOf(text) }).toEqual({ option, value: defaultOf(option) });
    }
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
