import { LockStateError, StoreUnavailableError } from '../../base/errors.js';
import type { Caller } from '../../contract/fast-port.js';
import type { Limited, TimeLimits } from './time-limits.js';

/** How a call has ended. */
export type Outcome<T> = { readonly result: T } | { readonly error: Error };

/** Whether a call that failed has certainly changed nothing. */
export function wasNotApplied(error: Error): boolean {
  return (
    error instanceof LockStateError ||
    (error instanceof StoreUnavailableError && error.outcome === 'not-applied')
  );
}

/** A call of the store that is under way. */
export class Asked<T> implements Caller<T>, Limited {
  /** Resolves when the call has ended, or is given up. Never rejects. */
  readonly outcome: Promise<Outcome<T>>;
  /** Whether the call has taken longer than its limit. It may be answered after all. */
  givenUp = false;
  index = 0;
  #end!: (outcome: Outcome<T>) => void;
  #late: ((outcome: Outcome<T>) => void) | undefined;
  /** What came after it was given up, before anybody listened. */
  #unheard: Outcome<T> | undefined;

  constructor(
    private readonly limits: TimeLimits,
    readonly limit: number,
    readonly sentAt: number,
  ) {
    this.outcome = new Promise((resolve) => (this.#end = resolve));
    limits.add(this);
  }

  /** From now on `late` receives the outcome if the call was given up. */
  listen(late: (outcome: Outcome<T>) => void): void {
    if (this.#unheard === undefined) this.#late = late;
    else late(this.#unheard);
  }

  answered(result: T): void {
    this.#ended({ result });
  }

  failed(error: Error): void {
    this.#ended({ error });
  }

  giveUp(error: Error): void {
    this.givenUp = true;
    this.limits.onSilence?.(this.limit);
    this.#end({ error });
  }

  #ended(outcome: Outcome<T>): void {
    if (this.givenUp) {
      if (this.#late === undefined) this.#unheard = outcome;
      return this.#late?.(outcome);
    }
    this.limits.delete(this);
    this.#end(outcome);
  }
}
