import { isDate } from 'node:util/types';
import type { Change, DocumentsRead, LockDocuments, ReadDocument, Renewal } from '../../contract/port.js';
import type { MongoCollection, MongoDatabase } from './client.js';
import { type Answers, asRead, READING, serverTime, sendBatch, type Write } from './statements.js';

/** The document of a lock: ShedLock's, with two fields of ours. */
interface Stored {
  readonly _id: unknown;
  readonly lockUntil?: unknown;
  readonly lockedAt?: unknown;
  readonly lockedBy?: unknown;
  readonly version?: unknown;
  readonly state?: unknown;
  /** The time of the server at the read. */
  readonly now: Date;
}

/** A write for a lock. */
interface NamedWrite extends Write {
  readonly name: string;
  /** Whether a document shows that the write was made. `undefined`: others have written since. */
  isIn(found: ReadDocument | undefined): boolean | undefined;
}

/**
 * The documents of locks in a collection of MongoDB.
 *
 * The end of a lease counts from the server's time, which was read just before the write. So the same statements run on all versions, and a
 * late write does not prolong the lease.
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

  async write(changes: readonly Change[]): Promise<Answers> {
    if (changes.length === 0) return [];
    const now = await this.#time();
    return this.#send(changes.map((change) => writeOf(change, now)));
  }

  async renew(renewals: readonly Renewal[]): Promise<boolean[]> {
    if (renewals.length === 0) return [];
    const { now, byName } = await this.#read(renewals);
    const live = renewals.flatMap((renewal) => {
      const { until, by } = byName.get(renewal.name) ?? {};
      return until !== undefined && until > now && by === renewal.by ? renewalOf(renewal, until, now) : [];
    });
    const answers = live.length === 0 ? [] : await this.#send(live);
    const renewed = new Set(live.filter((_, i) => answers[i] === true).map(({ name }) => name));
    return renewals.map(({ name }) => renewed.has(name));
  }

  #send(writes: readonly NamedWrite[]): Promise<Answers> {
    return sendBatch(this.#collection, writes, () => this.#made(writes));
  }

  async #made(writes: readonly NamedWrite[]): Promise<Answers> {
    const { byName } = await this.#read(writes);
    return writes.map(({ name, isIn }) => isIn(byName.get(name)));
  }

  async #read(at: readonly { readonly name: string }[]) {
    const { now, documents } = await this.read(at.map(({ name }) => name));
    return { now, byName: new Map(documents.map((document) => [document.name, document])) };
  }

  async #find(names: readonly string[] | 'all'): Promise<Stored[]> {
    const which = names === 'all' ? [] : [{ $match: { _id: { $in: names } } }];
    const found = await asRead(() =>
      this.#collection()
        .aggregate([...which, { $project: FIELDS }], READING)
        .toArray(),
    );
    return found as Stored[];
  }

  #time(): Promise<number> {
    return asRead(() => serverTime(this.database()));
  }

  readonly #collection = (): MongoCollection => this.database().collection(this.collection);
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

/** The write for a change. The writer draws a new version for the document. @param now by the server */
function writeOf({ name, seen, end, begins, version, by, state }: Change, now: number): NamedWrite {
  const isIn: NamedWrite['isIn'] = (found) => {
    if (found?.version === version) return true;
    const isAsSeen =
      found === undefined ? seen === null : found.version === seen?.version && found.by === seen.by;
    return isAsSeen ? false : undefined;
  };
  const until = end === undefined ? undefined : { lockUntil: dateOf(now + end) };
  const set = { lockedBy: by, version, state, ...(begins && { lockedAt: dateOf(now) }) };
  if (seen === null) {
    // ShedLock leaves no field out.
    const document = { _id: name, lockUntil: dateOf(0), lockedAt: dateOf(now), ...set, ...until };
    return { name, isIn, isNew: true, statement: { insertOne: { document } } };
  }
  const after = { $gt: dateOf(now) };
  const filter = {
    _id: name,
    version: same(seen.version),
    lockedBy: same(seen.by),
    lockUntil: seen.taken ? after : { $not: after },
  };
  // A renewal leaves the version: of two ends of one lease, the later one is newer.
  const goesOn = seen.taken && seen.by === by && end !== undefined && end > 0;
  const update = goesOn ? { $set: set, $max: until } : { $set: { ...set, ...until } };
  return { name, isIn, isNew: false, statement: { updateOne: { filter, update } } };
}

/** The write for a renewal, over the end that was read: a renewal that arrives after a later one does not shorten the lease. */
function renewalOf({ name, by, ttl }: Renewal, seen: number, now: number): NamedWrite {
  const end = now + ttl;
  const filter = { _id: name, lockedBy: by, lockUntil: dateOf(seen) };
  return {
    name,
    isIn: (found) => found?.by === by && found.until === end,
    isNew: false,
    statement: { updateOne: { filter, update: { $set: { lockUntil: dateOf(end) } } } },
  };
}

/** Rounded up: a lease must not end before its holder expects the end. */
const dateOf = (time: number): Date => new Date(Math.ceil(time));

/** A condition on a field. The empty text stands for a missing field. */
const same = (text: string): unknown => (text === '' ? { $in: ['', null] } : text);
