import { expect, test } from '@jest/globals';
import {
  type Column,
  judgeTable,
  nameProblem,
  type TableFacts,
} from '../../../../lib/stores/sql/table-judgement.js';

const ddl = {
  creation: ['CREATE'],
  addition: (columns: readonly string[]) => `ADD ${columns.join()}`,
  exactTimes: 'TIMES',
  longLockedBy: 'LONG',
  widening: 'WIDEN',
};

const COLUMNS: Readonly<Record<string, Column>> = {
  name: { type: 'varchar(64)', length: 64 },
  lock_until: { type: 'datetime(3)', digits: 3 },
  locked_at: { type: 'datetime(3)', digits: 3 },
  locked_by: { type: 'varchar(255)', length: 255 },
  version: { type: 'varchar(36)' },
  state: { type: 'text' },
};

/** The judgement of a table with these columns instead of the usual ones; without those that are undefined. */
function judged(changed: Readonly<Record<string, Column | undefined>>, more: Partial<TableFacts> = {}) {
  const columns = Object.entries({ ...COLUMNS, ...changed }).filter(
    (entry): entry is [string, Column] => !!entry[1],
  );
  return judgeTable({ table: 't', columns: new Map(columns), unique: true, ...more }, ddl);
}

test('a table with all columns is usable, also one whose columns have more room', () => {
  expect(judged({})).toBeUndefined();
  expect(judged({ locked_by: { type: 'text', length: Infinity }, other: { type: 'int' } })).toBeUndefined();
});

test.each<[string, Parameters<typeof judged>, object]>([
  [
    'a table that does not exist',
    [{}, { columns: new Map() }],
    { missing: 'The table t does not exist.', lacks: 'table', migration: ['CREATE'] },
  ],
  [
    'one that lacks columns of ShedLock',
    [{ lock_until: undefined, locked_by: undefined, state: undefined }],
    {
      problem:
        "The table t has no column lock_until, locked_by: it is not one of ShedLock's. Give another name (table).",
    },
  ],
  [
    'one that lacks columns of ours',
    [{ version: undefined, state: undefined }, { unique: false }],
    {
      missing: 'The table t has no column version, state.',
      lacks: 'columns',
      migration: ['ADD version,state'],
    },
  ],
  [
    'one that knows only seconds',
    [{ lock_until: { type: 'datetime(0)', digits: 0 } }, { unique: false }],
    {
      problem:
        'The column lock_until of t is a datetime(0), and has to know milliseconds. Run this:\nALTER TABLE t TIMES;',
    },
  ],
  [
    'one whose times are none',
    [{ lock_until: { type: 'int' } }],
    {
      problem:
        'The column lock_until of t is a int, and has to know milliseconds. Run this:\nALTER TABLE t TIMES;',
    },
  ],
  [
    'one whose names are not unique',
    [{ locked_by: { type: 'varchar(254)', length: 254 } }, { unique: false }],
    { problem: 'The column name of t is not unique. Run this:\nALTER TABLE t ADD PRIMARY KEY (name);' },
  ],
  [
    'one whose locked_by is too short',
    [{ locked_by: { type: 'varchar(254)', length: 254 } }, { problem: 'no rights' }],
    {
      problem:
        "The column locked_by of t is a varchar(254), and has to take 255 characters, as ShedLock's does. Run this:\nALTER TABLE t LONG;",
    },
  ],
  ['one that the user may not use', [{}, { problem: 'no rights' }], { problem: 'no rights' }],
])('%s is told with what to do', (_what, given, judgement) => {
  expect(judged(...given)).toEqual(judgement);
});

test('a name is kept that fits its column, counted in characters', () => {
  const column = { length: 5, unicode: true, widening: 'WIDEN' };
  expect(nameProblem('t', '🔒🔒🔒🔒🔒', column)).toBeUndefined();
  expect(nameProblem('t', 'abcdef', column)).toBe(
    'it has 6 characters, and the column name of t has room for 5. Give a shorter name, or run this: WIDEN;',
  );
  expect(nameProblem('t', 'é', { ...column, unicode: false })).toBe(
    'the column name of t does not take every character. Give it another name, or run this: WIDEN;',
  );
  expect(nameProblem('t', 'abcde', { ...column, unicode: false })).toBeUndefined();
});
