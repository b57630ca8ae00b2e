import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnChild, type TestChild } from '../../support/child.js';
import { projectRoot } from '../../support/machine.js';
import { madeOnce } from '../../support/once.js';
import { copyFolder, npm, runToSuccess, theTarball } from './tarball.js';

const fixtures = join(projectRoot, 'test/package/fixtures');

/** A new application outside of the repository, with the packed package installed as a user would. */
export class FreshApp {
  private constructor(readonly folder: string) {}

  /**
   * @param fixture its folder below `fixtures`
   * @param sources folder below `fixtures` with sources that it shares with others
   * @param packages what it is given besides, by name
   */
  static async install(
    fixture: string,
    sources?: string,
    packages: Readonly<Record<string, string>> = {},
  ): Promise<FreshApp> {
    const app = await FreshApp.#inNewFolder(fixture);
    await app.#install(fixture, sources, packages);
    return app;
  }

  /** One without a driver, for {@link report}: a copy of one that is installed once in a run. */
  static async bare(): Promise<FreshApp> {
    const shared = await madeOnce('an application without a driver', (folder) =>
      new FreshApp(folder).#install('bare'),
    );
    const app = await FreshApp.#inNewFolder('bare');
    await copyFolder(shared, app.folder);
    return app;
  }

  static async #inNewFolder(name: string): Promise<FreshApp> {
    return new FreshApp(await mkdtemp(join(tmpdir(), `scheduler-lock-${name}-`)));
  }

  async #install(
    fixture: string,
    sources?: string,
    packages: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    await cp(join(fixtures, fixture), this.folder, { recursive: true });
    if (sources !== undefined)
      await cp(join(fixtures, sources), join(this.folder, 'src'), { recursive: true });
    const manifest = JSON.parse(await this.read('package.json')) as { dependencies: Record<string, string> };
    Object.assign(manifest.dependencies, packages);
    manifest.dependencies['nestjs-scheduler-lock'] = `file:${await theTarball()}`;
    await writeFile(join(this.folder, 'package.json'), JSON.stringify(manifest));
    await npm(['install', '--no-package-lock'], this.folder);
  }

  /** Compiles it with its own TypeScript. @throws with what the compiler said */
  async compile(): Promise<void> {
    await runToSuccess(
      process.execPath,
      [join(this.folder, 'node_modules/typescript/bin/tsc'), '-p', '.'],
      this.folder,
    );
  }

  start(script: string, env: Record<string, string> = {}): Promise<TestChild> {
    return spawnChild(join(this.folder, script), { env: { NODE_ENV: 'production', ...env } });
  }

  /** Runs a script to its end. Returns the message "result" that it sends, and its stderr. */
  async report(script: string): Promise<{ result: Record<string, unknown>; stderr: string }> {
    const child = await this.start(script);
    const result = await child.next('result', 120_000);
    await child.ended();
    return { result, stderr: child.stderr };
  }

  read(path: string): Promise<string> {
    return readFile(join(this.folder, path), 'utf8');
  }

  /** Versions of a package that are installed, one per copy. */
  async copies(name: string): Promise<string[]> {
    const manifests = await findPackage(join(this.folder, 'node_modules'), name);
    return Promise.all(
      manifests.map(
        async (path) => (JSON.parse(await readFile(path, 'utf8')) as { version: string }).version,
      ),
    );
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}

/** Manifests of all copies of a package below a `node_modules` folder, nested ones included. */
async function findPackage(nodeModules: string, name: string): Promise<string[]> {
  if (!existsSync(nodeModules)) return [];
  const own = join(nodeModules, name, 'package.json');
  const entries = await readdir(nodeModules);
  const packages = await Promise.all(
    entries.map(async (entry) =>
      entry.startsWith('@')
        ? (await readdir(join(nodeModules, entry))).map((part) => join(entry, part))
        : [entry],
    ),
  );
  const nested = packages.flat().map((entry) => findPackage(join(nodeModules, entry, 'node_modules'), name));
  return [...(existsSync(own) ? [own] : []), ...(await Promise.all(nested)).flat()];
}
