import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnChild, type TestChild } from '../../support/child.js';
import { projectRoot } from '../../support/machine.js';
import { until } from '../../support/until.js';
import { withoutLateness } from './lateness.js';
import { madeOnce } from '../../support/once.js';
import { copyFolder, npm, runToSuccess, theTarball } from './tarball.js';

const sources = join(projectRoot, 'test/package/fixtures/user');

/** What `nest new` makes, and the versions that the README names for it. */
export const TEMPLATES = {
  nest11: {
    cli: '@nestjs/cli@11',
    esm: false,
    packages: { '@nestjs/schedule': '^6.0.0', ioredis: '^5.4.0' },
  },
  nest12: {
    cli: '@nestjs/cli@12',
    esm: true,
    packages: { '@nestjs/schedule': '^12.0.0', ioredis: '^6.0.0' },
  },
} as const;

export type Template = keyof typeof TEMPLATES;

/** What neither a build nor a test needs: it would take longer to install than all the rest. */
const LEFT_OUT = /eslint|oxlint|prettier|supertest|mau|coverage|globals|ts-node/;

/** What two processes of an application said. */
export interface Fleet {
  /** Ticks that one of them ran and the other one skipped. */
  shared: number;
  /** Ticks that both of them ran. */
  twice: number;
  stderr: string;
}

/** The Redis of an application, and where its keys begin. */
export interface Place {
  url: string;
  prefix: string;
}

/** An application as `nest new` makes it, with a job, in a folder outside of the repository. */
export class UserApp {
  private constructor(
    readonly folder: string,
    readonly template: Template,
  ) {}

  /** One to whose packages more can be added: a copy of one that is installed once in a run. */
  static async copy(template: Template): Promise<UserApp> {
    const shared = await UserApp.#shared(template, {});
    const app = await UserApp.#inNewFolder(template);
    await copyFolder(shared, app.folder);
    return app;
  }

  /**
   * One that shares its packages with all of its kind.
   *
   * @param packages what it is given besides what the template has, by name
   */
  static async of(template: Template, packages: Readonly<Record<string, string>> = {}): Promise<UserApp> {
    const shared = await UserApp.#shared(template, packages);
    const app = await UserApp.#inNewFolder(template);
    for (const entry of await readdir(shared)) {
      if (entry === 'node_modules') await symlink(join(shared, entry), join(app.folder, entry));
      else await cp(join(shared, entry), join(app.folder, entry), { recursive: true });
    }
    return app;
  }

