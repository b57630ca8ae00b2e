import { newId } from '../../base/shared.js';
import type {
  EntriesRead,
  Entry,
  EntryQuery,
  EntrySum,
  LockEntries,
  NewEntry,
  SeenEntry,
  SumQuery,
} from '../../rules/entries/entries.js';
import { StoreUnavailableError } from '../../base/errors.js';
import { Moments } from '../../rules/entries/lines.js';
import type { MongoCollection, MongoDatabase } from './client.js';
import { DUPLICATE, failed, isDenied, isUnindexable, reasonOf } from './errors.js';
import { collectionProblem } from './server.js';
import { asRead, READING, serverTime, WRITING, sendBatch, type Write } from './statements.js';

/** An entry, as it is stored. */
interface Stored {
  readonly _id: string;
  readonly lock: string;
  readonly id: string;
  readonly kind: string;
  readonly version: string;
  /** With its lock. Absent: none. */
  readonly slot?: string;
  readonly job?: string;
  readonly place: number;
  readonly at: Date;
  readonly expiresAt: Date;
  readonly body: string;
  /** Drawn for each write: it shows who has made it. */
  readonly write: string;
}

type Found = Omit<Stored, 'write'> & { readonly now: Date };

/** A write of an entry. */
interface EntryWrite extends Write {
  readonly _id: string;
  readonly write: string;
}

const INDEXES = [
  { key: { lock: 1, kind: 1, place: 1 }, name: 'lock_kind_place' },
  // Of the entries that are in none, sparse ones have nothing: most entries are such.
  { key: { slot: 1 }, name: 'slot', unique: true, sparse: true },
  {
    key: { job: 1, lock: 1, place: 1 },
    name: 'job_lock_place',
    partialFilterExpression: { job: { $exists: true } },
  },
  { key: { expiresAt: 1 }, name: 'expiresAt', expireAfterSeconds: 0 },
];

/** What a list reads, with the time of the server. */
const FIELDS = { lock: 1, id: 1, kind: 1, version: 1, place: 1, at: 1, expiresAt: 1, body: 1, now: '$$NOW' };

/**
 * The entries of locks in a collection of MongoDB beside that of the locks. MongoDB deletes what is over within about a minute, by a TTL
 * index; until then it counts as none.
 */
export class MongoEntries implements LockEntries {
  readonly #moments = new Moments();
  /** Whether the indexes are there, or cannot be had. */
  #isReady = false;
  /** Why they cannot be had. */
  #problem: string | undefined;

  constructor(
    private readonly database: () => MongoDatabase,
    private readonly collection: string,
  ) {}

