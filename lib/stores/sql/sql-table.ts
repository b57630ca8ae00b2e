import { type Clock, systemClock, type Timer } from '../../base/clock.js';
import { StoreUnavailableError } from '../../base/errors.js';
import type { Fault, MissingParts, SqlDialect, TableLook } from './dialect.js';
import { describeFailure } from './failure.js';
import { notAllowed, tableError, TableError } from './table-judgement.js';

/** How long a call waits for a migration, ms: less than its caller waits by default, so that the error can name the migration. */
const CALL_WAIT = 1_000;
/** The pauses between two tries of a migration, in which other users of the table can go on, ms. */
const FIRST_PAUSE = 1_000;
const MAX_RETRY_DELAY = 10_000;
/** Several instances that start at once may make each other's statement fail, each at most once per statement. */
const REPEATS = 20;
/** How often to check whether a migration has ended whose answer was lost with its connection, ms. */
const LOOK_EVERY = 10_000;
/** The delay of a timer that is cancelled before it fires, ms. */
const FOR_EVER = 30 * 86_400_000;

/**
 * What the store knows of its table, what calls do in that state, and which state comes next:
 *
 * - `unknown`: there was no look yet, or it failed. The next call begins a look: `looking`.
 * - `looking`: all calls wait for the look. A complete table is `ready`. If parts are missing that the store may
 *   create: `migrating`. After any other result, or an error, the calls fail, and say what to do: `unknown`.
 * - `migrating`: one try after another creates what is missing, until a look finds the table complete: `ready`. Calls wait a
 *   moment, then fail, and say how far the migration is. A lasting error, and `close()`, end the migration: `unknown`.
 * - `ready`: calls run their statements. If a statement misses a part of the table: `unknown`. `migrate()` looks again: `looking`, during
 *   which calls still run their statements until one misses something.
 */
type State<Table> = 'unknown' | Work<Table> | { readonly ready: Table };

/** A look, and the migration that may follow: `looking`, and `migrating` as soon as `missing` is set. */
interface Work<Table> {
  /** The table that calls use in the meantime. */
  ready: Table | undefined;
  readonly table: Promise<Table>;
  resolve(table: Table): void;
  reject(error: unknown): void;
  /** When the work began, monotonic. */
  readonly since: number;
  /** Whether to create what is missing. */
  create: boolean;
  missing?: MissingParts;
  /** Why the last try was given up. */
  failure?: unknown;
  pause?: Timer;
  /** When a call last checked whether the migration has ended, monotonic. */
  checkedAt: number;
}

/**
 * The table of a store. The store looks at its table once, and creates the table if it is missing and the store may.
 *
 * The store never creates its table anew. If the table vanishes under running instances, all live leases are forgotten: an empty table
 * would let other instances win while the holders still run. Without a table, no instance wins until a person decides.
 */
export class SqlTable<Table> {
  /** Work that is not the state any more is over. */
  #state: State<Table> = 'unknown';
  /** The last complete table. */
  #known: Table | undefined;
  /** The table for operations that only read, until a statement misses something. */
  #readable: Table | undefined;
  #closed = false;
  readonly #dialect: Pick<SqlDialect<Table>, 'look' | 'unwritable' | 'setup' | 'migrate' | 'failure'>;
  readonly #migrate: boolean;
  readonly #clock: Clock;

  constructor(dialect: SqlDialect<Table>, options: { migrate: boolean; clock?: Clock }) {
    this.#dialect = dialect;
    this.#migrate = options.migrate;
    this.#clock = options.clock ?? systemClock;
  }

  /** The table, if calls can use it. */
  get ready(): Table | undefined {
    return this.#state === 'unknown' ? undefined : this.#state.ready;
  }

  /** The last complete table, even if a part is missing by now: not all statements need every part. */
  get known(): Table | undefined {
    return this.#known;
  }

