import {
  type DocumentChange,
  type DocumentRenewal,
  type LockDocuments,
  type ReadDocument,
  StoreUnavailableError,
} from '../../../lib/index.js';

/** What a pool of `pg` does. */
interface Database {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';

export class TableDocuments implements LockDocuments {
  constructor(
    private readonly database: Database,
    private readonly table: string,
  ) {}

  async init(): Promise<void> {
    await this.#query(
      `CREATE TABLE IF NOT EXISTS ${this.table} (name text PRIMARY KEY, version text NOT NULL, "by" text NOT NULL,
        until float8 NOT NULL, since float8 NOT NULL, state text NOT NULL)`,
    );
  }

  async read(names: readonly string[] | 'all') {
    // The row of the time is there even if there is none of a lock.
    const rows = await this.#query(
      `SELECT t.now, l.* FROM (SELECT ${NOW} AS now) t LEFT JOIN ${this.table} l ON $1::text[] IS NULL OR l.name = ANY($1)`,
      [names === 'all' ? null : names],
      'not-applied',
    );
    const found = rows as (ReadDocument & { now: number })[];
    return { now: found[0]?.now ?? NaN, documents: found.filter(({ name }) => name !== null) };
  }

  write(changes: readonly DocumentChange[]): Promise<boolean[]> {
    return Promise.all(changes.map((change) => this.#writeOne(change)));
  }

  renew(renewals: readonly DocumentRenewal[]): Promise<boolean[]> {
    return Promise.all(
      renewals.map(async ({ name, by, ttl }) => {
        const set = `UPDATE ${this.table} SET until = ${NOW} + $3 WHERE name = `;
        const rows = await this.#query(
          `${set}${this.#unlocked('"by" = $2 AND until > ' + NOW)} RETURNING name`,
          [name, by, ttl],
        );
        return rows.length > 0;
      }),
    );
  }

  async #writeOne({ name, seen, end, begins, version, by, state }: DocumentChange): Promise<boolean> {
    const values = [name, version, by, state, end ?? null, begins ?? false];
    const text =
      seen === null
        ? `INSERT INTO ${this.table} (name, version, "by", state, until, since)
            SELECT $1, $2, $3, $4, coalesce(${NOW} + $5::float8, 0), ${NOW} WHERE $6::boolean IS NOT NULL
            ON CONFLICT DO NOTHING RETURNING name`
        : `UPDATE ${this.table} SET version = $2, "by" = $3, state = $4, until = coalesce(${NOW} + $5::float8, until),
            since = CASE WHEN $6::boolean THEN ${NOW} ELSE since END
            WHERE name = ${this.#unlocked(`version = $7 AND "by" = $8 AND (until > ${NOW}) = $9`)} RETURNING name`;
    const old = seen === null ? [] : [seen.version, seen.by, seen.taken];
    return (await this.#query(text, [...values, ...old])).length > 0;
  }

  /** The name, if its row is as it was seen. A row that somebody else has locked counts as changed. */
  #unlocked(asSeen: string): string {
    return `(SELECT name FROM ${this.table} WHERE name = $1 AND ${asSeen} FOR UPDATE SKIP LOCKED)`;
  }

  async #query(text: string, values: unknown[] = [], outcome: 'not-applied' | 'unknown' = 'unknown') {
    try {
      return (await this.database.query(text, values)).rows;
    } catch (cause) {
      throw new StoreUnavailableError(`The table of locks could not be asked: ${String(cause)}`, {
        outcome,
        cause,
      });
    }
  }
}