  /** Makes the collection and its indexes. */
  async init(): Promise<string | undefined> {
    try {
      this.#problem = await collectionProblem(this.database(), this.collection);
      if (this.#problem !== undefined) return this.#problem;
      await this.database().command({
        createIndexes: this.collection,
        indexes: INDEXES,
        writeConcern: WRITING.writeConcern,
      });
    } catch (error) {
      const isForGood = isDenied(error) || isUnindexable(error);
      if (!isForGood) throw failed(error, 'unknown');
      const rights = `Grant the user find, insert, update, remove and createIndex on the collection ${this.collection}.`;
      const remedy = isDenied(error) ? rights : `Rename or drop the collection ${this.collection}.`;
      this.#problem = `MongoDB refused: ${reasonOf(error)}. ${remedy}`;
    }
    this.#isReady = true;
    return this.#problem;
  }

  /** Does what `init` does, unless that was done: MongoDB may have been away at the start, or nothing was to be kept. */
  async ready(): Promise<string | undefined> {
    return this.#isReady ? this.#problem : this.init();
  }

  async put(entries: readonly NewEntry[]): Promise<boolean[]> {
    if (entries.length === 0) return [];
    const problem = await this.ready();
    if (problem !== undefined)
      throw new StoreUnavailableError(problem, { outcome: 'not-applied', refused: true });
    const now = await asRead(() => serverTime(this.database()));
    const answers = await this.#write(entries, now);
    const refused = entries.filter((_, i) => answers[i] === false);
    const slotted = refused.filter(({ slot }) => slot !== undefined);
    const isFreed = slotted.length > 0 && (await this.#freeSlots(slotted, now));
    const open = refused.filter((one) => meetsNew(one) || (isFreed && one.slot !== undefined));
    if (open.length === 0) return answers;
    const again = await this.#write(open, now);
    return entries.map((entry, i) => answers[i] === true || again[open.indexOf(entry)] === true);
  }

  async list(query: EntryQuery): Promise<EntriesRead> {
    const found = (await this.#find(stagesOf(query))) as Found[];
    const now = found[0]?.now.getTime() ?? (await asRead(() => serverTime(this.database())));
    return { now, entries: found.map(entryOf) };
  }

  async sums({ locks, kinds, jobs }: SumQuery): Promise<EntrySum[]> {
    const match = { ...(locks && { lock: { $in: locks } }), ...conditionsOf({ kinds, jobs }) };
    const sum = { _id: { lock: '$lock', kind: '$kind' }, count: { $sum: 1 }, place: { $min: '$place' } };
    const unnamed = { _id: 0, lock: '$_id.lock', kind: '$_id.kind', count: 1, place: 1 };
    return (await this.#find([{ $match: match }, { $group: sum }, { $project: unnamed }])) as EntrySum[];
  }

  async drop(seen: readonly SeenEntry[]): Promise<number> {
    if (seen.length === 0) return 0;
    return this.#delete(
      seen.map((one) => ({ deleteOne: { filter: { _id: keyOf(one), version: one.version } } })),
    );
  }

  async #write(entries: readonly NewEntry[], now: number): Promise<boolean[]> {
    const writes = entries.map((entry) => this.#writeOf(entry, now));
    const answers = await sendBatch(this.#collection, writes, () => this.#made(writes), DUPLICATE);
    return answers.map((isMade) => isMade === true);
  }

  /** Deletes what is over, and still in these slots. Returns whether there was something. */
  async #freeSlots(entries: readonly NewEntry[], now: number): Promise<boolean> {
    const slots = entries.flatMap(slotOf);
    const filter = { slot: { $in: slots }, expiresAt: { $lte: new Date(now) } };
    return (await this.#delete([{ deleteMany: { filter } }])) > 0;
  }

  async #delete(statements: readonly object[]): Promise<number> {
    try {
      const { deletedCount = 0 } = await this.#collection().bulkWrite(statements as never[], WRITING);
      return deletedCount;
    } catch (error) {
      throw failed(error, 'unknown');
    }
  }

  #writeOf({ over, keep, place, slot, job, ...entry }: NewEntry, now: number): EntryWrite {
    const _id = keyOf(entry);
    const write = newId();
    const at = this.#moments.at(now);
    const times = { at: new Date(now), expiresAt: new Date(now + Math.ceil(keep)) };
    const [key] = slotOf({ lock: entry.lock, slot });
    const facts = { ...(key !== undefined && { slot: key }), ...(job !== undefined && { job }) };
    const $set = { ...entry, ...facts, ...times, place: place ?? at, write };
    const $unset = { ...(key === undefined && { slot: '' }), ...(job === undefined && { job: '' }) };
    const update = key === undefined || job === undefined ? { $set, $unset } : { $set };
    const { filter, upsert } = conditionOf(over, now);
    return {
      _id,
      write,
      isNew: false,
      statement: { updateOne: { filter: { _id, ...filter }, update, upsert } },
    };
  }

  async #made(writes: readonly EntryWrite[]): Promise<boolean[]> {
    const match = { $match: { _id: { $in: writes.map(({ _id }) => _id) } } };
    const found = (await this.#find([match, { $project: { write: 1 } }])) as Pick<Stored, 'write'>[];
    const known = new Set(found.map(({ write }) => write));
    return writes.map(({ write }) => known.has(write));
  }

  #find(stages: object[]): Promise<unknown[]> {
    return asRead(() => this.#collection().aggregate(stages, READING).toArray());
  }

  readonly #collection = (): MongoCollection => this.database().collection(this.collection);
}

/** Also keeps texts apart that have half a character in them, which the driver would replace. */
const keyOf = ({ lock, id }: Pick<SeenEntry, 'lock' | 'id'>): string => JSON.stringify([lock, id]);

/** Whether what it may be written over can have been made just then: MongoDB looked before that, and answers as for another version. */
const meetsNew = ({ over }: NewEntry): boolean => over !== 'any' && over.length > 1 && over.includes(null);

/** What must be there to be written over. Where nothing needs to be, a document with another version is met as a duplicate. */
function conditionOf(over: NewEntry['over'], now: number): { filter: object; upsert: boolean } {
  if (over === 'any') return { filter: {}, upsert: true };
  const version = { $in: over.filter((each) => each !== null) };
  if (!over.includes(null)) return { filter: { version, expiresAt: { $gt: new Date(now) } }, upsert: false };
  return { filter: { $or: [{ version }, { expiresAt: { $lte: new Date(now) } }] }, upsert: true };
}

function stagesOf(query: EntryQuery): object[] {
  const { lock, kinds, ids, slots, jobs, before, bare, newest, skip = 0, limit } = query;
  const match = {
    lock,
    ...(ids && { _id: { $in: ids.map((id) => keyOf({ lock, id })) } }),
    ...(slots && { slot: { $in: slots.flatMap((slot) => slotOf({ lock, slot })) } }),
    ...(before !== undefined && { place: { $lt: before } }),
    ...conditionsOf({ kinds, jobs }),
  };
  return [
    { $match: match },
    { $sort: { place: newest ? -1 : 1 } },
    ...(skip > 0 ? [{ $skip: skip }] : []),
    ...(limit === undefined ? [] : [{ $limit: limit }]),
    { $project: bare ? { ...FIELDS, body: { $literal: '' } } : FIELDS },
  ];
}

/** Also keeps out what is over. FerretDB takes `$$NOW` beside a field that has an index only inside of a `$not`. */
const conditionsOf = ({ kinds, jobs }: Record<'kinds' | 'jobs', readonly string[] | undefined>): object => ({
  ...(kinds && { kind: { $in: kinds } }),
  ...(jobs && { job: { $in: jobs } }),
  $expr: { $not: [{ $lte: ['$expiresAt', '$$NOW'] }] },
});

/** A slot, as it is stored: none, or one. */
const slotOf = ({ lock, slot }: { readonly lock: string; readonly slot?: string | undefined }): string[] =>
  slot === undefined ? [] : [keyOf({ lock, id: slot })];

function entryOf({ lock, id, kind, version, place, at, expiresAt, body }: Found): Entry {
  return { lock, id, kind, version, place, at: at.getTime(), until: expiresAt.getTime(), body };
}
