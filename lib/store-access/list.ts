/** An item of a {@link List}. It is in one list at most. */
export interface Listed<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * Items in the order of their arrival. A `Set` would do, but one that shrinks and grows with each run leaves tables
 * behind that survive many garbage collections.
 */
export class List<T extends Listed<T>> {
  #first: T | undefined;
  #last: T | undefined;

  get first(): T | undefined {
    return this.#first;
  }

  /** @param item is in no list */
  add(item: T): void {
    item.previous = this.#last;
    if (this.#last === undefined) this.#first = item;
    else this.#last.next = item;
    this.#last = item;
  }

  /**
   * @param item is in this list or in none
   * @returns whether it was there
   */
  delete(item: T): boolean {
    const { previous, next } = item;
    if (previous === undefined && this.#first !== item) return false;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    // A removed item that still points to others keeps them from being collected.
    item.previous = undefined;
    item.next = undefined;
    return true;
  }

  /** A snapshot of all items. */
  toArray(): T[] {
    const items: T[] = [];
    for (let item = this.#first; item !== undefined; item = item.next) items.push(item);
    return items;
  }
}