  /**
   * Resolves to the table when the state is `ready`. If the state is `unknown`, looks, and creates what is missing, unless the table was
   * complete before.
   *
   * @param limit how long to wait for a migration, ms; the migration goes on after that
   * @throws TableError if the table cannot be used
   * @throws StoreUnavailableError if the migration takes longer
   */
  async whenReady(limit: number = CALL_WAIT): Promise<Table> {
    if (this.ready !== undefined) return this.ready;
    const work = this.#work ?? this.#look(this.#migrate && this.#known === undefined && !this.#closed);
    return this.#waitFor(work, limit);
  }

  /**
   * The table for operations that only read: the user needs no right to write.
   *
   * @throws TableError if the table cannot be read
   */
  async whenReadable(): Promise<Table> {
    const found = this.ready ?? this.#readable;
    if (found !== undefined) return found;
    // The store may be about to create what is missing.
    if (this.#migrate)
      try {
        return await this.whenReady();
      } catch (error) {
        if (!(error instanceof TableError)) throw error;
      }
    const look = await this.#dialect.look();
    if ('table' in look) return (this.#readable = look.table);
    throw this.#errorOf(look);
  }

  /**
   * Looks again, and creates what is missing even if the option `migrate` is false. Waits as long as it takes.
   *
   * @throws TableError if the table still cannot be used
   * @throws StoreUnavailableError if the store is closed meanwhile
   */
  async migrate(): Promise<void> {
    const underWay = this.#work;
    // The look under way may never be answered, if its connection is gone.
    if (underWay !== undefined) this.#lookBeside(underWay);
    const work = underWay ?? this.#look(true);
    work.create = true;
    // The caller awaits the migration, so the process must not end in a pause between two tries.
    const awake = this.#clock.setTimer(() => undefined, FOR_EVER, { keepAlive: true });
    await work.table.finally(() => awake.cancel());
  }

  /** Call this when a statement has missed a part of the table: the next call looks again, and says what is missing. */
  forget(): void {
    this.#readable = undefined;
    const work = this.#work;
    if (work === undefined) this.#state = 'unknown';
    else work.ready = undefined;
  }

  /** Ends a migration, and lets no call begin another one. A statement that was sent ends by itself. */
  close(): void {
    this.#closed = true;
    const work = this.#work;
    if (!work?.create) return;
    const what = work.missing === undefined ? '' : ` ${work.missing.missing}`;
    const message = `The store was closed before its migration was done.${what}`;
    this.#fail(work, new StoreUnavailableError(message, { outcome: 'not-applied' }));
  }

  /** Undoes {@link close}. */
  open(): void {
    this.#closed = false;
  }

  /** What is under way: `looking` or `migrating`. */
  get #work(): Work<Table> | undefined {
    return typeof this.#state === 'object' && 'table' in this.#state ? this.#state : undefined;
  }

  #look(create: boolean): Work<Table> {
    const settle = {} as Pick<Work<Table>, 'resolve' | 'reject'>;
    const table = new Promise<Table>((resolve, reject) => Object.assign(settle, { resolve, reject }));
    const now = this.#clock.monotonic();
    const { ready } = this;
    const work: Work<Table> = { ...settle, table, ready, create, since: now, checkedAt: now };
    this.#state = work;
    void this.#run(work);
    return work;
  }

