/** A piece of SQL with the values of its `?`. */
export interface Sql {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * A template tag for SQL: values that are SQL become part of the text, all others become parameters. A value that is used
 * twice is sent twice, as `?` has no number.
 */
export const sql = (texts: TemplateStringsArray, ...given: readonly unknown[]): Sql =>
  joined(
    texts.flatMap((text, i) => (i < given.length ? [raw(text), given[i]] : [raw(text)])),
    '',
  );

/** SQL without values, as it is. */
export const raw = (text: string): Sql => ({ text, values: [] });

/** Values one after another. */
export function joined(all: readonly unknown[], between = ', '): Sql {
  const parts = all.map((value) => (isSql(value) ? value : { text: '?', values: [value] }));
  return { text: parts.map(({ text }) => text).join(between), values: parts.flatMap(({ values }) => values) };
}

/** A list of values in parentheses, for `IN`. */
export const list = (values: readonly unknown[]): Sql => sql`(${joined(values)})`;

const isSql = (value: unknown): value is Sql =>
  typeof value === 'object' && value !== null && 'text' in value && 'values' in value;
