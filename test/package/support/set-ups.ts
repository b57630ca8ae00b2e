import type { Template } from './user-app.js';

/** A program of a package, by its script below `node_modules`, and its arguments. */
type Command = readonly [script: string, ...args: string[]];

/** One way to build, run and test an application. */
export interface SetUp {
  readonly name: string;
  /** What it changes in what `nest new` has made: options of the compiler, and files. */
  readonly compilerOptions?: Readonly<Record<string, unknown>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly build?: readonly Command[];
  /** What is started after the build. @default dist/main.js */
  readonly start?: string;
  /** @default the template's own */
  readonly test?: Command;
  /** Versions of Node that run and test what was built. @default the one that runs this */
  readonly nodes?: readonly string[];
  /** One that is too old. */
  readonly tooOld?: string;
}

/** An application with its packages, and what is done with it. */
export interface Group {
  readonly template: Template;
  /** What is installed besides what the template has. */
  readonly packages?: Readonly<Record<string, string>>;
  readonly setUps: readonly SetUp[];
}

const nest = (...args: string[]): Command => ['@nestjs/cli/bin/nest.js', ...args];
const tsc = (typescript: string): Command => [`${typescript}/bin/tsc`, '-p', 'tsconfig.build.json'];

/** As `nest new` leaves them. */
export const DEFAULTS: Readonly<Record<Template, { build: readonly Command[]; test: Command }>> = {
  nest11: { build: [nest('build')], test: ['jest/bin/jest.js'] },
  nest12: { build: [nest('build')], test: ['vitest/vitest.mjs', 'run'] },
};

/** What Nest loads if it is there, and a bundler has to be told of. */
const LAZY = ['@nestjs/microservices', '@nestjs/websockets', 'class-validator', 'class-transformer'];

/** As the documents of Nest have it, with all that is there in the bundle. */
const webpackConfig = `
  const { IgnorePlugin } = require('webpack');
  const checkResource = (name) => ${JSON.stringify(LAZY)}.some((lazy) => name.startsWith(lazy));
  module.exports = (options) => ({
    ...options,
    externals: [],
    plugins: [...options.plugins, new IgnorePlugin({ checkResource })],
  });
`;

/** A set-up that makes a bundle of what the compiler has made. */
const external = LAZY.flatMap((name) => [name, `${name}/*`]);
const esbuild = (name: string, start: string, options: object): SetUp => ({
  name: `esbuild, ${name}`,
  files: {
    'bundle.mjs': `
      import { build } from 'esbuild';
      const options = ${JSON.stringify({ bundle: true, platform: 'node', external, ...options })};
      await build({ entryPoints: ['dist/main.js'], ...options });
    `,
  },
  build: [nest('build'), ['../bundle.mjs']],
  start,
});

const tsconfig = (compilerOptions: object): Record<string, string> => ({
  'tsconfig.build.json': JSON.stringify({
    extends: './tsconfig.json',
    compilerOptions,
    exclude: ['node_modules', 'test', 'dist', '**/*spec.ts'],
  }),
});

/** Beside what watches an application from inside, with collectors that are not there. Sentry is for NestJS 11 at most. */
const OBSERVE = { '@nestjs/observe': '^0.3.3' };
const watched = (by: 'NestJS Observe' | 'NestJS Observe and Sentry'): SetUp => {
  const bySentry = by.includes('Sentry');
  return {
    name: `beside ${by}`,
    files: {
      'src/instrument.ts': bySentry
        ? `
            import * as Sentry from '@sentry/nestjs';
            Sentry.init({ dsn: 'http://key@127.0.0.1:9/1', tracesSampleRate: 1 });
          `
        : 'export {};',
      'src/main.ts': `
        import './instrument.js';
        import { Module } from '@nestjs/common';
        import { NestFactory } from '@nestjs/core';
        import { createObserveModule } from '@nestjs/observe';
        ${bySentry ? "import { SentryModule } from '@sentry/nestjs/setup';" : ''}
        import { AppModule } from './app.module.js';

        const { ObserveModule, ObserveInstrument } = createObserveModule();
        const observe = { appKey: 'key', appSecret: 'secret', serviceId: 'app', endpoint: 'http://127.0.0.1:9' };

        @Module({ imports: [${bySentry ? 'SentryModule.forRoot(), ' : ''}ObserveModule.forRoot(observe), AppModule] })
        class WatchedModule {}

        async function bootstrap(): Promise<void> {
          const app = await NestFactory.create(WatchedModule, { instrument: ObserveInstrument });
          app.enableShutdownHooks();
          await app.listen(process.env.PORT ?? 3000, '127.0.0.1');
        }
        void bootstrap();
      `,
    },
  };
};

