/**
 * The problem of a name that is too long for its column, with what to do; `undefined` if it fits.
 *
 * @param stored the name as the column has it
 * @param room the length of the column, characters; `undefined` if it is unlimited
 * @param widening the statement that makes room
 */
export function roomProblem(
  stored: string,
  room: number | undefined,
  { table, widening }: { table: string; widening: string },
): string | undefined {
  const { length } = [...stored];
  if (room === undefined || length <= room) return undefined;
  return `it has ${length} characters, and the column name of ${table} has room for ${room}. Give a shorter name, or run this: ${widening};`;
}
