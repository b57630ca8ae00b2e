import { isDate } from 'node:util/types';
import type { Change, DocumentsRead, LockDocuments, ReadDocument, Renewal } from '../../store/port.js';
import type { MongoCollection, MongoDatabase } from './client.js';
import { type DriverError, failed, notMade } from './errors.js';

/** Of the primary, and only what no failover takes back. The driver is told everything: what the client is set to has no say. */
const READING = {
  readPreference: 'primary',
  readConcern: { level: 'majority' },
  // More than the engine asks for at once: no second round trip for the rest.
  batchSize: 1_000,
};
const WRITING = { ordered: false, writeConcern: { w: 'majority' } };

/** The document of a lock: ShedLock's, with two fields of ours. */
interface Stored {
  readonly _id: unknown;
  readonly lockUntil?: unknown;
  readonly lockedAt?: unknown;
  readonly lockedBy?: unknown;
  readonly version?: unknown;
  readonly state?: unknown;
  /** The time of the server, at which it was read. */
  readonly now: Date;
}

/** Whether each of a batch was written; `undefined`: that has to be read. */
type Answers = (boolean | undefined)[];

/**
 * The documents of locks in a collection of MongoDB.
 *
 * What is written counts from a time that the server was asked for just before: so the same statements run everywhere, and a lease
 * that arrives late ends no later.
 */
export class MongoDocuments implements LockDocuments {
  constructor(
    private readonly database: () => MongoDatabase,
    private readonly collection: string,
  ) {}

  async read(names: readonly string[] | 'all'): Promise<DocumentsRead> {
    const stored = names === 'all' || names.length > 0 ? await this.#find(names) : [];
    const now = stored[0]?.now.getTime() ?? (await this.#time());
    return { now, documents: stored.flatMap((each) => documentOf(each) ?? []) };
  }

  async write(changes: readonly Change[]): Promise<boolean[]> {
    if (changes.length === 0) return [];
    const now = await this.#time();
    const inserts = changes.map(({ seen }) => seen === null);
    const answers = await this.#send(
      changes.map((change) => statementOf(change, now)),
      inserts,
      // An unknown outcome, and a batch of which too few were written: whoever wrote a document has drawn its version.
      async () => {
        const found = await this.#documents(changes);
        return changes.map(({ name, version }) => found.get(name)?.version === version);
      },
    );
    return answers;
  }

  async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    if (renewals.length === 0) return [];
    const { now, documents } = await this.read(renewals.map(({ name }) => name));
    const byName = new Map(documents.map((document) => [document.name, document]));
    const live = renewals.flatMap((renewal) => {
      const { until, by } = byName.get(renewal.name) ?? {};
      return until !== undefined && until > now && by === renewal.by ? [{ ...renewal, until }] : [];
    });
    if (live.length === 0) return renewals.map(() => false);
    const answers = await this.#send(
      live.map((renewal) => renewalOf(renewal, now)),
      live.map(() => false),
      async () => {
        const found = await this.#documents(live);
        return live.map(({ name, by, ttl }) => {
          const document = found.get(name);
          return document?.by === by && document.until === now + ttl;
        });
      },
    );
    const renewed = new Set(live.filter((_, i) => answers[i]).map(({ name }) => name));
    return renewals.map(({ name }) => renewed.has(name));
  }

  /** Sends writes in one batch. @param look which of them were made, where the answer does not tell */
  async #send(
    statements: readonly object[],
    inserts: readonly boolean[],
    look: () => Promise<boolean[]>,
  ): Promise<boolean[]> {
    let answers: Answers;
    try {
      const { matchedCount } = await this.#collection().bulkWrite(statements as never[], WRITING);
      answers = answersOf(inserts, [], matchedCount);
    } catch (error) {
      const known = notMade(error as DriverError, statements.length);
      if (known === undefined) return this.#settle(error, look);
      answers = answersOf(inserts, known.failed, known.matchedCount);
    }
    if (answers.every((answer) => answer !== undefined)) return answers;
    const found = await look();
    return answers.map((answer, i) => answer ?? found[i] ?? false);
  }

  /** The outcome is unknown. If all of them are there, they were made; if one is not, it may still come. */
  async #settle(error: unknown, look: () => Promise<boolean[]>): Promise<boolean[]> {
    const problem = failed(error, 'unknown');
    if (problem.outcome === 'not-applied') throw problem;
    const found = await look().catch(() => [false]);
    if (found.includes(false)) throw problem;
    return found;
  }

  async #documents(of: readonly { readonly name: string }[]): Promise<Map<string, ReadDocument>> {
    const stored = await this.#find(of.map(({ name }) => name));
    return new Map(stored.flatMap((each) => documentOf(each) ?? []).map((each) => [each.name, each]));
  }

  async #find(names: readonly string[] | 'all'): Promise<Stored[]> {
    const which = names === 'all' ? [] : [{ $match: { _id: { $in: names } } }];
    const found = await this.#call(() =>
      this.#collection()
        .aggregate([...which, { $project: FIELDS }], READING)
        .toArray(),
    );
    return found as Stored[];
  }

  /** The server's time, by a command that touches no document. */
  async #time(): Promise<number> {
    const { localTime } = (await this.#call(() =>
      this.database().command({ hello: 1 }, { readPreference: 'primary' }),
    )) as { localTime: Date };
    return localTime.getTime();
  }

  #collection(): MongoCollection {
    return this.database().collection(this.collection);
  }

  async #call<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      // A look changes nothing.
      throw failed(error, 'not-applied');
    }
  }
}

