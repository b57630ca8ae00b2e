/** @throws if a store answers something else than its model */
export function same(what: string, got: unknown, expected: unknown): void {
  const [own, model] = [JSON.stringify(got), JSON.stringify(expected)];
  if (own !== model) throw new Error(`${what}: expected ${model}, but got ${own}`);
}

/** JSON for comparisons: a store may keep fields in another order. */
export const sorted = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) =>
    item !== null && typeof item === 'object' && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
