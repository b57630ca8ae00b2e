import type { Clock } from '../../clock.js';
import { INSTANCES_KEPT, type Kept, MAX_INSTANCES, UNUSED_LIST } from '../history-store.js';
import type { HistoryDialect } from './history-dialect.js';

/** How often an instance deletes what is too old, ms. */
const EVERY = 300_000;
/** The entries of how many locks one statement counts. */
const AT_ONCE = 100;

/** Deletes old entries of histories: from time to time, in the background, for the locks of which this instance has written entries. */
export class HistoryTidy {
  #last = -Infinity;
  #busy: Promise<void> = Promise.resolve();
  /** How many entries of each kind to keep, by the name of the lock. */
  #counts = new Map<string, number>();

  constructor(
    private readonly history: HistoryDialect,
    private readonly clock: Clock,
  ) {}

  /** Call this for each new entry. */
  note(name: string, { count }: Kept): void {
    this.#counts.set(name, count);
  }

  /** Begins, unless the last time is recent. */
  begin(): void {
    const now = this.clock.monotonic();
    if (now - this.#last < EVERY) return;
    this.#last = now;
    // If it fails, the next time does it.
    this.#busy = this.now().catch(() => undefined);
  }

  /** Resolves when nothing is being deleted. */
  done(): Promise<void> {
    return this.#busy;
  }

  async now(): Promise<void> {
    const { history } = this;
    // First the instances: the table of the runs may not be usable.
    await this.#forgetInstances();
    const counts = [...this.#counts];
    this.#counts = new Map();
    await history.read(`DELETE FROM {runs} WHERE expires_at < ${history.now}`, []);
    for (let i = 0; i < counts.length; i += AT_ONCE) await this.#trim(new Map(counts.slice(i, i + AT_ONCE)));
  }

  /** Deletes the oldest entries of locks that have too many. */
  async #trim(counts: ReadonlyMap<string, number>): Promise<void> {
    const { history } = this;
    const limits = new Map([...counts].map(([name, count]) => [history.stored(name), count]));
    const marks = [...limits].map(() => '?').join(', ');
    const found = await history.read(
      `SELECT name, kind, count(*) AS n FROM {runs} WHERE name IN (${marks}) GROUP BY name, kind`,
      [...limits.keys()],
    );
    for (const { name, kind, n } of found) {
      const limit = limits.get(String(name)) ?? Infinity;
      if (Number(n) <= limit) continue;
      const these = 'FROM {runs} WHERE name = ? AND kind = ?';
      const [newest] = await history.read(
        `SELECT noted_at ${these} ORDER BY noted_at DESC LIMIT 1 OFFSET ${Math.trunc(limit)}`,
        [name, kind],
      );
      const until = String(Number(newest?.['noted_at'] ?? 0));
      await history.read(`DELETE ${these} AND noted_at <= ${history.int}`, [name, kind, until]);
    }
  }

  async #forgetInstances(): Promise<void> {
    const { history } = this;
    const forget = 'DELETE FROM {instances} WHERE catalogue IS NOT NULL AND seen_at';
    await history.read(`${forget} < ${history.now} - ${INSTANCES_KEPT}`, []);
    const [last] = await history.read(
      `SELECT seen_at FROM {instances} WHERE catalogue IS NOT NULL ORDER BY seen_at DESC LIMIT 1 OFFSET ${MAX_INSTANCES}`,
      [],
    );
    if (last !== undefined) await history.read(`${forget} <= ${history.int}`, [String(last['seen_at'])]);
    // MySQL deletes from no table that a subquery reads, unless the subquery is inside another one.
    await history.read(
      `DELETE FROM {instances} WHERE catalogue IS NULL AND seen_at < ${history.now} - ${UNUSED_LIST}
AND id NOT IN (SELECT catalogue FROM (SELECT catalogue FROM {instances} WHERE catalogue IS NOT NULL) used)`,
      [],
    );
  }
}
