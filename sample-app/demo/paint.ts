const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 } as const;

export type Style = keyof typeof CODES;

/** Colours only for a person at a terminal who wants them (https://no-color.org). */
const coloured = process.stdout.isTTY === true && !process.env['NO_COLOR'];

export function paint(text: string, ...styles: Style[]): string {
  if (!coloured || styles.length === 0 || text === '') return text;
  return `\u001b[${styles.map((style) => CODES[style]).join(';')}m${text}\u001b[0m`;
}
