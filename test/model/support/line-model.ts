/** A call, and its priority. */
export interface ModelCall {
  readonly id: number;
  readonly priority: number;
  /** Its place, if it takes one that is there already; otherwise its place is behind those of its priority. */
  readonly order?: number;
}

/** Where something stands among all that wait for a lock. */
export type ModelPlace = Required<Omit<ModelCall, 'id'>>;

/** Greater priority first, then who came first. */
export const byPlace = (one: ModelPlace, other: ModelPlace): number =>
  other.priority - one.priority || one.order - other.order;

/** What rules 10 to 14 say of one lock and the calls that wait for it, each of them in a process of its own. */
export class LineModel {
  #line: (ModelPlace & { readonly id: number })[] = [];
  /** In which order each call came first. */
  readonly #orders = new Map<number, number>();
  #holder: number | 'other' | undefined;
  #called: number | undefined;
  #came = 0;

  /** The order of whatever comes next. */
  next(): number {
    return ++this.#came;
  }

  get isHeld(): boolean {
    return this.#holder !== undefined;
  }

  /** Who is called. */
  get called(): number | undefined {
    return this.#called;
  }

  get first(): ModelPlace | undefined {
    return this.#line[0];
  }

  /** A call that waits asks: `true` if it is granted the lock, otherwise how many stand before it. */
  ask(call: ModelCall): boolean | number {
    if (this.#holder === call.id) return true;
    this.#enter(call);
    if (this.#holder === undefined) {
      this.#call();
      if (this.#called === call.id) return this.#grant(call.id);
    }
    return this.#line.findIndex(({ id }) => id === call.id);
  }

  /** A call that does not wait asks: whether it is granted the lock. */
  askOnce(): boolean {
    if (this.#holder !== undefined) return false;
    this.#call();
    return this.#called === undefined && this.#grant('other');
  }

  leave(id: number): void {
    this.#orders.delete(id);
    this.#remove(id);
    if (this.#holder === id) this.release();
    if (this.#called !== id) return;
    this.#called = undefined;
    this.#call();
  }

  release(): void {
    this.#holder = undefined;
    this.#call();
  }

  /** The lease ends by itself. Nobody is called before somebody looks. Returns whether there is a lease. */
  expire(): boolean {
    const isHeld = this.#holder !== undefined;
    this.#holder = undefined;
    return isHeld;
  }

  /** The one that is called does not come in time. Returns whether there is one. */
  pass(): boolean {
    if (this.#called === undefined) return false;
    this.#remove(this.#called);
    this.#called = undefined;
    return true;
  }

  #enter({ id, priority, order: given }: ModelCall): void {
    const order = this.#orders.get(id) ?? given ?? this.next();
    this.#orders.set(id, order);
    this.#remove(id);
    this.#line.push({ id, priority, order });
    this.#line.sort(byPlace);
  }

  #remove(id: number): void {
    this.#line = this.#line.filter((one) => one.id !== id);
  }

  /** The lock is free: calls the first in line, unless one is called. */
  #call(): void {
    this.#called ??= this.#line[0]?.id;
  }

  #grant(holder: number | 'other'): true {
    if (holder !== 'other') {
      this.#remove(holder);
      this.#orders.delete(holder);
    }
    this.#called = undefined;
    this.#holder = holder;
    return true;
  }
}
