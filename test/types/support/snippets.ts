import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot as root } from '../../support/machine.js';

// Inside the package, so that its own name resolves to what was built.
const folder = join(root, '.build/documents');
/** What snippets import of packages that this project need not install: the same in few words, where it does not. */
const neighbours: Record<string, string> = {
  '@nestjs/config': `
    export class ConfigModule { static forRoot(options: { isGlobal?: boolean }): import('@nestjs/common').DynamicModule }
    export class ConfigService { getOrThrow<T>(key: string): T }`,
  '@nestjs/mongoose': `
    export function getConnectionToken(): string;
    export class MongooseModule { static forRoot(uri: string, options?: object): import('@nestjs/common').DynamicModule }`,
  '@nestjs/typeorm': `
    export class TypeOrmModule { static forRoot(options: object): import('@nestjs/common').DynamicModule }`,
  typeorm: `
    export class DataSource { readonly driver: object; transaction<T>(work: (tx: EntityManager) => Promise<T>): Promise<T> }
    export class EntityManager { query(text: string, values?: unknown[]): Promise<unknown> }`,
  '@sentry/nestjs': `
    export function SentryCron(slug: string, config?: object): MethodDecorator;`,
};

const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter(
  (name) => name.endsWith('.md') && !name.startsWith('.'),
);
const documents = ['README.md', ...pages.map((name) => `docs/${name}`)];

/** The TypeScript blocks of a Markdown file. One that exports a class is imported under that class's name in kebab case. */
function snippets(file: string): Map<string, string> {
  const blocks = [...readFileSync(join(root, file), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(
    ([, text = '']) => text,
  );
  return new Map(
    blocks.map((text, index) => {
      const [, name = `Snippet${index + 1}`] = /^export class (\w+)/m.exec(text) ?? [];
      return [`${name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase()}.ts`, text];
    }),
  );
}

function writeNeighbours(): string {
  const path = join(folder, 'neighbours.d.ts');
  const missing = Object.entries(neighbours).filter(
    ([name]) => !existsSync(join(root, 'node_modules', name)),
  );
  writeFileSync(path, missing.map(([name, text]) => `declare module '${name}' {${text}\n}\n`).join(''));
  return path;
}

/** Writes the snippets of a document into a folder of their own, where they can import each other. */
function write(file: string): string[] {
  const own = join(folder, file.replaceAll('/', '-').replace('.md', ''));
  mkdirSync(own, { recursive: true });
  return [...snippets(file)].map(([name, text]) => {
    const path = join(own, name);
    writeFileSync(path, text);
    return path;
  });
}

/** Writes the TypeScript of the README and of the pages of `docs`. Returns the paths. */
export function writeSnippets(): string[] {
  rmSync(folder, { recursive: true, force: true });
  return [...documents.flatMap(write), writeNeighbours()];
}
