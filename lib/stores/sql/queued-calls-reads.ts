import { StoreUnavailableError } from '../../errors.js';
import type { LockInfo } from '../lock-info.js';
import type { DeadLetter } from '../queued-call-store.js';
import type { SqlDialect } from './dialect.js';
import type { LimitedReads } from './limited-reads.js';
import type { Operations } from './operations.js';
import { COLUMNS, letterOf, marks, storedCall } from './queued-call-row.js';
import type { Row } from './row.js';

/** The fields of a lock that show its queued calls. */
type QueuedCallsInfo = Pick<LockInfo, 'queued' | 'dead' | 'unknown'>;

/** What people see of queued calls. */
export class QueuedCallsReads<Table> {
  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    private readonly reads: LimitedReads,
  ) {}

  /**
   * Reads the queued calls of these locks, or of all.
   *
   * @returns a function that gives the fields of a lock by its name: `undefined` if the lock has no queued calls, or there is no table. If
   * the database refuses the read, `unknown` says why, for each lock
   */
  async of(names?: readonly string[]): Promise<(name: string) => QueuedCallsInfo | undefined> {
    try {
      const infos = await this.#infos(names);
      return (name) => infos.get(name);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || !error.refused) throw error;
      const unknown = { unknown: error.message };
      return () => unknown;
    }
  }

  async #infos(names: readonly string[] | undefined): Promise<ReadonlyMap<string, QueuedCallsInfo>> {
    const { queuedCalls } = this.dialect;
    const which = names === undefined ? '' : `WHERE name IN (${marks(names)})`;
    const text = `SELECT ${COLUMNS} FROM {t} ${which} ORDER BY dead_at DESC, place, id`;
    const values = (names ?? []).map((name) => queuedCalls.stored(name));
    const read = (): Promise<readonly Row[]> =>
      queuedCalls.read(text, values).catch((error: unknown) => this.#unlessNoTable(error));
    const rows = await this.reads.within(queuedCalls.table, () => this.operations.beside(read));
    const infos = new Map<string, { queued?: number; dead?: DeadLetter[] }>();
    for (const row of rows) {
      const name = queuedCalls.nameOf(String(row['name']));
      const info = infos.get(name) ?? {};
      infos.set(name, info);
      if (row['dead'] === null) info.queued = (info.queued ?? 0) + 1;
      else
        (info.dead ??= []).push(
          letterOf(storedCall(row), row['dead'] as DeadLetter['reason'], Number(row['dead_at'])),
        );
    }
    return infos;
  }

  #unlessNoTable(error: unknown): readonly [] {
    if (this.dialect.failure(error) === 'table') return [];
    throw this.reads.refused(this.dialect.queuedCalls.table, error);
  }
}
