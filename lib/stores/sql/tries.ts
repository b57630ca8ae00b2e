/** Statements that write nothing. They show whether the table of entries has these columns, and whether this user may read and write it. */
export function tries(columns: string): string[] {
  const nothing = "WHERE id = '' AND 1 = 0";
  return [
    `INSERT INTO {entries} (${columns}) SELECT ${columns} FROM {entries} ${nothing}`,
    `UPDATE {entries} SET body = '' ${nothing}`,
    `DELETE FROM {entries} ${nothing}`,
  ];
}
