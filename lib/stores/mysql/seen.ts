import { NOTHING_SEEN, type SeenLock } from '../sql/answers.js';
import { type MysqlClient, read } from './client.js';
import { nameOf } from './columns.js';
import { seenStatement } from './statements.js';
import type { MysqlTableInfo } from './table-look.js';

/** What the row of a lock says now. */
export async function readSeen(client: MysqlClient, table: MysqlTableInfo, name: string): Promise<SeenLock> {
  const [row] = await read(client, seenStatement(table, [name]));
  const isIt = row !== undefined && nameOf(String(row['name'])) === name;
  return isIt ? (row as unknown as SeenLock) : NOTHING_SEEN;
}
