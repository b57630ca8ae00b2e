/** A piece of SQL with the values of its `?`. */
export interface Sql {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * SQL with values in their places: those that are SQL themselves become part of the text, everything else a parameter. What
 * is used more than once has to be sent more than once, as `?` has no number.
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

/** A list of values in parentheses, for `IN`. */
export function list(values: readonly unknown[]): Sql {
  return { text: `(${values.map(() => '?').join(', ')})`, values };
}

function isSql(value: unknown): value is Sql {
  return typeof value === 'object' && value !== null && 'text' in value && 'values' in value;
}
