/** The first schema of a path that has the table, or else the first one. @param path SQL, an array of names */
const firstOf = (
  path: string,
): string => `(SELECT n.nspname::text FROM unnest(${path}) WITH ORDINALITY AS s(name, i)
    JOIN pg_namespace n ON n.nspname = s.name LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $1::text
    WHERE n.oid <> pg_my_temp_schema() ORDER BY c.oid IS NULL, s.i LIMIT 1)`;

/**
 * The schema in which a table is, or would be created. $1 name of the table
 *
 * 1. Answers the schema by the search path of this session (`here`), the schema by that of a new session of this user (`usual`), and the
 *    user. If the two differ, somebody has SET the search path of this one connection.
 * 2. Each subquery refers to the one before, so the database evaluates them in this order.
 * 3. The search path is set for this statement only.
 * 4. Temporary tables do not count: they would hide the table on one connection.
 */
export const CURRENT_SCHEMA = `
SELECT ${firstOf('session.path')} AS here, ${firstOf('usual.path')} AS usual, current_user::text AS "user",
  current_setting('server_encoding') AS encoding, current_setting('statement_timeout') AS timeout
FROM (SELECT current_schemas(false) AS path OFFSET 0) session
CROSS JOIN LATERAL (SELECT session.path IS NULL AS nothing, set_config('search_path',
  (SELECT reset_val FROM pg_settings WHERE name = 'search_path'), true) AS path OFFSET 0) reset
CROSS JOIN LATERAL (SELECT current_schemas(false) AS path WHERE reset.path IS NOT NULL OFFSET 0) usual`;

/** Looks at a table: a row for each column, and none if there is no table. $1 its name, quoted */
export const LOOK_AT_TABLE = `
SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END AS type
FROM pg_attribute a WHERE a.attrelid = to_regclass($1::text) AND a.attnum > 0 AND NOT a.attisdropped`;
