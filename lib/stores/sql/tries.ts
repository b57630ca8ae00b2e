/**
 * Statements that write nothing. They show whether a table exists with its columns, and whether this user may read and write the table.
 *
 * @param key a column of texts that is never empty @param text another one
 */
export function tries(
  table: string,
  { columns, key, text }: Record<'columns' | 'key' | 'text', string>,
): string[] {
  const nothing = `WHERE ${key} = '' AND 1 = 0`;
  return [
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${table} ${nothing}`,
    `UPDATE ${table} SET ${text} = '' ${nothing}`,
    `DELETE FROM ${table} ${nothing}`,
  ];
}
