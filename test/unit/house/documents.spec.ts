import { describe, expect, test } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { llms, sections } from '../../../tools/pages.mjs';
import { projectRoot } from '../../support/machine.js';
import { SERVERS } from '../../support/servers.js';
import { anchorsOf, DOCUMENTS, INDEX, linksOf, PAGES, proofsOf, textOf } from './support/documents.js';

/** As the links of others lead to users' documents, too. */
const LINKING = [
  ...DOCUMENTS,
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'sample-app/README.md',
  'test/README.md',
  'test/bench/README.md',
  'test/contract/README.md',
];

/** Where the tests of each promise are named. */
const PROOFS = 'test/README.md';
const mapOfProofs = (): string => textOf(PROOFS).split('## The map of proofs')[1]?.split('\n## ')[0] ?? '';

const isInside = (link: string): boolean => !/^[a-z]+:/.test(link);

/** The file to which a link of a document leads, from the root. */
function targetOf(file: string, link: string): string {
  const [path = ''] = link.split('#');
  return path === '' ? file : normalize(join(dirname(file), path));
}

const targetsOf = (file: string): string[] =>
  linksOf(file)
    .filter(isInside)
    .map((link) => targetOf(file, link));

/** With code, and with the lines between the cells of tables: as `wc -w` counts. */
const wordsOf = (file: string): number =>
  textOf(file)
    .split(/\s+/)
    .filter((word) => word !== '').length;

test('the README has at most 1,600 words, its code included', () => {
  expect(wordsOf('README.md')).toBeGreaterThan(500);
  expect(wordsOf('README.md')).toBeLessThanOrEqual(1_600);
});

test("the README's table of servers names each on which `npm run test:servers` runs", () => {
  const rows = textOf('README.md')
    .split('\n')
    .filter((line) => /^\| (Redis|PostgreSQL|MySQL)/.test(line));
  const missing = SERVERS.filter(({ name }) => {
    const [product = '', version = ''] = name.split(' ');
    return !rows.some((row) => row.includes(product) && row.split('|').at(-2)?.includes(version));
  });
  expect(missing).toEqual([]);
});

test('docs has 45 pages and 42,000 words at most', () => {
  const pages = [INDEX, ...PAGES];
  const words = pages.reduce((sum, page) => sum + wordsOf(page), 0);
  expect(pages.length).toBeGreaterThan(30);
  expect(pages.length).toBeLessThanOrEqual(45);
  expect(words).toBeLessThanOrEqual(42_000);
});

