import { noTransaction, type Query, type Row } from './transactions.js';

/** A row of the table: lock, job, step. Without job and step it is of the lock itself. */
export type Key = readonly [lock: string, job: string, step: string];

/** What a row says. */
export interface Claimed {
  /** The greatest fencing token that has committed; 0: none yet. */
  readonly fence: number;
  /** The newest tick that has committed. */
  readonly tick: number | undefined;
  /** Identifies the transaction; '' if the database does not say. */
  readonly transaction: string;
}

/** The statements of a database. Parameters are texts, which the statements cast. Both throw if they see that no transaction is open. */
export interface Dialect {
  /** Whether parameters are `$1`, `$2`. */
  readonly numbered: boolean;
  /** The name of a table, perhaps with a schema, as it stands in statements. */
  quote(table: string): string;
  creation(table: string): string;
  /** Locks a row for the rest of the transaction, makes it if it is not there, and raises its fence to no less than this. */
  claim(query: Query, table: string, key: Key, fence: string): Promise<Claimed>;
  /** Writes tick and fence into a row that was claimed. */
  note(query: Query, table: string, key: Key, row: NewRow): Promise<void>;
}

/** What is written into a row. */
export interface NewRow {
  readonly tick: string | null;
  readonly fence: string;
  readonly transaction: string;
}

const WHERE = 'lock_name = ? AND job = ? AND step = ?';

const quoted = (table: string, mark: string): string =>
  table
    .split('.')
    .map((part) => mark + part + mark)
    .join('.');

const numberOf = (value: unknown): number | undefined =>
  value === undefined || value === null ? undefined : Number(value);

const claimed = (row: Row | undefined, transaction: string): Claimed => ({
  fence: numberOf(row?.['fence']) ?? 0,
  tick: numberOf(row?.['tick']),
  transaction,
});

/** A driver may insist that a parameter is of the type that the statement needs: so all are texts. */
const BIGINT = 'CAST(CAST(? AS text) AS bigint)';

export const POSTGRES: Dialect = {
  numbered: true,
  quote: (table) => quoted(table, '"'),
  creation: (table) => `CREATE TABLE IF NOT EXISTS ${table} (
  lock_name TEXT NOT NULL,
  job TEXT NOT NULL,
  step TEXT NOT NULL,
  tick BIGINT,
  fence BIGINT NOT NULL,
  committed_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  PRIMARY KEY (lock_name, job, step)
)`,
  async claim(query, table, key, fence) {
    const [row] = await query(
      `INSERT INTO ${table} AS kept (lock_name, job, step, fence) VALUES (?, ?, ?, ${BIGINT})
ON CONFLICT (lock_name, job, step) DO UPDATE SET fence = GREATEST(kept.fence, EXCLUDED.fence)
RETURNING CAST(fence AS text) AS fence, CAST(tick AS text) AS tick, CAST(txid_current() AS text) AS tx`,
      [...key, fence],
    );
    return claimed(row, String(row?.['tx']));
  },
  // Without a transaction each statement is one of its own.
  async note(query, table, key, { tick, fence, transaction }) {
    const rows = await query(
      `UPDATE ${table} SET tick = ${BIGINT}, fence = ${BIGINT}, committed_at = now()
WHERE ${WHERE} AND CAST(txid_current() AS text) = ? RETURNING 1 AS noted`,
      [tick, fence, ...key, transaction],
    );
    if (rows.length === 0) throw noTransaction();
  },
};

/** What `mysql2` says of a write: whether the session is in a transaction. */
const IN_TRANSACTION = 1;

function refuseAutocommit([header]: readonly Row[]): void {
  const status = header?.['serverStatus'];
  if (typeof status === 'number' && (status & IN_TRANSACTION) === 0) throw noTransaction();
}

export const MYSQL: Dialect = {
  numbered: false,
  quote: (table) => quoted(table, '`'),
  creation: (table) => `CREATE TABLE IF NOT EXISTS ${table} (
  lock_name VARCHAR(255) NOT NULL,
  job VARCHAR(255) NOT NULL,
  step VARCHAR(64) NOT NULL,
  tick BIGINT NULL,
  fence BIGINT NOT NULL,
  committed_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
  PRIMARY KEY (lock_name, job, step)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  async claim(query, table, key, fence) {
    const written = await query(
      `INSERT INTO ${table} (lock_name, job, step, fence) VALUES (?, ?, ?, CAST(? AS SIGNED))
ON DUPLICATE KEY UPDATE fence = GREATEST(fence, CAST(? AS SIGNED))`,
      [...key, fence, fence],
    );
    refuseAutocommit(written);
    // By the whole key, so that no other row is locked; and FOR UPDATE, or it would be the row of a moment before.
    const [row] = await query(
      `SELECT CAST(fence AS CHAR) AS fence, CAST(tick AS CHAR) AS tick FROM ${table} WHERE ${WHERE} FOR UPDATE`,
      key,
    );
    return claimed(row, '');
  },
  async note(query, table, key, { tick, fence }) {
    const written = await query(
      `UPDATE ${table} SET tick = CAST(? AS SIGNED), fence = CAST(? AS SIGNED), committed_at = CURRENT_TIMESTAMP(3) WHERE ${WHERE}`,
      [tick, fence, ...key],
    );
    refuseAutocommit(written);
  },
};
