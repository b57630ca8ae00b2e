import type { EntriesDialect, EntryRow } from '../sql/entries-dialect.js';
import type { Row } from '../sql/dialect.js';
import type { TableNames } from '../sql/table-name.js';
import { postgresNames } from './schema.js';

const MICROS = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
/** Whether a row has one of the versions that were seen, a list in JSON. */
const SEEN = 'e.version IN (SELECT json_array_elements_text(w.seen))';

/** Writes the new entry over a row with its digest. */
const OVER = `ON CONFLICT (digest) DO UPDATE SET kind = excluded.kind, version = excluded.version, slot = excluded.slot,
    job = excluded.job, place = excluded.place, noted_at = excluded.noted_at, expires_at = excluded.expires_at, body = excluded.body`;

/**
 * Writes one entry, at half of what the statement for many costs. $1 digest  $2 name  $3 id  $4 kind  $5 version  $6 slot  $7 job
 * $8 place  $9 the least place, if it has none  $10 ms to keep it  $11 body  $12 the versions it may be written over, a list in JSON
 *
 * Answers its place, if it was written.
 */
function putOne(table: string, { over, slot }: EntryRow): string {
  const values = `(SELECT $1::text AS digest, $2::text AS name, $3::text AS id, $4::text AS kind, $5::text AS version, $6::text AS slot,
  $7::text AS job, coalesce($8::text::bigint, greatest(micros, $9::text::bigint)) AS place, micros / 1000 AS now,
  micros / 1000 + $10::text::bigint AS until, $11::text AS body, $12::text::json AS seen FROM (SELECT ${MICROS} AS micros) c) w`;
  // Of one without a slot the server need not look.
  const isFree =
    slot === null
      ? 'true'
      : `NOT EXISTS (SELECT FROM ${table} o WHERE o.slot = w.slot AND o.digest <> w.digest)`;
  if (over !== 'any' && !over.includes(null))
    return `UPDATE ${table} e SET kind = w.kind, version = w.version, slot = w.slot, job = w.job, place = w.place, noted_at = w.now,
  expires_at = w.until, body = w.body FROM ${values}
WHERE e.digest = w.digest AND e.expires_at > w.now AND ${SEEN} AND ${isFree} RETURNING e.place`;
  const seen = SEEN.replace('w.seen', '$12::text::json');
  return `INSERT INTO ${table} AS e (digest, name, id, kind, version, slot, job, place, noted_at, expires_at, body)
SELECT digest, name, id, kind, version, slot, job, place, now, until, body FROM ${values} WHERE ${isFree}
${OVER} WHERE ${over === 'any' ? '$12::text IS NOT NULL' : `e.expires_at <= excluded.noted_at OR ${seen}`} RETURNING e.place`;
}

/**
 * Writes entries. $1 a list in JSON, see below; `seen`: what each may be written over; `makes`: or where there is none; `any`: or over
 * whatever there is  $2 the least place for those without one
 *
 * Answers `i` of each that was written, and its place.
 */
const put = (table: string): string => `
WITH wanted AS (
  SELECT w.*, greatest(c.micros, $2::text::bigint) + w.i AS next, c.micros / 1000 AS now
  FROM (SELECT ${MICROS} AS micros) c, json_to_recordset($1::text::json) AS w(i int, digest text, name text, id text, kind text,
    version text, slot text, job text, place bigint, keep bigint, body text, seen json, makes boolean, "any" boolean)
  WHERE NOT EXISTS (SELECT FROM ${table} o WHERE o.slot = w.slot AND o.digest <> w.digest)
), changed AS (
  UPDATE ${table} e SET kind = w.kind, version = w.version, slot = w.slot, job = w.job, place = coalesce(w.place, w.next),
    noted_at = w.now, expires_at = w.now + w.keep, body = w.body
  FROM wanted w WHERE NOT w.makes AND e.digest = w.digest AND e.expires_at > w.now AND ${SEEN}
  RETURNING e.digest
), made AS (
  INSERT INTO ${table} AS e (digest, name, id, kind, version, slot, job, place, noted_at, expires_at, body)
  SELECT digest, name, id, kind, version, slot, job, coalesce(place, next), now, now + keep, body
  FROM wanted WHERE makes ORDER BY digest
  ${OVER}
  WHERE EXISTS (SELECT FROM wanted w WHERE w.digest = excluded.digest AND (w."any" OR e.expires_at <= w.now OR ${SEEN}))
  RETURNING e.digest
)
SELECT w.i, w.next FROM wanted w WHERE w.digest IN (SELECT digest FROM changed UNION ALL SELECT digest FROM made)`;

