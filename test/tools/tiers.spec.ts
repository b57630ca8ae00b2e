import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../support/machine.js';
import { provideMysql } from '../support/mysql-server.js';
import { startPostgres } from '../support/postgres-server.js';
import { filesOf, LEFT_ALONE, ROOTS, TIERS } from '../../tools/tiers.mjs';

const read = (path: string): string => readFileSync(join(projectRoot, path), 'utf8');

const all = ROOTS.flatMap((folder) =>
  readdirSync(join(projectRoot, folder), { recursive: true }).map((file) => `${folder}/${String(file)}`),
).filter((file) => file.endsWith('.ts') && !file.startsWith(LEFT_ALONE));
const tiers = Object.keys(TIERS) as (keyof typeof TIERS)[];

test('each file that registers tests is in exactly one tier, or is imported by one that is', () => {
  const inTiers = tiers.flatMap((tier) => filesOf(tier));
  expect(new Set(inTiers).size).toBe(inTiers.length);
  const imports = all.map(read).join('\n');
  const lost = all.filter((file) => {
    if (inTiers.includes(file) || !/\b(test|it)(\.\w+)*\(\s*['"`]/.test(read(file))) return false;
    return !imports.includes(`/${file.split('/').at(-1)?.replace(/\.ts$/, '.js')}'`);
  });
  expect(lost).toEqual([]);
});

test('units load what they test: the main entry and the testing entry load all of the library, and Nest, which takes longer than most tests', () => {
  // What these test is an entry, or a decorator.
  const own = ['test/unit/house/surface.spec.ts', 'test/unit/nest/options/types.spec.ts'];
  const loads = /^import (?!type )[^;]*from '[./]*lib\/(testing\/)?index\.js';/m;
  const units = all.filter((file) => file.startsWith('test/unit/') && loads.test(read(file)));
  expect(units.sort()).toEqual(own);
});

describe('in the fast tier', () => {
  const tier = process.env['TIER'];
  beforeEach(() => void (process.env['TIER'] = 'fast'));
  afterEach(() => {
    if (tier === undefined) delete process.env['TIER'];
    else process.env['TIER'] = tier;
  });

  test.each([
    ['MySQL', provideMysql],
    ['PostgreSQL', startPostgres],
  ])('no test gets a %s: its file has to say that it is of another tier', async (_name, get) => {
    await expect(get()).rejects.toThrow(/in the fast tier, which needs no database: rename this file to/);
  });
});

test('.ci/run runs each tier, the fast one first', () => {
  const text = read('.ci/run');
  const places = ['run_tests fast', 'run_tests full', 'run_tests slow'].map((step) => text.indexOf(step));
  expect(places.every((place) => place >= 0)).toBe(true);
  expect(text).toMatch(/\neverything\(\) \{\n  tests\n(?:  .+\n)*  full\n/);
  expect(text).toMatch(/set -- everything;/);
});