  static async #inNewFolder(template: Template): Promise<UserApp> {
    return new UserApp(await mkdtemp(join(tmpdir(), `scheduler-lock-${template}-`)), template);
  }

  /** The folder of one that nobody may change. */
  static async #shared(template: Template, packages: Readonly<Record<string, string>>): Promise<string> {
    const name = `an application of ${template} with ${Object.entries(packages).flat().join(' ') || 'its own packages'}`;
    const parent = await madeOnce(name, (folder) =>
      new UserApp(join(folder, 'app'), template).#make(folder, packages),
    );
    return join(parent, 'app');
  }

  async #make(parent: string, packages: Readonly<Record<string, string>>): Promise<void> {
    const { cli, packages: own } = TEMPLATES[this.template];
    const options = ['--skip-git', '--skip-install', '--package-manager', 'npm'];
    // Where there is no such question yet, there is no such option.
    if (this.template === 'nest12') options.push('--no-observe');
    const nest = ['exec', '--yes', `--package=${cli}`, '--', 'nest'];
    // Two that npm fetches it for at the same time would get halves of it.
    await madeOnce(cli, async (folder) => void (await npm([...nest, '--version'], folder)));
    await npm([...nest, 'new', 'app', ...options], parent);
    await this.#addJob();
    const manifest = JSON.parse(await readFile(join(this.folder, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
      devDependencies: Record<string, string>;
    };
    for (const name of Object.keys(manifest.devDependencies)) {
      if (LEFT_OUT.test(name)) delete manifest.devDependencies[name];
    }
    // The packed package, which it is given as a user would.
    Object.assign(manifest.dependencies, own, { 'nestjs-scheduler-lock': `file:${await theTarball()}` });
    Object.assign(manifest.devDependencies, packages);
    await this.write('package.json', JSON.stringify(manifest));
    await npm(['install', '--no-package-lock'], this.folder);
  }

  async write(path: string, text: string): Promise<void> {
    await writeFile(join(this.folder, path), text);
  }

  /** Changes the options of its compiler. */
  async setCompilerOptions(options: Readonly<Record<string, unknown>>): Promise<void> {
    const config = JSON.parse(await readFile(join(this.folder, 'tsconfig.json'), 'utf8')) as {
      compilerOptions: Record<string, unknown>;
    };
    Object.assign(config.compilerOptions, options);
    await this.write('tsconfig.json', JSON.stringify(config));
  }

  /**
   * Runs a program of one of its packages.
   *
   * @param script of the program, below `node_modules`
   * @throws with what it said, if it fails
   */
  async run(
    [script, ...args]: readonly [string, ...string[]],
    { node = process.execPath, env = {} }: { node?: string; env?: Record<string, string> } = {},
  ): Promise<string> {
    return runToSuccess(node, [join(this.folder, 'node_modules', script), ...args], this.folder, env);
  }

  /** Runs its tests. @throws with what they said, if one fails */
  async test(command: readonly [string, ...string[]], { url, prefix }: Place, node?: string): Promise<void> {
    // What is set for the tests of this project is not for those of a user.
    const env = { NODE_ENV: '', NODE_OPTIONS: '', REDIS_URL: url, TESTS_PREFIX: `${prefix}tests` };
    await this.run(command, { env, ...(node === undefined ? {} : { node }) });
  }

  /** Runs two processes until there are some ticks that one of them ran and the other one skipped. */
  async runTwice(start: string, { url, prefix }: Place, execPath?: string): Promise<Fleet> {
    const env = { NODE_ENV: 'production', PORT: '0', REDIS_URL: url, APP_PREFIX: prefix };
    const options = { env, cwd: this.folder, ...(execPath === undefined ? {} : { execPath }) };
    const children = await Promise.all([0, 1].map(() => spawnChild(join(this.folder, start), options)));
    try {
      const said = (): string => children.map(({ stdout, stderr }) => stdout + stderr).join('\n');
      await until(() => sharedTicks(children) >= 2 || children.some(({ running }) => !running), {
        timeout: 60_000,
        message: () => `ticks that one runs and the other skips\n${said()}`,
      });
      if (children.some(({ running }) => !running)) throw new Error(`It has ended:\n${said()}`);
    } finally {
      await Promise.all(children.map((child) => child.stop()));
    }
    const [first = [], second = []] = children.map((child) => ticks(child, 'RAN'));
    return {
      shared: sharedTicks(children),
      twice: first.filter((tick) => second.includes(tick)).length,
      stderr: children.map(({ stderr }) => withoutLateness(stderr)).join(''),
    };
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }

  async #addJob(): Promise<void> {
    for (const file of await readdir(sources)) {
      const text = await readFile(join(sources, file), 'utf8');
      // As the template itself writes it: Jest knows no `.js` that is a `.ts`.
      const { esm } = TEMPLATES[this.template];
      await this.write(join('src', file), esm ? text : text.replace(/(from '\.[^']*)\.js'/g, "$1'"));
    }
  }
}

function ticks({ stdout }: TestChild, what: 'RAN' | 'SKIPPED'): string[] {
  return [...stdout.matchAll(new RegExp(`^${what} (\\d+)\\n`, 'gm'))].map(([, tick = '']) => tick);
}

function sharedTicks(children: readonly TestChild[]): number {
  const ran = children.flatMap((child) => ticks(child, 'RAN'));
  const skipped = children.flatMap((child) => ticks(child, 'SKIPPED'));
  return ran.filter((tick) => skipped.includes(tick)).length;
}
