import type { EntriesDialect } from '../sql/entries-dialect.js';
import type { Row } from '../sql/dialect.js';
import type { TableNames } from '../sql/table-name.js';
import { entriesDdl } from './schema.js';

const MICROS = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
/** Of a row that is there, and what a new entry may be written over: a list in JSON. */
const isSeen = (over: string): string => `e.version IN (SELECT json_array_elements_text(${over}))`;

/*
 * Statements that write entries. $1 a list in JSON  $2 the least place for those without one
 *
 * They answer the digest of each that was written, and its place.
 */
const wanted = (table: string): string => `(
  SELECT w.*, coalesce(w.place, greatest(micros, $2::text::bigint) + w.i) AS at, micros / 1000 AS now
  FROM (SELECT ${MICROS} AS micros) c, json_to_recordset($1::text::json) AS w(i int, digest text, name text, id text, kind text,
    version text, slot text, job text, place bigint, keep bigint, body text, "over" json)
  WHERE w.slot IS NULL OR NOT EXISTS (SELECT FROM ${table} o WHERE o.slot = w.slot AND o.digest <> w.digest)
) w`;

/** Over rows as they were seen. */
const change = (table: string): string => `
UPDATE ${table} e SET kind = w.kind, version = w.version, slot = w.slot, job = w.job, place = w.at, noted_at = w.now,
  expires_at = w.now + w.keep, body = w.body
FROM ${wanted(table)}
WHERE e.digest = w.digest AND e.expires_at > w.now AND ${isSeen('w."over"')} RETURNING e.digest, e.place`;

/** Where there is no row, or over such rows. $3 of which versions, a list in JSON; or NULL: of any */
const make = (table: string): string => `
INSERT INTO ${table} AS e (digest, name, id, kind, version, slot, job, place, noted_at, expires_at, body)
SELECT digest, name, id, kind, version, slot, job, at, now, now + keep, body FROM ${wanted(table)} ORDER BY digest
ON CONFLICT (digest) DO UPDATE SET kind = excluded.kind, version = excluded.version, slot = excluded.slot,
  job = excluded.job, place = excluded.place, noted_at = excluded.noted_at, expires_at = excluded.expires_at, body = excluded.body
WHERE $3::text IS NULL OR e.expires_at <= excluded.noted_at OR ${isSeen('$3::text::json')} RETURNING e.digest, e.place`;

/** @param send runs a statement */
export function postgresEntries(
  names: TableNames,
  send: (statement: string, values: unknown[]) => Promise<readonly Row[]>,
): EntriesDialect {
  /** The newest place that the clock has given. */
  let newest = 0;
  const sqlOf = (text: string): string => {
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
    read: (text, values) => send(sqlOf(text), [...values]),
    write: async (text, values) => (await send(`${sqlOf(text)} RETURNING 1 AS one`, [...values])).length,
    async put(rows, once) {
      const over = rows[0]?.over ?? 'any';
      const values: (string | null)[] = [
        JSON.stringify(rows.map((row, i) => ({ ...row, i }))),
        String(newest + 1),
      ];
      let statement = change(entries.table);
      if (over === 'any' || over.includes(null)) {
        statement = make(entries.table);
        values.push(over === 'any' ? null : JSON.stringify(over));
      }
      const found = await once(() => send(statement, values));
      const places = new Map(found.map(({ digest, place }) => [digest, Number(place)]));
      for (const { digest, place } of rows)
        if (place === undefined) newest = Math.max(newest, places.get(digest) ?? 0);
      return rows.map(({ digest }) => places.has(digest));
    },
  };
  return entries;
}
