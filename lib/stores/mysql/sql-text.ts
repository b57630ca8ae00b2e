/** A piece of SQL with the values of its `?`. */
export interface Sql {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * A template tag for SQL: values that are SQL become part of the text, all others become parameters. A value that is used
 * twice is sent twice, as `?` has no number.
 */
export function sql(texts: TemplateStringsArray, ...given: readonly unknown[]): Sql {
  const all = { text: texts[0] ?? '', values: [] };
  // Each statement of a lock comes here some ten times.
  for (let i = 0; i < given.length; i++) append(all, given[i], texts[i + 1]);
  return all;
}

/** SQL without values, as it is. */
export const raw = (text: string): Sql => ({ text, values: [] });

/** Values one after another. */
export function joined(given: readonly unknown[], between = ', '): Sql {
  const all = { text: '', values: [] };
  for (let i = 0; i < given.length; i++) append(all, given[i], i < given.length - 1 ? between : '');
  return all;
}

function append(all: { text: string; values: unknown[] }, value: unknown, text = ''): void {
  if (isSql(value)) for (const each of value.values) all.values.push(each);
  else all.values.push(value);
  all.text += (isSql(value) ? value.text : '?') + text;
}

/** A list of values in parentheses, for `IN`. */
export const list = (values: readonly unknown[]): Sql => sql`(${joined(values)})`;

const isSql = (value: unknown): value is Sql =>
  typeof value === 'object' && value !== null && 'text' in value && 'values' in value;
