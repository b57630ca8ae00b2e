import type { Clock, Timer } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';
import type { MissingParts, SqlDialect } from './dialect.js';
import { describeFailure } from './failure.js';

/**
 * How long a statement of a migration waits for locks, seconds. For that time all other users of the table wait behind it. No limit
 * once it has its locks.
 */
export const LOCK_WAIT = 2;
/**
 * How long a statement may take as a whole until its connection is given up, ms: many times what it needs once it has its locks.
 */
export const TRY_LIMIT = 60_000;

/** The pauses after a try, in which other users of the table get on, ms. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 10_000;
/** Several instances that start at once may make each other's statement fail, each at most once per statement. */
const REPEATS = 20;

/**
 * A migration of a table: tried until the table is complete, or until a try fails for a reason that does not pass by itself.
 *
 * In short tries with pauses: a statement that waits for a lock stops all other users of the table, ShedLock too, even if a
 * transaction has only read it. If a try had no answer, the look before the next try shows whether it was carried out.
 */
export class Migration {
  /** What the table lacks; `undefined` as long as the migration only looks. */
  missing: MissingParts | undefined;
  /** When the migration began, monotonic. */
  readonly since: number;
  #lastFailure: unknown;
  #repeats = 0;
  #pause = FIRST_PAUSE;
  #over = false;
  #timer: Timer | undefined;
  #end: (error?: Error) => void = () => undefined;

  constructor(
    private readonly dialect: Pick<SqlDialect<unknown>, 'look' | 'migrate' | 'failure'>,
    private readonly clock: Clock,
  ) {
    this.since = clock.monotonic();
  }

  /** Runs the tries. Resolves when a look finds nothing missing, or a migration cannot help. Called once. */
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

  /** Ends the migration: another look has shown that it is done. Does not wait for a statement that is under way. */
  finish(): void {
    this.#end();
  }

  /** Ends the migration, done or not. A statement that is under way ends by itself. */
  stop(): void {
    const what = this.missing === undefined ? '' : ` ${this.missing.missing}`;
    const message = `The store was closed before its migration was done.${what}`;
    this.#end(new StoreUnavailableError(message, { outcome: 'not-applied' }));
  }

  /** The state of the migration, in sentences. */
  describe(): string {
    const seconds = Math.round((this.clock.monotonic() - this.since) / 1_000);
    const failed =
      this.#lastFailure === undefined
        ? ''
        : ` The last try was given up, and the next one follows: ${describeFailure(this.#lastFailure)}.`;
    return (
      `${this.missing?.missing} Its migration has been running for ${seconds} s, and no lock can be taken until it is done.${failed} ` +
      'It may be waiting for a transaction that uses the table.'
    );
  }

  async #tries(): Promise<void> {
    while (!this.#over) {
      // An unneeded migration would wait for, and hold up, all users of the table.
      const look = await this.dialect.look();
      if (!('missing' in look)) return;
      this.missing = look;
      const error = await this.#try(look);
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

  /** Resolves to the error with which it failed. */
  async #try({ migration }: MissingParts): Promise<unknown> {
    try {
      for (const statement of migration) {
        if (!this.#over) await this.dialect.migrate(statement);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /**
   * Pauses, longer each time. With a random part: instances that start together must not try one right after the other, or they
   * would leave no gap for others.
   */
  async #rest(): Promise<void> {
    if (this.#over) return;
    const pause = this.#pause * (0.5 + Math.random() / 2);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    await new Promise<void>((resolve) => (this.#timer = this.clock.setTimer(resolve, pause)));
  }
}
