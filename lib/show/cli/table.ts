import { inspect } from 'node:util';

/** A colour, or another look, of a terminal. */
export type Style = 'red' | 'yellow' | 'green' | 'cyan' | 'dim' | 'bold';

/** Shows a text in a style, or as it is where there are no colours. */
type Paint = (style: Style | undefined, text: string) => string;

export const plain: Paint = (_style, text) => text;

/** Not `util.styleText`: the first versions of Node.js 20 do not have it. */
export const coloured: Paint = (style, text) => {
  const [on, off] = (style && inspect.colors[style]) ?? [];
  return on === undefined || text === '' ? text : `\u001b[${on}m${text}\u001b[${off}m`;
};

export interface Cell {
  readonly text: string;
  readonly style?: Style | undefined;
}

/** How a table is shown. */
export interface Format {
  readonly paint: Paint;
  /** How wide the terminal is. Absent: there is none, and nothing is shortened. */
  readonly columns?: number | undefined;
}

const GAP = '  ';
/** The last column is never shorter than this: then lines break. */
const SHORTEST = 12;

/**
 * Shows rows below each other. Columns are as wide as they have to be; only the last one is shortened to fit the terminal. A column
 * without any content is left out.
 *
 * @param spare columns that a terminal which is too narrow does without, the first one first
 */
export function table(
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  look: Format,
  spare: readonly number[] = [],
): string[] {
  const clean = rows.map((row) => row.map((cell) => ({ ...cell, text: printable(cell.text) })));
  const all = [heads.map((text): Cell => ({ text, style: 'dim' })), ...clean];
  const widthOfColumn = (index: number): number =>
    Math.max(...all.map((row) => widthOf(row[index]?.text ?? '')));
  const last = heads.length - 1;
  const fixedOf = (columns: readonly number[]): number =>
    columns.reduce((sum, index) => sum + (index === last ? 0 : widthOfColumn(index) + GAP.length), 0);
  const { columns: room = Infinity } = look;
  let shown = [...heads.keys()].filter((index) => clean.some((row) => (row[index]?.text ?? '') !== ''));
  for (const index of spare)
    if (fixedOf(shown) + SHORTEST > room) shown = shown.filter((column) => column !== index);
  const lines = all.map((row) => shown.map((index): Cell => row[index] ?? { text: '' }));
  const widths = shown.map(widthOfColumn);
  const ofLast = shown.at(-1) === last ? Math.max(SHORTEST, room - fixedOf(shown)) : Infinity;
  return lines.map((line) =>
    line
      .map(({ text, style }, index) =>
        index === line.length - 1
          ? look.paint(style, shortened(text, ofLast))
          : look.paint(style, text) + ' '.repeat((widths[index] ?? 0) - widthOf(text)),
      )
      .join(GAP)
      .trimEnd(),
  );
}

/** A text without what would move the cursor, turn the direction of the text, or break the line. */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');

const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/u;
const NO_WIDTH = /[\p{Mn}\p{Me}]/u;

/** How many columns a text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

function columnsOf(character: string): number {
  if (WIDE.test(character)) return 2;
  return NO_WIDTH.test(character) ? 0 : 1;
}

/** A text that takes no more columns than there are. */
export function shortened(text: string, room: number): string {
  if (widthOf(text) <= room) return text;
  let [width, kept] = [1, ''];
  for (const character of text) {
    width += columnsOf(character);
    if (width > room) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}
