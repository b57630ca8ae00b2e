import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../../support/machine.js';

/** Leads to every page. */
export const INDEX = 'docs/README.md';

/** The pages of `docs/`, as paths from the root. */
export const PAGES = readdirSync(join(projectRoot, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md') && !name.startsWith('.'))
  .map((name) => `docs/${name}`)
  .filter((page) => page !== INDEX);

/** What is written for users, and travels with the package. */
export const DOCUMENTS = ['README.md', 'SECURITY.md', INDEX, ...PAGES];

export const textOf = (file: string): string => readFileSync(join(projectRoot, file), 'utf8');

/** Without blocks of code: in them a `#` is no heading and a bracket no link. */
const proseOf = (file: string): string => textOf(file).replaceAll(/^```.*?^```$/gms, '');

/**
 * The first table below a heading of a document.
 *
 * @returns a record of cells for each row, by the words of the table's head, code ticks left out
 */
export function tableOf(file: string, heading: string): Record<string, string>[] {
  const [, section] = textOf(file).split(new RegExp(`^#+ ${heading}$`, 'm'));
  const lines =
    /(?:^\|.*\n)+/m
      .exec(section?.split(/^#+ /m)[0] ?? '')?.[0]
      .trim()
      .split('\n') ?? [];
  const [head = [], , ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
  return rows.map((cells) => Object.fromEntries(head.map((word, index) => [word, cells[index] ?? ''])));
}

/** Where the links of a document lead: `docs/stores/redis.md#the-keys`, a path from its own folder, or a URL. */
export const linksOf = (file: string): string[] =>
  [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);

/** What a link to a heading of a document has behind the `#`, in the way of GitHub. */
export const anchorsOf = (file: string): string[] =>
  [...proseOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** The tests that a document names: a file, and after a colon names in quotation marks. */
export const proofsOf = (file: string): { spec: string; names: string[] }[] =>
  [
    ...proseOf(file)
      .replaceAll(/\s+/g, ' ')
      .matchAll(/`(test\/[^`]+\.ts)`(?:: ((?:"[^"]+"(?:, )?)+))?/g),
  ].map(([, spec = '', names = '']) => ({
    spec,
    names: [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name),
  }));
