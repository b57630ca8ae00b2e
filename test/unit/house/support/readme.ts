import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../../support/project.js';

/**
 * The first table below a heading of the README.
 *
 * @returns a record of cells for each row, by the words of the table's head, code ticks left out
 */
export function readmeTable(heading: string): Record<string, string>[] {
  const text = readFileSync(join(projectRoot, 'README.md'), 'utf8');
  const [, section] = text.split(new RegExp(`^#+ ${heading}$`, 'm'));
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
