import { createHash } from 'node:crypto';
import type {
  EntriesRead,
  Entry,
  EntryKey,
  EntryQuery,
  EntrySum,
  SumQuery,
} from '../../rules/entries/entries.js';
import { each, Together } from '../../rules/entries/together.js';
import type { EntriesDialect, Row } from './entries-dialect.js';

/** More entries than there can be. */
const ALL = Number.MAX_SAFE_INTEGER;
/** How many lists one statement reads at most. */
const BATCH_SIZE = 30;

/** Reads of the table of entries. Lists that are asked for in one turn share a statement: a history is read as several lists. */
export abstract class EntryReads {
  readonly #asked = new Together<EntryQuery, EntriesRead>(
    BATCH_SIZE,
    each((queries) => this.#lists(queries)),
  );

  constructor(protected readonly entries: EntriesDialect) {}

  /** @param isLoose whether a table may be missing that nobody needs */
  protected abstract select(
    text: string,
    values: readonly unknown[],
    isLoose?: boolean,
  ): Promise<readonly Row[]>;

  list(query: EntryQuery): Promise<EntriesRead> {
    return this.#asked.ask(query);
  }

  async sums({ locks, kinds, jobs }: SumQuery): Promise<EntrySum[]> {
    const { entries } = this;
    const which = this.#whichOf({ name: locks, kind: kinds, job: jobs });
    const text = `SELECT name, kind, count(*) AS n, min(place) AS place FROM {entries}
WHERE expires_at > ${entries.now}${which.text} GROUP BY name, kind`;
    const rows = await this.select(text, which.values, true);
    return rows.map(({ name, kind, n, place }) => ({
      lock: String(name),
      kind: String(kind),
      count: Number(n),
      place: Number(place),
    }));
  }

  async #lists(queries: readonly EntryQuery[]): Promise<EntriesRead[]> {
    const { entries } = this;
    const parts = queries.map((query, i) => this.#partOf(query, i));
    // Without an entry, its row tells the time.
    const text = `SELECT c.clock, e.* FROM (SELECT ${entries.now} AS clock) c LEFT JOIN (
${parts.map((part) => part.text).join('\nUNION ALL\n')}
) e ON 1 = 1`;
    const values = parts.flatMap((part) => part.values);
    const rows = await this.select(text, values);
    const now = Number(rows[0]?.['clock']);
    return queries.map(({ lock, newest }, i) => {
      const found = rows.filter(({ part }) => part !== null && Number(part) === i);
      const read = found.map((row) => this.#entryOf(lock, row));
      return { now, entries: read.sort((a, b) => (newest === true ? b.place - a.place : a.place - b.place)) };
    });
  }

  /** @param part the number of the list, which each row has */
  #partOf(query: EntryQuery, part: number): Sql {
    const { lock, kinds, jobs, ids, slots, before, bare, newest, skip = 0, limit = ALL } = query;
    const which = this.#whichOf({
      name: [lock],
      kind: kinds,
      job: jobs,
      digest: ids?.map((id) => digestOf({ lock, id })),
      slot: slots?.map((id) => digestOf({ lock, id })),
    });
    // Not as a parameter: MySQL would compare it as a text.
    const bound = before === undefined ? '' : ` AND place < ${Math.ceil(before)}`;
    const text = `(SELECT ${part} AS part, id, kind, version, place, noted_at, expires_at, ${bare === true ? "''" : 'body'} AS body FROM {entries}
  WHERE expires_at > ${this.entries.now}${which.text}${bound}
  ORDER BY place ${newest === true ? 'DESC' : 'ASC'} LIMIT ${Math.trunc(limit)} OFFSET ${Math.trunc(skip)})`;
    return { text, values: which.values };
  }

  /** Conditions: each column has one of its values, if there are any. */
  #whichOf(columns: Readonly<Record<string, readonly string[] | undefined>>): Sql {
    let text = '';
    const values: string[] = [];
    for (const [column, some] of Object.entries(columns)) {
      if (some === undefined) continue;
      text += some.length === 0 ? ' AND 1 = 0' : ` AND ${column} IN (${marks(some)})`;
      values.push(...some);
    }
    return { text, values };
  }

  #entryOf(lock: string, row: Row): Entry {
    const text = (column: string): string => String(row[column]);
    return {
      lock,
      id: text('id'),
      kind: text('kind'),
      version: text('version'),
      place: Number(row['place']),
      at: Number(row['noted_at']),
      until: Number(row['expires_at']),
      body: text('body'),
    };
  }
}

interface Sql {
  readonly text: string;
  readonly values: readonly string[];
}

/** Keeps apart what collations take for equal, and has the same length for any id. */
export const digestOf = ({ lock, id }: EntryKey): string =>
  createHash('sha256')
    .update(JSON.stringify([lock, id]))
    .digest('base64url');

export const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ');
