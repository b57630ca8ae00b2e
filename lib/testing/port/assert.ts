/** Fails the case with a plain error, so that the suite needs no test runner of its own. */
export function check(condition: boolean, message: string | (() => string)): asserts condition {
  if (!condition) throw new Error(typeof message === 'string' ? message : message());
}

/**
 * Compares the fields of `expected`. `actual` may have more: the results of the contract may grow.
 *
 * @param what the call that answered, as the beginning of a sentence: "the second release"
 */
export function answers(actual: object, expected: Readonly<Record<string, unknown>>, what: string): void {
  const fields = actual as Readonly<Record<string, unknown>>;
  const differs = Object.keys(expected).some((key) => !Object.is(fields[key], expected[key]));
  check(!differs, () => `${what} should answer ${show(expected)}, but answered ${show(actual)}`);
}

/** A value as text. Errors, which JSON shows as `{}`, show their message. */
export function show(value: unknown): string {
  // `toJSON()` of an error comes before the replacer gets it.
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key, item: unknown) {
    return this[key] instanceof Error ? String(this[key]) : item;
  });
  return (text ?? String(value)).replaceAll('"', "'");
}

/** The error that `call` rejects with. */
export async function rejection(call: Promise<unknown>, what: string): Promise<unknown> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome) return outcome.error;
  throw new Error(`${what} should reject, but answered ${show(outcome.value)}`);
}
