import { describe, expect, it } from '@jest/globals';
import { formatDuration, parseDuration } from '../../../lib/base/duration.js';

describe('a duration', () => {
  it.each([
    [1, 1],
    [1.4, 1],
    [0.5, 1],
    [60_000, 60_000],
    ['1ms', 1],
    ['500ms', 500],
    ['30s', 30_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1.5h', 5_400_000],
    ['0.25s', 250],
    [' 10 m ', 600_000],
  ])('reads %p as %p ms', (given, milliseconds) => {
    expect(parseDuration(given)).toBe(milliseconds);
  });

  it.each([
    0,
    -1,
    0.4,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    '',
    's',
    '10',
    '10 minutes',
    '10M',
    '-5s',
    '+5s',
    '0s',
    '1e3ms',
    '1,5h',
    '.5s',
    '5.s',
    '1h30m',
    'Infinityms',
    '10m\n;',
    null,
    undefined,
    true,
    {},
    [],
    10n,
  ])('does not read %p', (given) => {
    expect(parseDuration(given)).toBeUndefined();
  });

  it.each([
    [340, '340 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [2_500, '2.5 s'],
    [60_000, '1 min'],
    [600_000, '10 min'],
    [5_400_000, '1.5 h'],
    [86_400_000, '1 d'],
    [2_592_000_000, '30 d'],
    [59_999, '60 s'],
  ])('shows %p ms as %p', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });
});
