import { atEndOfTurn } from '../../clock.js';
import { StoreUnavailableError } from '../../errors.js';
import type { Told } from '../fast-port.js';
import { isWaiting } from '../line.js';
import type { AcquireRequest, AcquireResult } from '../lock-store.js';
import { refusalByRow } from './answers.js';
import { refusalInLine } from './lines.js';
import type { LockRow } from './lock-row.js';
import { Patience } from './patience.js';

/** How many rows are read at a time. */
const MOST_ROWS = 250;
/** How many attempts are sent at a time: a pool of `pg` or `mysql2` has this many connections by default. */
const AT_ONCE = 10;
/** Throws if an attempt is not worth its next statement. */
export type GoOn = () => void;

/** An attempt, and its caller. */
interface Attempt {
  readonly request: AcquireRequest;
  readonly told: Told<AcquireResult>;
}

/**
 * Attempts of one turn of the event loop read their rows together. The jobs of the same second have a timer each, and all of these timers
 * fire in one turn. At the full hour, every instance of a fleet tries to take the locks of all its jobs, and nearly all attempts are
 * refused. So:
 *
 * 1. One statement, which locks no row, reads the rows of many attempts, and refuses most of them.
 * 2. Each other attempt is a statement of its own. A few are sent at a time.
 * 3. If one of these did not take its lock, or took long, other instances are taking locks as well: then the rows of the rest are read again.
 * 4. Each instance begins with a random attempt, so that instances seldom want the same lock at a time, and share the jobs.
 * 5. An attempt whose caller has given up is not sent: nobody would use its lease.
 */
export class Attempts {
  #waiting: Attempt[] = [];
  readonly #patience = new Patience();

  /**
   * @param read reads the rows of these locks
   * @param attempt makes one attempt by itself; calls `goOn` before it writes
   */
  constructor(
    private readonly read: (names: readonly [string, ...string[]]) => Promise<readonly LockRow[]>,
    private readonly attempt: (request: AcquireRequest, goOn: GoOn) => Promise<AcquireResult>,
  ) {}

  acquire(request: AcquireRequest, told: Told<AcquireResult>): void {
    if (this.#waiting.push({ request, told }) === 1) atEndOfTurn(this.#send);
  }

  readonly #send = (): void => {
    const attempts = this.#waiting;
    this.#waiting = [];
    for (let i = 0; i < attempts.length; i += MOST_ROWS) void this.#judge(attempts.slice(i, i + MOST_ROWS));
  };

  async #judge(attempts: readonly Attempt[]): Promise<void> {
    const first = Math.floor(Math.random() * attempts.length);
    const volley = new Volley([...attempts.slice(first), ...attempts.slice(0, first)]);
    let alone = false;
    try {
      while (volley.isOpen) {
        if (!alone) await this.#withoutRefused(volley);
        alone = await this.#take(volley.next(AT_ONCE));
      }
    } catch (error) {
      volley.failed(error as Error);
    }
  }

  /** Reads the rows of attempts, and refuses those that cannot succeed. A late answer still refuses attempts that were not sent by then. */
  async #withoutRefused(volley: Volley): Promise<void> {
    const [first, ...others] = volley.names();
    if (first === undefined || others.length === 0) return;
    volley.reading ??= this.#patience
      .measured(this.read([first, ...others]))
      .then((rows) => volley.refuse(rows))
      .finally(() => (volley.reading = undefined));
    await this.#patience.inTime(volley.reading, undefined);
  }

  /** Sends attempts, each by itself. Returns whether all are known to have succeeded. */
  async #take(attempts: readonly Attempt[]): Promise<boolean> {
    const taken = attempts.map(async ({ request, told }) => {
      let result: AcquireResult;
      try {
        result = await this.#patience.measured(this.attempt(request, () => goOnFor(told)));
      } catch (error) {
        told.failed(error as Error);
        return false;
      }
      told.answered(result);
      return result.acquired;
    });
    return (await this.#patience.inTime(Promise.all(taken), [false])).every(Boolean);
  }
}

/** The attempts of one turn of the event loop that are not sent yet. */
class Volley {
  /** The read that is under way. */
  reading: Promise<void> | undefined;

  constructor(private left: Attempt[]) {}

  /** Whether attempts are left. Leaves out those whose callers have given up. */
  get isOpen(): boolean {
    this.left = this.left.filter(isWanted);
    return this.left.length > 0;
  }

  names(): string[] {
    return this.left.map(({ request }) => request.name);
  }

  /** The next ones to send. */
  next(count: number): Attempt[] {
    this.left = this.left.filter(isWanted);
    return this.left.splice(0, count);
  }

  refuse(rows: readonly LockRow[]): void {
    const byName = new Map(rows.map((row) => [row.name, row]));
    this.left = this.left.filter(({ request, told }) => {
      const row = byName.get(request.name);
      const refusal = row && (isWaiting(request) ? refusalInLine(request, row) : refusalByRow(request, row));
      if (refusal !== undefined) told.answered(refusal);
      return refusal === undefined;
    });
  }

  failed(error: Error): void {
    for (const { told } of this.left.splice(0)) told.failed(error);
  }
}

/** Whether the caller still waits for an attempt. If not, the attempt fails as not sent. */
function isWanted({ told }: Attempt): boolean {
  try {
    goOnFor(told);
    return true;
  } catch (error) {
    told.failed(error as Error);
    return false;
  }
}

/** @throws StoreUnavailableError if the caller has given up: the caller's undo may be over, so a late lease would stay */
function goOnFor({ givenUp }: Told<AcquireResult>): void {
  if (givenUp !== true) return;
  const message =
    'The database answered the statements before this attempt too late: the caller had given up.';
  throw new StoreUnavailableError(message, { outcome: 'not-applied' });
}
