import { describe, expect, test } from '@jest/globals';
import { SchedulerLockConfigError } from '../../../../lib/base/errors.js';
import { checkKey, writeArguments } from '../../../../lib/lock/queue/payload.js';

const WHERE = 'Calendar.sync()';
const written = (...args: unknown[]): unknown => JSON.parse(writeArguments(WHERE, args));

/** The message of the error, which has to be the right one. */
function refusalOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(SchedulerLockConfigError);
    return (error as Error).message;
  }
  throw new Error('There was no error.');
}

describe('arguments', () => {
  test.each<[what: string, args: unknown[], back: unknown[]]>([
    ['none', [], []],
    ['plain values', [null, true, false, 0, -1.5, '', 'a'], [null, true, false, 0, -1.5, '', 'a']],
    ['arrays and objects in each other', [[1, [{ a: [null] }]]], [[1, [{ a: [null] }]]]],
    ['an object without a prototype', [Object.assign(Object.create(null), { a: 1 })], [{ a: 1 }]],
    ['without what is undefined at the end', [1, undefined, undefined], [1]],
    ['nothing but undefined', [undefined], []],
    ['without properties that are undefined', [{ a: 1, b: undefined }], [{ a: 1 }]],
    ['one value twice, beside each other', [WHERE, WHERE], [WHERE, WHERE]],
  ])('come back as they are: %s', (_what, args, back) => expect(written(...args)).toEqual(back));

  test('may hold an object twice, as long as it is not inside itself', () => {
    const twice = { a: 1 };
    expect(written(twice, { twice, list: [twice] })).toEqual([
      { a: 1 },
      { twice: { a: 1 }, list: [{ a: 1 }] },
    ]);
  });

  class Rows extends Array<number> {}
  const loop: { self?: unknown } = {};
  loop.self = [loop];
  test.each<[what: string, args: unknown[], problem: string]>([
    ['a number that JSON has not', [1, NaN], 'argument 2 is NaN, which would not come back as it is'],
    ['infinity, deep inside', [{ a: [0, { b: Infinity }] }], 'argument 1.a[1].b is Infinity'],
    ['undefined before another argument', [undefined, 1], 'argument 1 is undefined, which would not'],
    ['a hole of an array', [Object.assign([], { 1: 'a' })], 'argument 1[0] is undefined'],
    [
      'an array with a property',
      [Object.assign([1], { total: 3 })],
      'argument 1 is an object of class Array, which would not come back',
    ],
    [
      'one with a number that is no index',
      [Object.assign([1], { '-1': 3 })],
      'argument 1 is an object of class Array',
    ],
    ['one of a regular expression', [/a/.exec('a')], 'argument 1 is an object of class Array'],
    [
      'an array of a class',
      [{ list: Rows.of(1, 2) }],
      'argument 1.list is an object of class Rows, which would',
    ],
    ['a function', [() => 1], 'argument 1 is a function'],
    ['a symbol', [Symbol('a')], 'argument 1 is Symbol(a)'],
    ['a bigint', [1n], 'argument 1 is a bigint'],
    ['a date', [new Date(0)], 'is an object of class Date, which would not come back as it is'],
    ['a map in an object', [{ map: new Map() }], 'argument 1.map is '],
    ['an object that contains itself', [loop], 'argument 1.self[0] contains itself'],
    ['the first of two problems', [{ a: 1, b: NaN, c: () => 1 }], 'argument 1.b is NaN'],
  ])('are refused: %s', (_what, args, problem) => {
    const message = refusalOf(() => writeArguments(WHERE, args));
    expect(message).toContain(`${WHERE}: argument`);
    expect(message).toContain(problem);
    expect(message).toContain('Nothing was queued, and nothing was run.');
  });

  test('take 16 KiB as JSON at most, in bytes', () => {
    const most = 'a'.repeat(16 * 1_024 - 4);
    expect(written(most)).toEqual([most]);
    const message = refusalOf(() => writeArguments(WHERE, [`${most}a`]));
    expect(message).toContain('the arguments take 16385 bytes as JSON, more than 16384. Pass an id');
    expect(refusalOf(() => writeArguments(WHERE, ['ä'.repeat(8_191)]))).toContain('16386 bytes');
  });
});

describe('a key', () => {
  test('has 200 characters at most', () => {
    const longest = 'k'.repeat(200);
    expect(checkKey(WHERE, longest)).toBe(longest);
    expect(refusalOf(() => checkKey(WHERE, `${longest}k`))).toContain(
      'a text of 201 characters. Return a text of at most 200',
    );
  });

  test.each<[key: unknown, problem: string]>([
    [7, 'queue.key gave 7. Return a text'],
    [undefined, 'queue.key gave undefined. Return a text'],
    ['a\0b', 'queue.key gave a text with a NUL character'],
  ])('is refused: %j', (key, problem) => {
    const message = refusalOf(() => checkKey(WHERE, key));
    expect(message).toContain(`${WHERE}: ${problem}`);
    expect(message).toContain('Nothing was queued, and nothing was run.');
  });
});
