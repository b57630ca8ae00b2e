import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import { COMPILES, IMPORTS, REFUSED } from './support/cases.js';
import { diagnose } from './support/compile.js';
import { writeSnippets } from './support/snippets.js';

jest.setTimeout(120_000);

/** Most of the time goes into reading the types of dependencies: one program has all cases. */
let found: Record<string, string[]>;
let snippets: readonly string[];

beforeAll(() => {
  snippets = writeSnippets();
  const refused = Object.entries(REFUSED).map(([name, { source }]): [string, string] => [name, source]);
  const cases = [...Object.entries(COMPILES), ...refused];
  found = diagnose(
    Object.fromEntries(cases.map(([name, source]) => [name, `${IMPORTS}${source}\n`])),
    snippets,
  );
});

test('every TypeScript snippet of the README and of docs/ compiles against the built package', () => {
  expect(snippets.length).toBeGreaterThan(25);
  const { ...others } = found;
  for (const name of [...Object.keys(COMPILES), ...Object.keys(REFUSED)]) delete others[name];
  expect(others).toEqual({});
});

describe('TypeScript accepts', () => {
  test.each(Object.keys(COMPILES))('%s', (name) => expect(found[name]).toBeUndefined());
});

describe('TypeScript refuses', () => {
  test.each(Object.entries(REFUSED))('%s', (name, { because }) => {
    expect(found[name]).toHaveLength(1);
    expect(found[name]?.[0]).toMatch(because);
  });
});
