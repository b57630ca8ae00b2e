import type { Clock, Timer } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';
import type { SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';

/**
 * How long a statement of a migration waits for locks, seconds: for as long everybody else who comes for the table waits behind it.
 * Of a granted one it is no limit.
 */
export const LOCK_WAIT = 2;
/** How long one may take as a whole until its connection is given up, ms: many times what it needs once it has its locks. */
export const TRY_LIMIT = 60_000;

/** The pauses after a try, in which the others get on, ms. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 10_000;
/** Several instances that start at once may make each other's statement fail, each at most once per statement. */
const REPEATS = 20;

/**
 * A migration of a table: tried until the table has what it lacks, or something other than the wait for a lock fails.
 *
 * In short tries with pauses, as one that waits for a lock stops everybody else on the table, ShedLocks too, for a transaction
 * that has done no more than read it. What is perhaps carried out (no answer) is seen by the look before the next try.
 */
export class Migration {
  /** What is missing; `undefined` as long as it is only looked. */
  missing: string | undefined;
  /** When it began. */
  readonly since: number;
  #lastFailure: unknown;
  #repeats = 0;
  #pause = FIRST_PAUSE;
  #over = false;
  #timer: Timer | undefined;
  #end: (error?: Error) => void = () => undefined;

  constructor(
    private readonly dialect: Pick<SqlDialect<unknown>, 'look' | 'migration' | 'migrate' | 'failure'>,
    private readonly clock: Clock,
  ) {
    this.since = clock.monotonic();
  }

  /** Fulfilled when nothing is missing, or nothing is to be done about it. Called once. */
  run(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#end = (error) => {
        this.#over = true;
        this.#timer?.cancel();
        if (error === undefined) resolve();
        else reject(error);
      };
      this.#tries().then(
        () => this.#end(),
        (error: Error) => this.#end(error),
      );
    });
  }

  /** Ends it: somebody has seen that it is done. A statement that is under way is not waited for. */
  finish(): void {
    this.#end();
  }

  /** Ends it, done or not. A statement that is under way ends by itself. */
  stop(): void {
    const what = this.missing === undefined ? '' : ` ${this.missing}`;
    const message = `The store was closed before its migration was done.${what}`;
    this.#end(new StoreUnavailableError(message, { outcome: 'not-applied' }));
  }

  /** How it stands, in sentences. */
  describe(): string {
    const seconds = Math.round((this.clock.monotonic() - this.since) / 1_000);
    const failed =
      this.#lastFailure === undefined
        ? ''
        : ` The last try was given up, and the next one follows: ${describeFailure(this.#lastFailure)}.`;
    return (
      `${this.missing} Its migration has been running for ${seconds} s, and no lock can be taken until it is done.${failed} ` +
      'It may be waiting for a transaction that uses the table.'
    );
  }

  async #tries(): Promise<void> {
    while (!this.#over) {
      // A migration that is not needed would wait for, and hold up, everybody who uses the table.
      const look = await this.dialect.look();
      if (!('missing' in look)) return;
      this.missing = look.missing;
      const error = await this.#try();
      const again = error === undefined ? undefined : this.dialect.failure(error);
      if (again === 'locked' || again === 'unknown') {
        this.#lastFailure = error;
        await this.#rest();
        continue;
      }
      // Another instance is doing the same at this moment: the next look may find it done.
      if (again !== undefined && again !== 'conflict') throw error;
      this.#repeats += 1;
      if (this.#repeats < REPEATS) continue;
      if (error !== undefined) throw error;
      return;
    }
  }

  /** Answers what it failed with. */
  async #try(): Promise<unknown> {
    try {
      for (const statement of this.dialect.migration()) {
        if (!this.#over) await this.dialect.migrate(statement);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** A longer one each time. Instances that start together do not come back together: one behind the other they would leave no gap. */
  async #rest(): Promise<void> {
    if (this.#over) return;
    const pause = this.#pause * (0.5 + Math.random() / 2);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    await new Promise<void>((resolve) => (this.#timer = this.clock.setTimer(resolve, pause)));
  }
}