const FIELDS = { lockUntil: 1, lockedAt: 1, lockedBy: 1, version: 1, state: 1, now: '$$NOW' };

function documentOf(stored: Stored): ReadDocument | undefined {
  const { _id: name, version, lockedBy, lockUntil, lockedAt, state } = stored;
  if (typeof name !== 'string') return undefined;
  return {
    name,
    version: textOf(version),
    by: textOf(lockedBy),
    until: timeOf(lockUntil),
    since: timeOf(lockedAt),
    state: textOf(state),
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const timeOf = (value: unknown): number => (isDate(value) ? value.getTime() : 0);

/** What is written for a change. @param now by the server */
function statementOf({ name, seen, end, begins, version, by, state }: Change, now: number): object {
  const until = end === undefined ? undefined : { lockUntil: dateOf(now + end) };
  const set = { lockedBy: by, version, state, ...(begins && { lockedAt: dateOf(now) }) };
  // ShedLock leaves no field out.
  if (seen === null)
    return {
      insertOne: { document: { _id: name, lockUntil: dateOf(0), lockedAt: dateOf(now), ...set, ...until } },
    };
  const after = { $gt: dateOf(now) };
  const filter = {
    _id: name,
    version: same(seen.version),
    lockedBy: same(seen.by),
    lockUntil: seen.taken ? after : { $not: after },
  };
  // A renewal leaves the version: of one lease, a longer end is the newer one.
  const goesOn = seen.taken && seen.by === by && end !== undefined && end > 0;
  const update = goesOn ? { $set: set, $max: until } : { $set: { ...set, ...until } };
  return { updateOne: { filter, update } };
}

/** What is written for a renewal, over the end that was seen: one that arrives late, after the next, shortens nothing. */
const renewalOf = ({ name, by, ttl, until }: Renewal & { until: number }, now: number): object => ({
  updateOne: {
    filter: { _id: name, lockedBy: by, lockUntil: dateOf(until) },
    update: { $set: { lockUntil: dateOf(now + ttl) } },
  },
});

/** Rounded up: a lease must not end before its holder thinks so. */
const dateOf = (time: number): Date => new Date(Math.ceil(time));

/** A field with this text. The empty one stands for a field that is not there. */
const same = (text: string): unknown => (text === '' ? { $in: ['', null] } : text);

/** The answers to a batch: MongoDB names the inserts that failed, but of updates it only tells how many there were. */
function answersOf(inserts: readonly boolean[], failures: readonly number[], matched: number): Answers {
  const isOpen = (i: number): boolean => inserts[i] !== true && !failures.includes(i);
  const open = inserts.filter((_, i) => isOpen(i)).length;
  const update = matched === open ? true : matched === 0 ? false : undefined;
  return inserts.map((_, i) => (isOpen(i) ? update : !failures.includes(i)));
}
