import { StoreUnavailableError } from '../../base/errors.js';
import type { MongoCollection, MongoDatabase } from './client.js';
import { type DriverError, failed, notMade } from './errors.js';

/** Reads come from the primary, and only see what no failover takes back. Every option is set, so that the client's settings do not count. */
export const READING = {
  readPreference: 'primary',
  readConcern: { level: 'majority' },
  // More than the engine asks for at once: no second round trip for the rest.
  batchSize: 1_000,
};
/** Each write of a batch is judged alone, and counts when a majority has it on disk: no crash of a standalone server takes a lease back. */
export const WRITING = { ordered: false, writeConcern: { w: 'majority', j: true } };

/** The server's time, by a command that touches no document. */
export async function serverTime(database: MongoDatabase): Promise<number> {
  const hello = await database.command({ hello: 1 }, { readPreference: 'primary' });
  return (hello as { localTime: Date }).localTime.getTime();
}

/** Carries out a call that changes nothing. */
export async function asRead<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw failed(error, 'not-applied');
  }
}

/** One write of a batch. */
export interface Write {
  /** As the driver takes it. */
  readonly statement: object;
  /** Whether the write makes a document, and changes none. */
  readonly isNew: boolean;
}

/** Whether each write of a batch was made; `undefined`: a read has to find out. */
export type Answers = (boolean | undefined)[];

/**
 * Sends writes in one batch. If the answer does not say which writes were made, reads what is there.
 *
 * @param look tells of each write whether it is there; `undefined`: others have written since
 * @param codes which errors say that a write was not made
 * @returns for each whether it was made; `undefined`: nobody can tell
 */
export async function sendBatch(
  collection: () => MongoCollection,
  writes: readonly Write[],
  look: () => Promise<Answers>,
  codes?: readonly number[],
): Promise<Answers> {
  let problem = new StoreUnavailableError('MongoDB has made some writes, and did not tell which.', {
    outcome: 'unknown',
  });
  let answers: Answers | undefined;
  let made = 0;
  try {
    const statements = writes.map(({ statement }) => statement) as never[];
    const { matchedCount, upsertedCount = 0 } = await collection().bulkWrite(statements, WRITING);
    made = matchedCount + upsertedCount;
    answers = answersOf(writes, [], made);
  } catch (error) {
    const known = notMade(error as DriverError, writes.length, codes);
    if (known === undefined) problem = failed(error, 'unknown');
    else [made, answers] = [known.updated, answersOf(writes, known.failed, known.updated)];
  }
  if (answers?.every((answer) => answer !== undefined) === true) return answers;
  if (problem.outcome === 'not-applied') throw problem;
  const found = await look().catch(() => undefined);
  // If the documents show all writes, all were made. A write that is missing may still be made, unless the answer says that it failed.
  if (found === undefined || (answers === undefined && !found.every((isMade) => isMade === true)))
    throw problem;
  return answers === undefined ? found : settled(answers, found, made);
}

/** What an answer leaves open, a look settles; and what that leaves open, the number of updates may. */
function settled(answers: Answers, found: Answers, updates: number): Answers {
  const looked = answers.map((answer, i) => (answer === undefined ? found[i] : undefined));
  const missing = updates - looked.filter((isMade) => isMade === true).length;
  const open = answers.filter((answer, i) => answer === undefined && looked[i] === undefined).length;
  const rest = missing === 0 ? false : missing === open ? true : undefined;
  return answers.map((answer, i) => answer ?? looked[i] ?? rest);
}

/** The answers to a batch: MongoDB names the inserts that failed, but only counts the updates. */
function answersOf(writes: readonly Write[], failures: readonly number[], updates: number): Answers {
  const isOpen = ({ isNew }: Write, i: number): boolean => !isNew && !failures.includes(i);
  const open = writes.filter(isOpen).length;
  const updated = updates === open ? true : updates === 0 ? false : undefined;
  return writes.map((write, i) => (isOpen(write, i) ? updated : !failures.includes(i)));
}
