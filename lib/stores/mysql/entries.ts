import { newId } from '../../base/shared.js';
import { type EntriesDialect, type EntryRow, type Once, partly } from '../sql/entries-dialect.js';
import type { TableNames } from '../sql/table-name.js';
import type { Gate } from '../sql/gate.js';
import { read, write } from './client.js';
import { EPOCH_MICROSECONDS } from './columns.js';
import { entriesDdl } from './schema.js';
import { joined, list, raw, type Sql, sql } from './sql-text.js';

const NOW = raw(`(${EPOCH_MICROSECONDS.text} DIV 1000)`);
/** What a write changes. */
const WRITTEN = [
  'kind',
  'version',
  'slot',
  'job',
  'place',
  'noted_at',
  'expires_at',
  'body',
  'mark',
] as const;

export function mysqlEntries(names: TableNames, gate: Gate): EntriesDialect {
  const sent = (text: string, values: readonly unknown[]) => ({
    text: text.replaceAll('{entries}', () => entries.table),
    values: [...values],
  });
  const entries: EntriesDialect = {
    get table() {
      return names.quoted('_entries');
    },
    get creation() {
      return entriesDdl(names);
    },
    columns: `digest, name, id, ${WRITTEN.join(', ')}`,
    now: NOW.text,
    read: (text, values) => read(gate, sent(text, values)),
    write: (text, values) => write(gate, sent(text, values)),
    put: (rows, once) => new Put(gate, raw(entries.table), once).all(rows),
  };
  return entries;
}

/**
 * One `put`. A write only answers how many rows it has found. So one statement writes all entries that go over whatever there is, one all
 * that are new, and each other one has a statement of its own.
 */
class Put {
  /** Shows who has written a row. */
  readonly #mark = newId();
  readonly #written = new Set<EntryRow>();
  /** Whether a statement has written something. */
  #hasWritten = false;

  constructor(
    private readonly gate: Gate,
    private readonly table: Sql,
    private readonly once: Once,
  ) {}

  async all(rows: readonly EntryRow[]): Promise<boolean[]> {
    // In one order, so that no two of them wait for each other. Their places keep the order in which they came.
    const sorted = rows
      .map((row, i) => ({ row, values: this.#valuesOf(row, i) }))
      .toSorted((a, b) => (a.row.digest < b.row.digest ? -1 : 1));
    // One that is in a slot would replace the one that is there.
    if (rows.every(({ over, slot }) => over === 'any' && slot === null)) {
      const set = WRITTEN.map((column) => `${column} = VALUES(${column})`).join(', ');
      await this.#send(sql`INSERT INTO ${this.#rows(sorted)} ON DUPLICATE KEY UPDATE ${raw(set)}`);
      return rows.map(() => true);
    }
    try {
      if (rows.some(({ over }) => over === 'any' || over.includes(null))) await this.#make(sorted);
      for (const one of sorted) if (!this.#written.has(one.row)) await this.#change(one);
    } catch (error) {
      throw this.#hasWritten ? partly(error) : error;
    }
    return rows.map((row) => this.#written.has(row));
  }

  /** Writes entries where there is no row. */
  async #make(all: readonly Valued[]): Promise<void> {
    // Without IGNORE, a client may count a row that existed.
    const count = await this.#send(sql`INSERT IGNORE INTO ${this.#rows(all)}`);
    if (count === 0) return;
    const made = count === all.length ? all : await this.#madeOf(all);
    for (const { row } of made) this.#written.add(row);
  }

  async #madeOf(all: readonly Valued[]): Promise<readonly Valued[]> {
    const digests = list(all.map(({ row }) => row.digest));
    const found = await this.once(() =>
      read(
        this.gate,
        sql`SELECT digest FROM ${this.table} WHERE digest IN ${digests} AND mark = ${this.#mark}`,
      ),
    );
    const made = new Set(found.map(({ digest }) => digest));
    return all.filter(({ row }) => made.has(row.digest));
  }

  /** Writes an entry over a row that is there. */
  async #change({ row, values }: Valued): Promise<void> {
    const { digest, slot } = row;
    const set = joined(WRITTEN.map((column) => sql`${raw(column)} = ${values[column]}`));
    // MySQL reads no table that it changes, unless the subquery is inside another one, and cannot be merged with it.
    const inSlot = sql`(SELECT o.digest FROM (SELECT digest FROM ${this.table} WHERE slot = ${slot} LIMIT 1) o)`;
    const isFree = slot === null ? raw('') : sql` AND COALESCE(${inSlot}, ${digest}) = ${digest}`;
    const text = sql`UPDATE ${this.table} SET ${set} WHERE digest = ${digest} AND ${isOver(row)}${isFree}`;
    if ((await this.#send(text)) > 0) this.#written.add(row);
  }

  /** The table, and rows for it. */
  #rows(all: readonly Valued[]): Sql {
    const rows = all.map(({ row: { digest, name, id }, values }) => {
      const written = WRITTEN.map((column) => values[column]);
      return sql`(${joined([digest, name, id, ...written])})`;
    });
    return sql`${this.table} (digest, name, id, ${raw(WRITTEN.join(', '))}) VALUES ${joined(rows)}`;
  }

  #valuesOf({ kind, version, slot, job, place, keep, body }: EntryRow, i: number): Valued['values'] {
    return {
      kind,
      version,
      slot,
      job,
      place: place ?? sql`${EPOCH_MICROSECONDS} + ${i}`,
      noted_at: NOW,
      expires_at: sql`${NOW} + ${keep}`,
      body,
      mark: this.#mark,
    };
  }

  async #send(statement: Sql): Promise<number> {
    const count = await this.once(() => write(this.gate, statement));
    this.#hasWritten ||= count > 0;
    return count;
  }
}

interface Valued {
  readonly row: EntryRow;
  readonly values: Readonly<Record<(typeof WRITTEN)[number], unknown>>;
}

/** What a row has to be to be written over. */
function isOver({ over }: EntryRow): Sql {
  if (over === 'any') return raw('1 = 1');
  const seen = over.filter((each) => each !== null);
  // As bytes: collations ignore blanks at the end.
  const isSeen = seen.length === 0 ? raw('1 = 0') : sql`CAST(version AS BINARY) IN ${list(seen)}`;
  return over.includes(null)
    ? sql`(expires_at <= ${NOW} OR ${isSeen})`
    : sql`expires_at > ${NOW} AND ${isSeen}`;
}
