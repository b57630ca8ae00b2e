import { describe, expect, test } from '@jest/globals';
import { errorType, Names } from '../../../../lib/show/metrics/names.js';

describe('names of jobs', () => {
  test('that the application knows are let through, however many', () => {
    const names = new Names((name) => name.startsWith('known'));
    const known = Array.from({ length: 500 }, (_, index) => `known ${index}`);
    expect(known.map((name) => names.of(name))).toEqual(known);
  });

  test('that callers make up are let through up to a hundred: all others are one', () => {
    const names = new Names((name) => name === 'known');
    const made = Array.from({ length: 150 }, (_, index) => `made ${index}`);
    const through = made.map((name) => names.of(name));
    expect(through.slice(0, 100)).toEqual(made.slice(0, 100));
    expect(new Set(through.slice(100))).toEqual(new Set(['_OTHER']));
    expect(names.of('made 7')).toBe('made 7');
    expect(names.of('known')).toBe('known');
  });

  test('a lock that was taken without a job has none', () => {
    expect(new Names().of(undefined)).toBe('_OTHER');
  });
});

test('the kind of an error is its name, never its text', () => {
  class NoSuchReport extends Error {
    override readonly name = 'NoSuchReport';
  }
  expect([new NoSuchReport('of Alice'), new TypeError('x'), 'a text', undefined].map(errorType)).toEqual([
    'NoSuchReport',
    'TypeError',
    'string',
    'undefined',
  ]);
});
