import { describe, expect, test } from '@jest/globals';
import { type Cell, coloured, plain, printable, table, widthOf } from '../../../../lib/show/cli/table.js';

const cells = (...texts: string[]): Cell[] => texts.map((text) => ({ text }));
const look = { paint: plain };

test('columns are as wide as they have to be', () => {
  expect(table(['JOB', 'WHY'], [cells('a', 'x'), cells('longer', 'y')], look)).toEqual([
    'JOB     WHY',
    'a       x',
    'longer  y',
  ]);
});

test('wide characters and marks do not break them', () => {
  const lines = table(['JOB', 'WHY'], [cells('請求書', 'x'), cells('é', 'y'), cells('🚀 go', 'z')], look);
  expect(lines).toEqual(['JOB     WHY', '請求書  x', 'é       y', '🚀 go   z']);
  expect(new Set(lines.map((line) => widthOf(line)))).toEqual(new Set([9, 11]));
});

test('only the last column is shortened, and the lines fit the terminal', () => {
  const rows = [
    cells('Jobs.refresh', 'a long story about what went wrong'),
    cells('b', '理由は長い理由は長い'),
  ];
  const lines = table(['JOB', 'WHY'], rows, { ...look, columns: 30 });
  expect(lines).toEqual([
    'JOB           WHY',
    'Jobs.refresh  a long story ab…',
    'b             理由は長い理由…',
  ]);
  for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(30);
});

test('names stay whole in a terminal that is too narrow for them', () => {
  const name = 'VeryLongNameOfAClass.veryLongNameOfAMethod';
  const [, line] = table(['JOB', 'WHY'], [cells(name, 'the store was away')], { ...look, columns: 20 });
  expect(line).toBe(`${name}  the store w…`);
});

describe('columns that may be spared are left out of a terminal that is too narrow for them, the first named first:', () => {
  const heads = ['JOB', 'SCHEDULE', 'NEXT', 'WHY'];
  const rows = [cells('Jobs.refresh', '*/10 * * * *', '12:30', 'the store was away')];

  test.each([
    [60, 'JOB           SCHEDULE      NEXT   WHY', 'Jobs.refresh  */10 * * * *  12:30  the store was away'],
    [40, 'JOB           NEXT   WHY', 'Jobs.refresh  12:30  the store was away'],
    [31, 'JOB           WHY', 'Jobs.refresh  the store was aw…'],
  ])('%i columns', (columns, head, row) => {
    expect(table(heads, rows, { ...look, columns }, [1, 2])).toEqual([head, row]);
  });

  test('not without a terminal', () => {
    expect(table(heads, rows, look, [1, 2])[0]).toContain('SCHEDULE');
  });
});

test('without a terminal nothing is shortened', () => {
  expect(table(['WHY'], [cells('x'.repeat(500))], look)[1]).toBe('x'.repeat(500));
});

test('a column without content is left out', () => {
  expect(table(['A', 'B', 'C'], [cells('1', '', '3'), cells('4', '', '')], look)).toEqual([
    'A  C',
    '1  3',
    '4',
  ]);
});

describe('hostile texts', () => {
  test('move no cursor, break no line, and turn no direction', () => {
    const hostile = 'a\u001b[2Jb\nc\u0007d\u202ee\u009bf\u2028g';
    expect(printable(hostile)).toBe('a [2Jb c d e f g');
    expect(table(['JOB'], [cells(hostile)], look)).toEqual(['JOB', 'a [2Jb c d e f g']);
  });
});

test('colours surround the text, not the gaps', () => {
  const rows = [[{ text: 'ok', style: 'green' as const }, { text: 'x' }], cells('overdue', 'y')];
  expect(table(['STATE', 'WHY'], rows, { paint: coloured })[1]).toBe('\u001b[32mok\u001b[39m       x');
  expect(coloured(undefined, 'x')).toBe('x');
  expect(coloured('red', '')).toBe('');
});
