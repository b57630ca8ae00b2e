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
  let text = texts[0] ?? '';
  const values: unknown[] = [];
  for (const [i, value] of given.entries()) {
    if (isSql(value)) {
      text += value.text;
      values.push(...value.values);
    } else {
      text += '?';
      values.push(value);
    }
    text += texts[i + 1] ?? '';
  }
  return { text, values };
}

/** SQL without values, as it is. */
export function raw(text: string): Sql {
  return { text, values: [] };
}

/** Values one after another. */
export function joined(all: readonly unknown[], between = ', '): Sql {
  const values: unknown[] = [];
  const texts = all.map((value) => {
    if (!isSql(value)) return (values.push(value), '?');
    values.push(...value.values);
    return value.text;
  });
  return { text: texts.join(between), values };
}

/** A list of values in parentheses, for `IN`. */
export function list(values: readonly unknown[]): Sql {
  return { text: `(${values.map(() => '?').join(', ')})`, values };
}

function isSql(value: unknown): value is Sql {
  return typeof value === 'object' && value !== null && 'text' in value && 'values' in value;
}
