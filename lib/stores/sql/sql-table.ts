import { type Clock, systemClock } from '../../clock.js';
import type { SqlDialect } from './dialect.js';
import { Patience } from './patience.js';
import { TableCreation } from './table-creation.js';
import { tableOf } from './table-error.js';

/** How long a call waits for a migration, ms: less than a caller waits by default, so that its error can name the migration. */
const PATIENCE = 1_000;
/** The delay of a timer that is cancelled before it fires, ms. */
const FOR_EVER = 30 * 86_400_000;

/**
 * The table of a store: checked once, and created if it is missing and the store may create it.
 *
 * Never created anew: if the table vanishes under running instances, all live leases are forgotten. An empty table would let
 * other instances win while the holders still run. Without a table, no instance wins until a person decides.
 */
export class SqlTable<Table> {
  readonly #dialect: SqlDialect<Table>;
  readonly #migrate: boolean;
  readonly #clock: Clock;
  readonly #creation: TableCreation<Table>;
  readonly #patience: Patience<Table>;
  #pending: Promise<Table> | undefined;
  #ready: Table | undefined;
  #known: Table | undefined;
  #closed = false;

  constructor(dialect: SqlDialect<Table>, options: { migrate: boolean; clock?: Clock }) {
    this.#dialect = dialect;
    this.#migrate = options.migrate;
    this.#clock = options.clock ?? systemClock;
    const look = (): Promise<Table> => this.#look();
    this.#creation = new TableCreation(dialect, this.#clock, look);
    this.#patience = new Patience(this.#clock, this.#creation, look);
  }

  /** The statements, if the table was found complete. */
  get ready(): Table | undefined {
    return this.#ready;
  }

  /** The statements that were found last, even if something is missing by now: not all statements need it. */
  get known(): Table | undefined {
    return this.#known;
  }

  get #seen(): boolean {
    return this.#known !== undefined;
  }

  /**
   * The statements for the table. Looks at the table once: at the start, or when the database is first reached.
   *
   * @param patience how long to wait for a migration, ms; the migration goes on after that
   * @throws TableError if it cannot be used
   * @throws StoreUnavailableError if its migration takes longer
   */
  statements(patience: number = PATIENCE): Promise<Table> {
    const create = this.#migrate && !this.#seen && !this.#closed;
    this.#pending ??= this.#kept(create ? this.#creation.run() : this.#look());
    return this.#patience.wait(this.#pending, patience);
  }

  /**
   * Creates the table, or adds what is missing, whatever the option `migrate` says. Waits for a migration that is under way as
   * long as it takes.
   *
   * @throws TableError if the table cannot be used even so
   * @throws StoreUnavailableError if the store is closed meanwhile
   */
  async migrate(): Promise<void> {
    // The caller awaits the migration, so the process must not end in a pause between two tries.
    const awake = this.#clock.setTimer(() => undefined, FOR_EVER, { keepAlive: true });
    try {
      this.#pending = this.#kept(this.#creation.run());
      await this.#pending;
    } finally {
      awake.cancel();
    }
  }

  /** Begins no more migrations by itself, and ends the one that is under way. A statement of it that was sent ends by itself. */
  close(): void {
    this.#closed = true;
    this.#creation.stop();
  }

  /** Undoes {@link close}. */
  open(): void {
    this.#closed = false;
  }

  /** Makes the next call look at the table again, and report what is missing. */
  forget(): void {
    this.#pending = undefined;
    this.#ready = undefined;
  }

  #kept(statements: Promise<Table>): Promise<Table> {
    const kept = statements.then(
      (ready) => {
        this.#ready = ready;
        this.#known = ready;
        return ready;
      },
      (error: unknown) => {
        // Not if a later look or migration is under way, or has succeeded, by now.
        if (this.#pending === kept) this.forget();
        throw error;
      },
    );
    return kept;
  }

  async #look(): Promise<Table> {
    const look = await this.#dialect.look();
    // `#seen` is read after the look: another look may have found the table complete meanwhile.
    return tableOf(look, this.#seen);
  }
}
