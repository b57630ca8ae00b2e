import { describe, expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { projectRoot } from '../../support/machine.js';
import { anchorsOf, DOCUMENTS, linksOf, PAGES, proofsOf, textOf } from './support/documents.js';

/** As the links of others lead to users' documents, too. */
const LINKING = [...DOCUMENTS, 'CONTRIBUTING.md', 'CHANGELOG.md', 'sample-app/README.md', 'test/README.md'];

test('the README has at most 1,800 words, its code included', () => {
  const words = textOf('README.md').split(/\s+/);
  expect(words.length).toBeGreaterThan(500);
  expect(words.length).toBeLessThanOrEqual(1_800);
});

test.each(PAGES)('%s asks one question, begins with the answer, and the README leads to it', (page) => {
  expect(textOf(page)).toMatch(/^# .+\?\n\n\*\*[^*]+\*\*/);
  expect(linksOf('README.md').map((link) => link.split('#')[0])).toContain(page);
});

test.each(LINKING)('the links of %s lead to files and headings that exist', (file) => {
  const inside = linksOf(file).filter((link) => !/^[a-z]+:/.test(link));
  const broken = inside.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? file : normalize(join(dirname(file), path));
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
  const proofs = DOCUMENTS.flatMap((file) => proofsOf(file).map((proof) => ({ file, ...proof })));

  test('exist', () => {
    const missing = proofs.flatMap(({ file, spec, names }) => {
      if (!existsSync(join(projectRoot, spec))) return [{ file, spec }];
      const text = textOf(spec).replaceAll('%s: ', '');
      return names.filter((name) => !text.includes(name)).map((name) => ({ file, spec, name }));
    });
    expect(missing).toEqual([]);
  });

  test('are all read: each quotation mark of the lists belongs to one', () => {
    const lists = ['docs/guarantees.md', 'docs/ticks.md'];
    for (const file of lists) {
      const lines = textOf(file).split(/\n(?=- |\n|#)/);
      const quoted = lines
        .filter((line) => line.startsWith('- **') && line.includes('`test/'))
        .join(' ')
        .match(/"/g);
      const read = proofsOf(file).flatMap(({ names }) => names);
      expect(read.length).toBeGreaterThan(8);
      expect({ file, names: read.length }).toEqual({ file, names: (quoted?.length ?? 0) / 2 });
    }
  });

  test('are named by each guarantee', () => {
    const [, lists = ''] =
      /## Locks and leases\n(.*?)\n## Fencing\n/s.exec(textOf('docs/guarantees.md')) ?? [];
    const guarantees = lists.split(/\n(?=- )/).filter((item) => item.startsWith('- **'));
    expect(guarantees.length).toBeGreaterThan(30);
    expect(guarantees.filter((item) => !item.includes('`test/'))).toEqual([]);
  });
});
