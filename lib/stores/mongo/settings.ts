import type { MongoDatabase } from './client.js';

/** Reads come from the primary, and only see what no failover takes back. Every option is set, so that the client's settings do not count. */
export const READING = {
  readPreference: 'primary',
  readConcern: { level: 'majority' },
  // More than the engine asks for at once: no second round trip for the rest.
  batchSize: 1_000,
};
/** Each write of a batch is judged alone, and counts when a majority has it. */
export const WRITING = { ordered: false, writeConcern: { w: 'majority' } };

/** The server's time, by a command that touches no document. */
export async function serverTime(database: MongoDatabase): Promise<number> {
  const hello = await database.command({ hello: 1 }, { readPreference: 'primary' });
  return (hello as { localTime: Date }).localTime.getTime();
}
