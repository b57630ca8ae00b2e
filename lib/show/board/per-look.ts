/** Keeps what was made of an answer of the store, for all who ask the same, until there is a newer answer. */
export class PerLook<T> {
  readonly #made = new WeakMap<object, Map<string, T>>();

  /** @param most how many are kept: then the one that nobody has asked for longest is made anew when somebody does */
  constructor(private readonly most: number) {}

  /** @param key what it depends on besides the answer of the store */
  of(looked: object, key: readonly unknown[], make: () => T): T {
    const made = this.#made.get(looked) ?? new Map<string, T>();
    this.#made.set(looked, made);
    const name = JSON.stringify(key);
    const found = made.get(name) ?? make();
    made.delete(name);
    made.set(name, found);
    const [oldest] = made.keys();
    if (made.size > this.most && oldest !== undefined) made.delete(oldest);
    return found;
  }

  /** It is made anew when somebody asks again. */
  forget(looked: object, key: readonly unknown[]): void {
    this.#made.get(looked)?.delete(JSON.stringify(key));
  }
}