/** @param send runs a statement */
export function postgresEntries(
  names: TableNames,
  send: (statement: string, values: unknown[]) => Promise<readonly Row[]>,
): EntriesDialect {
  /** The newest place that the clock has given. */
  let newest = 0;
  const numbered = (text: string): string => {
    let number = 0;
    return text.replaceAll('?', () => `$${++number}`).replaceAll('{entries}', () => entries.table);
  };
  const entries: EntriesDialect = {
    get table() {
      return names.quoted('_entries');
    },
    get creation() {
      return entriesDdl(names);
    },
    columns: 'digest, name, id, kind, version, slot, job, place, noted_at, expires_at, body',
    now: `(${MICROS} / 1000)`,
    read: (text, values) => send(numbered(text), [...values]),
    write: async (text, values) => (await send(`${numbered(text)} RETURNING 1 AS one`, [...values])).length,
    async put(rows, once) {
      const [row] = rows;
      if (row !== undefined && rows.length === 1) {
        const [written] = await once(() => send(putOne(entries.table, row), valuesOf(row, newest + 1)));
        if (row.place === undefined) newest = Math.max(newest, Number(written?.['place'] ?? 0));
        return [written !== undefined];
      }
      const wanted = JSON.stringify(rows.map(wantedOf));
      const written = await once(() => send(put(entries.table), [wanted, String(newest + 1)]));
      newest = Math.max(newest, ...written.map(({ next }) => Number(next)));
      const which = new Set(written.map(({ i }) => Number(i)));
      return rows.map((_, i) => which.has(i));
    },
  };
  return entries;
}

function wantedOf(row: EntryRow, i: number): object {
  const { over, ...rest } = row;
  const isAny = over === 'any';
  return { i, ...rest, seen: seenOf(row), makes: isAny || over.includes(null), any: isAny };
}

function valuesOf(row: EntryRow, least: number): (string | null)[] {
  const { digest, name, id, kind, version, slot, job, place, keep, body } = row;
  const texts = [place === undefined ? null : String(place), String(least), String(keep)];
  return [digest, name, id, kind, version, slot, job, ...texts, body, JSON.stringify(seenOf(row))];
}

const seenOf = ({ over }: EntryRow): (string | null)[] =>
  over === 'any' ? [] : over.filter((each) => each !== null);

/** The statements that create the table. The names of indexes are no longer than its own: PostgreSQL would cut them, and skip all but the first. */
export function entriesDdl(names: TableNames): string[] {
  const table = names.quoted('_entries');
  const index = (what: string): string => names.quotedName(`${names.table}_by_${what}`);
  return [
    `CREATE TABLE IF NOT EXISTS ${table} (
  digest VARCHAR(43) NOT NULL PRIMARY KEY,
  name VARCHAR(255) NOT NULL,
  id TEXT NOT NULL,
  kind VARCHAR(64) NOT NULL,
  version VARCHAR(255) NOT NULL,
  slot VARCHAR(43) UNIQUE,
  job VARCHAR(255),
  place BIGINT NOT NULL,
  noted_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  body TEXT NOT NULL
)`,
    `CREATE INDEX IF NOT EXISTS ${index('lock')} ON ${table} (name, kind, place)`,
    `CREATE INDEX IF NOT EXISTS ${index('job')} ON ${table} (job) WHERE job IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS ${index('end')} ON ${table} (expires_at)`,
  ];
}

/** For a table in a migration of the team: see index.ts. */
export const ENTRIES_SCHEMA: string = entriesDdl(postgresNames({}))
  .map((statement) => `${statement};\n`)
  .join('');
