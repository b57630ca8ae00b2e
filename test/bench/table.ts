/** One line of the result. */
export interface Row {
  readonly case: string;
  readonly ours: string;
  /** The reference for ours: raw ioredis, an idle process, the same app without locks. */
  readonly reference: string;
  readonly redlock: string;
  readonly semaphore: string;
  readonly target: string;
  /** `undefined` if there is no target. */
  readonly met: boolean | undefined;
}

const HEADINGS = ['case', 'ours', 'raw / limit', 'redlock', 'redis-semaphore', 'target', 'met'];

/** A Markdown table, its columns padded so that it is readable as it is. */
export function markdownTable(rows: readonly Row[]): string {
  const cells = rows.map((row) => [
    row.case,
    row.ours,
    row.reference,
    row.redlock,
    row.semaphore,
    row.target,
    row.met === undefined ? '' : row.met ? 'yes' : '**no**',
  ]);
  const all = [HEADINGS, ...cells].map((line) => line.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = HEADINGS.map((_, column) => Math.max(3, ...all.map((line) => line[column]?.length ?? 0)));
  const print = (line: readonly string[]): string =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [headings = [], ...body] = all;
  return [print(headings), print(widths.map((width) => '-'.repeat(width))), ...body.map(print)].join('\n');
}
