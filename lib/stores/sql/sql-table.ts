import { type Clock, systemClock } from '../../clock.js';
import type { SqlDialect } from './dialect.js';
import { Patience } from './patience.js';
import { TableCreation } from './table-creation.js';
import { statementsOf } from './table-error.js';

/** How long a call waits for a migration, ms: less than a caller waits by default, so that it is told what it waits for. */
const PATIENCE = 1_000;
/** Of a timer that is cancelled, ms. */
const FOR_EVER = 30 * 86_400_000;

/**
 * The table of a store: looked at once, and made if it is not there and the store may.
 *
 * Never made anew: with a table that vanishes under running instances all leases that live are forgotten. An empty one in its
 * place would let others win while the holders still run; without one nobody wins until somebody decides.
 */
export class SqlTable<S> {
  readonly #dialect: SqlDialect<S>;
  readonly #migrate: boolean;
  readonly #clock: Clock;
  readonly #creation: TableCreation<S>;
  readonly #patience: Patience<S>;
  #pending: Promise<S> | undefined;
  #ready: S | undefined;
  #known: S | undefined;
  #closed = false;

  constructor(dialect: SqlDialect<S>, options: { migrate: boolean; clock?: Clock }) {
    this.#dialect = dialect;
    this.#migrate = options.migrate;
    this.#clock = options.clock ?? systemClock;
    const look = (): Promise<S> => this.#look();
    this.#creation = new TableCreation(dialect, this.#clock, look);
    this.#patience = new Patience(this.#clock, this.#creation, look);
  }

  /** The statements, if the table has been looked at. */
  get ready(): S | undefined {
    return this.#ready;
  }

  /** The statements that were found last, also if something is missing by now: not all of them need it. */
  get known(): S | undefined {
    return this.#known;
  }

  get #seen(): boolean {
    return this.#known !== undefined;
  }

  /**
   * The statements for the table, which has been looked at once: at the start, or when the database is first reached.
   *
   * @param patience how long to wait for a migration, ms; it goes on even so
   * @throws TableError if it cannot be used
   * @throws StoreUnavailableError if its migration takes longer
   */
  statements(patience: number = PATIENCE): Promise<S> {
    const create = this.#migrate && !this.#seen && !this.#closed;
    this.#pending ??= this.#kept(create ? this.#creation.run() : this.#look());
    return this.#patience.wait(this.#pending, patience);
  }

  /**
   * Creates the table, or adds what is missing, whether the store is to do so by itself or not. It waits for a migration that is
   * under way, for as long as that takes.
   *
   * @throws TableError if it cannot be used even so
   * @throws StoreUnavailableError if the store is closed meanwhile
   */
  async migrate(): Promise<void> {
    // Somebody waits for it, so the process is not to end in a pause between two tries.
    const awake = this.#clock.setTimer(() => undefined, FOR_EVER, { keepAlive: true });
    try {
      this.#pending = this.#kept(this.#creation.run());
      await this.#pending;
    } finally {
      awake.cancel();
    }
  }

  /** Begins no more migrations by itself, and ends the one that is under way; a statement of it that was sent ends by itself. */
  close(): void {
    this.#closed = true;
    this.#creation.stop();
  }

  /** Takes back {@link close}. */
  open(): void {
    this.#closed = false;
  }

  /** The next call looks at the table again, and says what is missing. */
  forget(): void {
    this.#pending = undefined;
    this.#ready = undefined;
  }

  #kept(statements: Promise<S>): Promise<S> {
    const kept = statements.then(
      (ready) => {
        this.#ready = ready;
        this.#known = ready;
        return ready;
      },
      (error: unknown) => {
        // Nobody has found out meanwhile that the table is there all the same.
        if (this.#pending === kept) this.forget();
        throw error;
      },
    );
    return kept;
  }

  async #look(): Promise<S> {
    const look = await this.#dialect.look();
    // Asked afterwards: another look may have found it complete meanwhile.
    return statementsOf(look, this.#dialect, this.#seen);
  }
}
