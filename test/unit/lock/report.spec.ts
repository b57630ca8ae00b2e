import { expect, test } from '@jest/globals';
import { readExpect, reported } from '../../../lib/lock/report.js';

test('what a run reports is added up by name, and the latest value of a name counts', () => {
  expect(reported(reported(undefined, { invoices: 1, month: 'May' }), { invoices: 120 })).toEqual({
    invoices: 120,
    month: 'May',
  });
});

test.each<[unknown, RegExp]>([
  [undefined, /report\(\): undefined is no object/],
  [[1], /is no object/],
  [{ '1st': 1 }, /'1st' is no name: a letter, and up to 40/],
  [{ ['a'.repeat(41)]: 1 }, /is no name/],
  [{ invoices: NaN }, /invoices: NaN is neither a finite number nor a text of at most 100 characters/],
  [{ month: 'x'.repeat(101) }, /month: .*is neither/],
  [{ done: true }, /done: true is neither/],
  [
    Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`n${n}`, n])),
    /n0, n1.*n8: a run reports at most 8 names/,
  ],
])('what cannot be kept is refused, and nothing of it is kept: %j', (values, problem) => {
  const before = { invoices: 1 };
  expect(() => reported(before, values as never)).toThrow(problem);
  expect(before).toEqual({ invoices: 1 });
});

const shortfall = (expected: unknown, report: Record<string, number | string>): string | undefined => {
  const problems: string[] = [];
  const check = readExpect(expected, problems);
  expect(problems).toEqual([]);
  return check?.(report);
};

test.each<[unknown, Record<string, number | string>, string | undefined]>([
  [{ invoices: { min: 1 } }, { invoices: 1 }, undefined],
  [{ invoices: { min: 1 } }, { invoices: 0 }, 'reported 0 invoices; expected at least 1'],
  [{ invoices: { min: 1 } }, {}, 'reported no invoices; expected at least 1'],
  [{ invoices: { min: 1 } }, { invoices: 'many' }, "reported invoices: 'many'; expected at least 1"],
  [{ errors: { max: 0 } }, { errors: 2 }, 'reported 2 errors; expected at most 0'],
  [{ a: { min: 1, max: 2 } }, { a: 3 }, 'reported 3 a; expected at least 1 and at most 2'],
  [() => undefined, {}, undefined],
  [({ a }: { a?: number }) => (a === undefined ? 'nothing was said of a' : ''), {}, 'nothing was said of a'],
  [() => true, {}, '`expect` answered true, which is no sentence'],
  [
    () => {
      throw new Error('broken');
    },
    {},
    '`expect` failed: broken',
  ],
])('what is expected and missing is said: %j of %j', (expected, report, missing) => {
  expect(shortfall(expected, report)).toBe(missing);
});

test.each<[unknown, RegExp]>([
  [3, /expect: 3 is no object and no function/],
  [{ invoices: {} }, /expect\.invoices: .*says nothing that can be checked/],
  [{ invoices: { least: 1 } }, /expect\.invoices/],
  [{ invoices: { min: 'one' } }, /expect\.invoices/],
  [{ invoices: null }, /expect\.invoices/],
])('an expectation that is wrong is a problem: %j', (expected, problem) => {
  const problems: string[] = [];
  readExpect(expected, problems);
  expect(problems).toEqual([expect.stringMatching(problem)]);
});