/** All but the defaults, which `npm test` has. */
export const GROUPS = {
  'NestJS 11: builders': {
    template: 'nest11',
    packages: {
      '@swc/cli': '^0.8.0',
      '@swc/core': '^1.16.0',
      esbuild: '^0.28.0',
      'unplugin-swc': '^1.5.0',
      vitest: '^4.1.2',
    },
    setUps: [
      { name: 'swc', build: [nest('build', '-b', 'swc')] },
      { name: 'webpack, with packages left out', build: [nest('build', '--webpack')] },
      {
        name: 'webpack, with packages inside',
        files: { 'webpack.config.js': webpackConfig },
        build: [nest('build', '--webpack')],
      },
      {
        name: 'webpack, with packages inside as ES modules',
        files: {
          'webpack.config.js': webpackConfig,
          ...tsconfig({ module: 'esnext', moduleResolution: 'bundler' }),
        },
        build: [nest('build', '--webpack')],
      },
      esbuild('in one file', 'dist/bundle.cjs', { outfile: 'dist/bundle.cjs' }),
      {
        name: 'vitest',
        files: {
          'vitest.config.mjs': `
            import swc from 'unplugin-swc';
            export default { plugins: [swc.vite({ module: { type: 'es6' } })], test: { globals: true } };
          `,
        },
        test: ['vitest/vitest.mjs', 'run', 'src'],
      },
    ],
  },
  'NestJS 11: watched': {
    template: 'nest11',
    packages: { ...OBSERVE, '@sentry/nestjs': '^10.0.0' },
    setUps: [watched('NestJS Observe and Sentry')],
  },
  'NestJS 12: watched': { template: 'nest12', packages: OBSERVE, setUps: [watched('NestJS Observe')] },
  'NestJS 11: modules and versions of Node': {
    template: 'nest11',
    packages: { 'typescript5.7': 'npm:typescript@~5.7.0' },
    setUps: [
      // What they had before TypeScript 6, library checks included.
      ...['commonjs', 'node16', 'nodenext'].map((module) => ({
        name: `module: ${module}`,
        compilerOptions: {
          module,
          moduleResolution: module === 'commonjs' ? 'node10' : module,
          resolvePackageJsonExports: module === 'commonjs' ? undefined : true,
          skipLibCheck: false,
        },
        build: [tsc('typescript5.7')],
      })),
      {
        name: 'versions of Node',
        nodes: ['20.0.0', '20.18.0', '22.11.0', '22', '24'],
        tooOld: '18.15.0',
      },
    ],
  },
  'NestJS 11: Jest 29': {
    template: 'nest11',
    packages: { jest: '^29.7.0', '@types/jest': '^29.5.0' },
    setUps: [{ name: 'Jest 29' }],
  },
  'NestJS 12': {
    template: 'nest12',
    packages: { esbuild: '^0.28.0' },
    setUps: [
      esbuild('in chunks', 'dist/bundle/main.mjs', {
        format: 'esm',
        splitting: true,
        outdir: 'dist/bundle',
        outExtension: { '.js': '.mjs' },
        banner: {
          js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
        },
      }),
      { name: 'module: node16', compilerOptions: { module: 'node16', moduleResolution: 'node16' } },
      {
        name: 'moduleResolution: bundler',
        compilerOptions: { module: 'esnext', moduleResolution: 'bundler' },
      },
      { name: 'versions of Node', nodes: ['22', '24'] },
    ],
  },
} satisfies Record<string, Group>;
