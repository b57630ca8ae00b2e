import {
  type HistoryEntry,
  type HistoryQuery,
  INSTANCES_KEPT,
  type InstanceRecord,
  MAX_INSTANCES,
} from '../history-store.js';
import { instanceReader, readEach } from '../readable.js';
import type { SqlDialect } from './dialect.js';
import { entryOf, instanceOf, KINDS, listOf, newest } from './history-row.js';
import { type HistoryTables, type Part, refusal } from './history-tables.js';
import type { LimitedReads } from './limited-reads.js';
import type { Operations } from './operations.js';
import type { Row } from './row.js';

/** What people see of histories. */
export class HistoryReads<Table> {
  /** @param parts `flush` writes the records that still wait, so that a reader sees them */
  constructor(
    private readonly dialect: SqlDialect<Table>,
    private readonly operations: Operations<Table>,
    private readonly parts: {
      readonly tables: HistoryTables<Table>;
      readonly reads: LimitedReads;
      readonly flush: () => Promise<void>;
    },
  ) {}

  async entries({ name, limit, onUnreadable }: HistoryQuery): Promise<HistoryEntry[]> {
    const { history } = this.dialect;
    const most = Math.max(0, Math.trunc(limit));
    const text = KINDS.map(
      () =>
        `(SELECT entry, kind, noted_at, data FROM {runs} WHERE name = ? AND kind = ? AND expires_at > ${history.now} ORDER BY noted_at DESC, entry DESC LIMIT ${most})`,
    ).join(' UNION ALL ');
    const values = KINDS.flatMap((kind) => [history.stored(name), kind]);
    const read = async (): Promise<readonly Row[]> => {
      await this.parts.flush();
      return history.read(text, values);
    };
    const rows = await this.#read(read, 'runs', name);
    return newest(
      readEach(rows, (row) => entryOf(name, row), onUnreadable),
      most,
    );
  }

  instances(onUnreadable?: () => void): Promise<InstanceRecord[]> {
    const { history } = this.dialect;
    return this.#read(async () => {
      const rows = await history.read(
        `SELECT catalogue, seen_at, data, ${history.now} AS now FROM {instances}
WHERE catalogue IS NOT NULL AND seen_at > ${history.now} - ${INSTANCES_KEPT} ORDER BY seen_at DESC LIMIT ${MAX_INSTANCES}`,
        [],
      );
      const all = await history.read('SELECT id, data FROM {instances} WHERE catalogue IS NULL', []);
      // Ignores lists that no instance has any more.
      const used = new Set(rows.map(({ catalogue }) => String(catalogue)));
      const lists = all.filter(({ id }) => used.has(String(id)));
      const jobs = new Map(readEach(lists, ({ id, data }) => listOf(String(id), data), onUnreadable));
      const told = instanceReader();
      return readEach(
        rows,
        (row) => instanceOf(row, jobs.get(String(row['catalogue'])) ?? [], told),
        onUnreadable,
      );
    }, 'instances');
  }

  /** Reads one of the tables. A reader needs no right to write, and waits for no other table. */
  async #read<T>(read: () => Promise<T>, part: Part, lock?: string): Promise<T> {
    const { history } = this.dialect;
    if (history.unusable !== undefined) throw refusal(history.unusable);
    const table = history[part];
    const tell = (error: unknown): never => {
      throw this.parts.tables.failed(this.parts.reads.refused(table, error), part);
    };
    return this.parts.reads.within(table, async () => {
      const told = await this.operations.beside(() => read().catch(tell), lock);
      if (part === 'runs') await this.parts.tables.runsWereRead();
      return told;
    });
  }
}