test.each(PAGES)('%s asks one question, begins with the answer, and the index leads to it', (page) => {
  expect(textOf(page)).toMatch(/^# .+\?\n\n\*\*[^*]+\*\*/);
  expect(targetsOf(INDEX)).toContain(page);
});

const STORES = ['redis', 'postgres', 'mysql', 'mongodb'].map((name) => `docs/stores/${name}.md`);

test.each(STORES)(
  '%s is whole: install, a module, the end, rights, and no other store for any of it',
  (page) => {
    const text = textOf(page);
    expect(text).toMatch(/^npm install nestjs-scheduler-lock \w+/m);
    expect(text).toContain('SchedulerLockModule.forRootAsync(');
    expect(text).toContain('onApplicationShutdown()');
    expect(anchorsOf(page)).toContain('rights-of-the-user');
    expect(targetsOf(page).filter((target) => target !== page && STORES.includes(target))).toEqual([]);
  },
);

test('llms.txt has each page, with its answer', () => {
  expect(textOf('llms.txt')).toBe(llms());
  const listed = sections().flatMap(({ pages }) => pages.map(({ path }) => path));
  expect(listed.sort()).toEqual([...PAGES].sort());
});

test('the map in CONTRIBUTING leads to each room of lib, and only to what is there', () => {
  const map = textOf('CONTRIBUTING.md')
    .split('## Which file for what')[1]
    ?.split('\n## ')[0]
    ?.split('\n### ')[0];
  const rows = (map ?? '').split('\n').filter((line) => line.startsWith('|'));
  const named = rows.flatMap((row) => [...row.matchAll(/`([a-z][a-z/.-]*)`/g)].map(([, name = '']) => name));
  const paths = named.filter((name) => name.includes('/')).map((name) => name.replace(/^lib\//, ''));
  const isThere = (path: string): boolean =>
    ['', '.ts', '.tsx'].some((ending) => existsSync(join(projectRoot, 'lib', path + ending)));
  expect(paths.filter((path) => !isThere(path))).toEqual([]);
  const rooms = readdirSync(join(projectRoot, 'lib'), { withFileTypes: true }).filter((each) =>
    each.isDirectory(),
  );
  const known = new Set([...paths.map((path) => path.split('/')[0]), ...named]);
  expect(rooms.map(({ name }) => name).filter((room) => !known.has(room))).toEqual([]);
});

test('the README leads to the index', () => {
  expect(targetsOf('README.md')).toContain(INDEX);
});

test('what travels with the package links to nothing that does not', () => {
  const travels = new Set(DOCUMENTS);
  const outside = DOCUMENTS.flatMap((file) =>
    targetsOf(file)
      .filter((target) => !travels.has(target) && !/^(docs\/images\/.+\.svg|LICENSE)$/.test(target))
      .map((target) => ({ file, target })),
  );
  expect(outside).toEqual([]);
});

test.each(LINKING)('the links of %s lead to files and headings that exist', (file) => {
  const inside = linksOf(file).filter(isInside);
  const broken = inside.filter((link) => {
    const [, anchor] = link.split('#');
    const target = targetOf(file, link);
    if (!existsSync(join(projectRoot, target))) return true;
    return anchor !== undefined && !anchorsOf(target).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test('package.json has fifteen scripts at most, and CONTRIBUTING names each', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  const names = Object.keys(scripts);
  expect(names.length).toBeLessThanOrEqual(15);
  const text = textOf('CONTRIBUTING.md');
  expect(names.filter((name) => !new RegExp(`(npm( run)? |\`)${name}(?![\\w:-])`).test(text))).toEqual([]);
});

test('the scripts that documents and tools run with npm exist', () => {
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
  const files = [...LINKING, '.ci/run', '.github/workflows/ci.yml', 'tools/check.mjs', 'tools/reporter.mjs'];
  const named = files.flatMap((file) =>
    [...textOf(file).matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)].map(([, name = '']) => ({
      file,
      name,
    })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ name }) => !Object.hasOwn(scripts, name))).toEqual([]);
});

describe('the tests that documents name', () => {
  const proofs = [...DOCUMENTS, PROOFS].flatMap((file) =>
    proofsOf(file).map((proof) => ({ file, ...proof })),
  );

  test('exist', () => {
    const missing = proofs.flatMap(({ file, spec, names }) => {
      if (!existsSync(join(projectRoot, spec))) return [{ file, spec }];
      const text = textOf(spec).replaceAll('%s: ', '');
      return names.filter((name) => !text.includes(name)).map((name) => ({ file, spec, name }));
    });
    expect(missing).toEqual([]);
  });

  test('are all read: each quotation mark of the lists belongs to one', () => {
    const quoted = mapOfProofs()
      .split(/\n(?=- |\n|#)/)
      .filter((line) => line.startsWith('- **') && line.includes('`test/'))
      .join(' ')
      .match(/"/g);
    const read = proofsOf(PROOFS).flatMap(({ names }) => names);
    expect(read.length).toBeGreaterThan(50);
    expect(read.length).toBe((quoted?.length ?? 0) / 2);
  });

  test('are named by each sentence of the map', () => {
    const sentences = mapOfProofs()
      .split(/\n(?=- |\n|#)/)
      .filter((item) => item.startsWith('- **'));
    expect(sentences.length).toBeGreaterThan(40);
    expect(sentences.filter((item) => !item.includes('`test/'))).toEqual([]);
  });
});
