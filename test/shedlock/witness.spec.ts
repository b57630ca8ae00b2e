import { expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimsIn, overlapsOf } from './witness.js';

const MS = 1_000_000;

/** Who overlaps with whom, by what was written: what, who, claim, lock, now and until in ms. */
function overlaps(
  ...lines: readonly (readonly [string, string, number, string, number, number])[]
): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'scheduler-lock-witness-'));
  const file = join(folder, 'witness');
  const texts = lines.map(([what, who, claim, lock, now, until]) =>
    [what, who, claim, lock, now * MS, until * MS].join(' '),
  );
  writeFileSync(file, `${texts.join('\n')}\n`);
  const found = overlapsOf(claimsIn(file)).map(({ first, second, ms }) => `${first} ${second} ${ms}`);
  rmSync(folder, { recursive: true });
  return found;
}

test('one that takes a lock before the end that the other was promised is an overlap, killed or not', () => {
  expect(overlaps(['holds', 'a', 1, 'x', 0, 100], ['holds', 'b', 2, 'x', 90, 200])).toEqual(['a b 10']);
});

test('one that takes it after that, or after it was given back, is none', () => {
  expect(overlaps(['holds', 'a', 1, 'x', 0, 100], ['holds', 'b', 2, 'x', 100, 200])).toEqual([]);
  expect(
    overlaps(['holds', 'a', 1, 'x', 0, 100], ['ends', 'a', 1, 'x', 40, 40], ['holds', 'b', 2, 'x', 41, 141]),
  ).toEqual([]);
});

test('what is given back late ends no earlier claim, and no later one', () => {
  expect(
    overlaps(
      ['holds', 'a', 1, 'x', 0, 100],
      ['holds', 'b', 2, 'x', 110, 300],
      ['ends', 'a', 1, 'x', 120, 120],
      ['holds', 'c', 3, 'x', 130, 200],
    ),
  ).toEqual(['b c 70']);
});

test('a lock stays taken as long as was said when it was given back', () => {
  expect(
    overlaps(['holds', 'a', 1, 'x', 0, 100], ['ends', 'a', 1, 'x', 5, 50], ['holds', 'b', 2, 'x', 45, 145]),
  ).toEqual(['a b 5']);
});

test('a renewal puts the end off', () => {
  expect(
    overlaps(
      ['holds', 'a', 1, 'x', 0, 100],
      ['holds', 'a', 1, 'x', 50, 150],
      ['holds', 'b', 2, 'x', 120, 300],
    ),
  ).toEqual(['a b 30']);
});

test('a short claim within a long one does not hide what comes after it', () => {
  expect(
    overlaps(['holds', 'a', 1, 'x', 0, 100], ['holds', 'b', 2, 'x', 10, 20], ['holds', 'c', 3, 'x', 30, 40]),
  ).toEqual(['a b 10', 'a c 10']);
});

test('locks of two names have nothing to do with each other', () => {
  expect(overlaps(['holds', 'a', 1, 'x', 0, 100], ['holds', 'b', 2, 'y', 50, 150])).toEqual([]);
});
