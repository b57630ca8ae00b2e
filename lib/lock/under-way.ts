/** Counts what is under way, and lets others wait for its end. */
export class UnderWay {
  #count = 0;
  #idle: Promise<void> | undefined;
  #wake: (() => void) | undefined;

  get count(): number {
    return this.#count;
  }

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    this.#wake?.();
    this.#idle = this.#wake = undefined;
  }

  /** Resolves when nothing is under way. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return (this.#idle ??= new Promise((resolve) => (this.#wake = resolve)));
  }
}
