import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { gzipSync } from 'node:zlib';
import { linksOf } from '../unit/house/support/documents.js';
import { npm, packProjectDryRun, theTarball } from './support/tarball.js';

jest.setTimeout(300_000);

/**
 * Two builds with one set of types, packed. It was 243 kB before histories, metrics, health and the shell, 324 kB before the set-up
 * texts for databases and Redis, the watch over silent connections, and the judgement of jobs, and 375 kB before the rules of a lock
 * over documents, which so far stand beside the stores for databases that they are to replace; 396 kB before node-redis and MongoDB; 418 kB before the documents
 * came along, of which there are 97 kB; 519 kB before the page and the switches. The page takes some 45 kB, the switches some
 * 15 kB, and 20 kB are what both brought into the shell, histories and stores, in both builds, and documents. 600 kB before the stores on
 * SQL were split by idea: eleven files more in each build; 610 kB before 9 kB of answers for newcomers in the documents, and the shutdown of switches.
 */
const MOST = 640_000;
/** The page, packed: what both builds share of it, what each has of its own, its document, and the description of its JSON. */
const MOST_OF_PAGE = 60_000;
/** What may be in the package: this, the documents, and the folder `dist`. */
const FILES = [
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'llms.txt',
  'monitoring/alerts.yml',
  'monitoring/board-api.json',
  'monitoring/grafana.json',
  'package.json',
];

interface Manifest {
  main: string;
  types: string;
  bin: Record<string, string>;
  exports: Record<string, string | Record<string, Record<string, string>>>;
  typesVersions: Record<string, Record<string, string[]>>;
  scripts: Record<string, string>;
  dependencies?: Record<string, string>;
}

/** npm runs them, or warns of them, where the package is installed: from a registry, a tarball or a repository. */
const INSTALL_SCRIPTS = /^(pre|post)?(install|prepare)$|^prepublish$/;

/** A folder into which the package was installed, and nothing it does not bring along itself. */
let folder: string;
/** The package in there. */
let installed: string;
let manifest: Manifest;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'scheduler-lock-tarball-'));
  installed = join(folder, 'node_modules/nestjs-scheduler-lock');
  await writeFile(join(folder, 'package.json'), '{ "private": true }');
  await npm(['install', '--omit=peer', '--omit=dev', '--no-package-lock', await theTarball()], folder);
  manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest;
});

afterAll(() => rm(folder, { recursive: true, force: true }));

test('a tarball of the project holds the build, the documents, the licence, alerts and a dashboard, and nothing else', async () => {
  const { files } = await packProjectDryRun();
  const paths = files.map(({ path }) => path);
  expect(paths.filter((path) => !/^(dist|docs)\//.test(path)).sort()).toEqual(FILES);
  expect(paths.filter((path) => path.startsWith('docs/') && !/\.(md|svg)$/.test(path))).toEqual([]);
  expect(paths).toContain('docs/stores/redis.md');
  expect(paths.filter((path) => path.startsWith('dist/') && !/\.(js|d\.ts)$/.test(path))).toEqual([
    'dist/cjs/package.json',
  ]);
});

test('no document in it has a link, or a picture, that is not in it', async () => {
  const { files } = await packProjectDryRun();
  const paths = new Set(files.map(({ path }) => path));
  const links = [...paths]
    .filter((path) => path.endsWith('.md'))
    .flatMap((path) => linksOf(path).map((link) => ({ path, link })));
  const inside = links.filter(({ link }) => !/^([a-z]+:|#)/.test(link));
  expect(inside.length).toBeGreaterThan(200);
  expect(inside.filter(({ link }) => link.endsWith('.svg')).length).toBeGreaterThan(2);
  const targetOf = (path: string, link: string): string =>
    normalize(join(dirname(path), link.split('#')[0] ?? ''));
  expect(inside.filter(({ path, link }) => !paths.has(targetOf(path, link)))).toEqual([]);
});

test('it holds both builds, script by script, and is a download of less than 640 kB', async () => {
  const { files, size } = await packProjectDryRun();
  const scripts = files.map(({ path }) => path).filter((path) => path.endsWith('.js'));
  const [cjs, esm] = [true, false].map((is) => scripts.filter((path) => path.startsWith('dist/cjs/') === is));
  const imported = new Set(esm?.map((path) => path.replace('dist/', 'dist/cjs/')));
  expect(cjs?.filter((path) => !imported.has(path))).toEqual([]);
  const required = new Set(cjs?.map((path) => path.replace('dist/cjs/', 'dist/')));
  // The shell is a program, which nobody requires; what it shares with the page is in one file with the page for all others.
  const ofShell = /^dist\/show\/(cli\/|board\/(data\/|answer|shared))/;
  const only = esm?.filter((path) => !required.has(path) && !ofShell.test(path));
  expect(only).toEqual([]);
  expect(cjs?.length).toBeGreaterThan(100);
  expect(size).toBeLessThan(MOST);
});

test('the page is at most 60 kB of it', async () => {
  const { files } = await packProjectDryRun();
  const ofPage = files.filter(({ path }) =>
    /^dist\/(cjs\/)?show\/board\/|^docs\/observe\/board\.md$|^monitoring\/board-api\.json$/.test(path),
  );
  const texts = await Promise.all(ofPage.map(({ path }) => readFile(join(installed, path))));
  const packed = gzipSync(Buffer.concat(texts)).length;
  expect(packed).toBeGreaterThan(MOST_OF_PAGE / 3);
  expect(packed).toBeLessThanOrEqual(MOST_OF_PAGE);
});

test('every path that package.json names is there', async () => {
  const { main, types, bin, exports, typesVersions } = manifest;
  const named = [
    main,
    ...Object.values(bin),
    types,
    ...Object.values(exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry).flatMap((files) => Object.values(files)),
    ),
    ...Object.values(typesVersions).flatMap((entries) => Object.values(entries).flat()),
  ];
  expect(named).toContain('./dist/testing/index.js');
  for (const path of named)
    expect({ path, size: (await stat(join(installed, path))).size }).toEqual({
      path,
      size: expect.any(Number),
    });
});

test('it has no script that npm would run, or warn of, where it is installed', () => {
  expect(Object.keys(manifest.scripts).filter((name) => INSTALL_SCRIPTS.test(name))).toEqual([]);
});

test('the shell is a program', async () => {
  const [program = ''] = Object.values(manifest.bin);
  const path = join(installed, program);
  expect(await readFile(path, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  // npm has linked it, and made it executable.
  expect((await stat(path)).mode & 0o111).toBe(0o111);
});

test('no script names a source map that is not there', async () => {
  const scripts = (await filesBelow(join(installed, 'dist'))).filter((path) => path.endsWith('.js'));
  expect(scripts.length).toBeGreaterThan(0);
  for (const path of scripts) expect(await readFile(path, 'utf8')).not.toContain('sourceMappingURL');
});

test('no runtime dependency comes along', async () => {
  expect(Object.keys(manifest.dependencies ?? {})).toEqual([]);
  const packages = (await readdir(join(folder, 'node_modules'))).filter((name) => !name.startsWith('.'));
  expect(packages).toEqual(['nestjs-scheduler-lock']);
});

async function filesBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
