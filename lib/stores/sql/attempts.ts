import { atEndOfTurn } from '../../clock.js';
import type { AcquireRequest, AcquireResult } from '../lock-store.js';
import { refusalByRow } from './answers.js';
import type { LockRow } from './lock-row.js';

/** The most attempts for one look. */
const MAX_LOOK = 250;

/** An attempt, and its caller. */
interface Attempt {
  readonly request: AcquireRequest;
  resolve(result: AcquireResult | Promise<AcquireResult>): void;
  reject(error: unknown): void;
}

/**
 * Attempts of one turn of the event loop look at their rows together. The jobs of the same second have a timer each, and all of these
 * fire in one turn. At the full hour every instance of a fleet tries to take the locks of all its jobs, and nearly all attempts are
 * refused: by one statement, which locks no row. The others go on by a statement each.
 */
export class Attempts {
  #waiting: Attempt[] = [];

  /**
   * @param look reads the rows of these locks
   * @param attempt makes one attempt by itself
   */
  constructor(
    private readonly look: (names: readonly [string, ...string[]]) => Promise<readonly LockRow[]>,
    private readonly attempt: (request: AcquireRequest) => Promise<AcquireResult>,
  ) {}

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ request, resolve, reject }) === 1) atEndOfTurn(this.#send);
    });
  }

  readonly #send = (): void => {
    const attempts = this.#waiting;
    this.#waiting = [];
    for (let i = 0; i < attempts.length; i += MAX_LOOK) void this.#judge(attempts.slice(i, i + MAX_LOOK));
  };

  async #judge(attempts: readonly Attempt[]): Promise<void> {
    const [first, ...others] = attempts.map(({ request }) => request.name);
    try {
      const rows = first === undefined || others.length === 0 ? [] : await this.look([first, ...others]);
      const byName = new Map(rows.map((row) => [row.name, row]));
      for (const { request, resolve } of attempts) {
        const row = byName.get(request.name);
        resolve((row && refusalByRow(request, row)) ?? this.attempt(request));
      }
    } catch (error) {
      for (const { reject } of attempts) reject(error);
    }
  }
}