  /**
   * 1. Looks, and tries to create what is missing, until a look finds that nothing is missing.
   * 2. Tries are short, with pauses: a statement that waits for a lock stops all other users of the table, ShedLock too, even if it waits
   *    for a transaction that has only read.
   * 3. If a try had no answer, the next look shows whether the statement was carried out.
   */
  async #run(work: Work<Table>): Promise<void> {
    let [repeats, pause] = [0, FIRST_PAUSE];
    try {
      while (this.#state === work) {
        // A migration that is not needed would wait for all users of the table, and stop them.
        const look = await this.#lookToWrite();
        if ('table' in look) return this.#complete(work, look.table);
        if (!('missing' in look) || !work.create || repeats === REPEATS) throw this.#errorOf(look);
        work.missing = look;
        const error = await this.#try(work, look);
        const failure = error === undefined ? 'conflict' : this.#dialect.failure(error);
        if (failure === 'locked' || failure === 'unknown') {
          work.failure = error;
          await this.#pause(work, pause);
          pause = Math.min(pause * 2, MAX_RETRY_DELAY);
        } else {
          // After a conflict, the next look may find that another instance has done the same.
          repeats += 1;
          if (failure !== 'conflict' || (repeats === REPEATS && error !== undefined)) throw error;
        }
      }
    } catch (error) {
      const forbidden = !(error instanceof TableError) && this.#dialect.failure(error) === 'forbidden';
      this.#fail(work, forbidden ? notAllowed(work.missing, error, this.#setup(work.missing)) : error);
    }
  }

  /** Looks, and checks that the user may write the table. */
  async #lookToWrite(): Promise<TableLook<Table>> {
    const look = await this.#dialect.look();
    return 'table' in look ? ((await this.#dialect.unwritable()) ?? look) : look;
  }

  #errorOf(found: Fault): TableError {
    return tableError(found, this.#known !== undefined, this.#setup(found));
  }

  #setup(found: Fault | undefined): string {
    return this.#dialect.setup(found !== undefined && 'migration' in found ? found.migration : undefined);
  }

  /** Tries once. Resolves to the error, if there was one. */
  async #try(work: Work<Table>, { migration }: MissingParts): Promise<unknown> {
    try {
      for (const statement of migration) if (this.#state === work) await this.#dialect.migrate(statement);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** A part of the pause is random: instances that start together would otherwise try one right after the other, without a gap for other users. */
  async #pause(work: Work<Table>, longest: number): Promise<void> {
    if (this.#state !== work) return;
    const pause = longest * (0.5 + Math.random() / 2);
    await new Promise<void>((resolve) => (work.pause = this.#clock.setTimer(resolve, pause)));
  }

  #complete(work: Work<Table>, table: Table): void {
    if (this.#state !== work) return;
    this.#state = { ready: table };
    this.#known = table;
    work.pause?.cancel();
    work.resolve(table);
  }

  #fail(work: Work<Table>, error: unknown): void {
    if (this.#state !== work) return;
    this.#state = 'unknown';
    work.pause?.cancel();
    work.reject(error);
  }

  /** Waits for a look as long as it takes, for a migration only up to a limit. */
  #waitFor(work: Work<Table>, limit: number): Promise<Table> {
    return new Promise((resolve, reject) => {
      let timer: Timer | undefined;
      const check = (): void => {
        const left = limit - (this.#clock.monotonic() - work.since);
        if (left <= 0 && work.missing !== undefined) reject(this.#stillMigrating(work, work.missing));
        else timer = this.#clock.setTimer(check, left > 0 ? left : limit);
      };
      check();
      work.table.then(resolve, reject).finally(() => timer?.cancel());
    });
  }

  /** Looks whether the work under way is still needed. */
  #lookBeside(work: Work<Table>): void {
    this.#lookToWrite().then(
      (look) => 'table' in look && this.#complete(work, look.table),
      () => undefined,
    );
  }

  #stillMigrating(work: Work<Table>, { missing }: MissingParts): StoreUnavailableError {
    const now = this.#clock.monotonic();
    if (now - work.checkedAt >= LOOK_EVERY) {
      work.checkedAt = now;
      this.#lookBeside(work);
    }
    const seconds = Math.round((now - work.since) / 1_000);
    const failed =
      work.failure === undefined
        ? ''
        : ` The last try was given up, and the next one follows: ${describeFailure(work.failure)}.`;
    return new StoreUnavailableError(
      `${missing} Its migration has been running for ${seconds} s, and no lock can be taken until it is done.${failed} ` +
        'It may be waiting for a transaction that uses the table.',
      { outcome: 'not-applied' },
    );
  }
}
