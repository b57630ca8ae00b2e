import { newId } from '../../base/shared.js';
import type { Change, LockDocuments, ReadDocument, SeenDocument } from '../../contract/port.js';
import { check, show } from './assert.js';
import type { LockDocumentsContractOptions, PortSubject } from './port-options.js';

/** For documents that must stay taken, ms. */
export const HOUR = 3_600_000;
/** For documents that must end, ms. */
export const SHORT = 30;
/** How long a case waits for an end, on the database's clock, before it fails, ms. */
const WAIT_LIMIT = 30_000;

/** The tools of a case: the database under test, and the usual moves. */
export class PortKit {
  readonly documents: LockDocuments;
  readonly #all: readonly LockDocuments[];
  readonly #run = newId().slice(0, 8);

  constructor(
    subject: PortSubject,
    readonly options: LockDocumentsContractOptions,
  ) {
    this.documents = subject.documents;
    this.#all = [subject.documents, ...(subject.others ?? [])];
  }

  /** A name that no other run of the suite uses. */
  name(label = 'lock'): string {
    return `port-${this.#run}-${label}`;
  }

  /** A change over nothing, or over what was seen. Frozen: a database must not change its arguments. */
  change(name: string, seen: SeenDocument | null, fields: Partial<Change> = {}): Change {
    const version = newId();
    const more = seen === null ? { begins: true as const } : {};
    return Object.freeze({ name, seen, end: HOUR, ...more, version, by: 'host/one', state: '{}', ...fields });
  }

  /** A new document. */
  async put(name: string, fields: Partial<Change> = {}): Promise<ReadDocument> {
    const change = this.change(name, null, fields);
    const [written] = await this.documents.write([change]);
    check(
      written === true,
      () => `a document that is new should be written, but the answer is ${show(written)}`,
    );
    return this.read(name);
  }

  /** The document of a lock, which must be there. */
  async read(name: string): Promise<ReadDocument> {
    const { documents } = await this.documents.read([name]);
    const [found] = documents;
    check(
      found !== undefined && documents.length === 1 && found.name === name,
      () => `read should find the document of ${show(name)}, but found ${show(documents)}`,
    );
    return found;
  }

  /** What a change of a document is written over. */
  seen({ version, by }: ReadDocument, fields: Partial<SeenDocument> = {}): SeenDocument {
    return { version, by, taken: true, ...fields };
  }

  /** Writes one change. */
  async write(change: Change): Promise<boolean | undefined> {
    const answers = await this.documents.write([change]);
    check(answers.length === 1, () => `write of one change answered ${show(answers)}`);
    return answers[0];
  }

  /** A change must not be written, and must change nothing. */
  async refused(change: Change, what: string): Promise<void> {
    const before = await this.read(change.name);
    const written = await this.write(change);
    check(written === false, () => `${what} should not be written, but the answer is ${show(written)}`);
    const after = await this.read(change.name);
    check(
      same(before, after),
      () => `${what} should change nothing, but ${show(before)} became ${show(after)}`,
    );
  }

  /** Many calls at once, by as many instances as there are. */
  atOnce<A, T>(each: readonly A[], call: (documents: LockDocuments, one: A) => Promise<T>): Promise<T[]> {
    return Promise.all(each.map((one, i) => call(this.#all[i % this.#all.length] ?? this.documents, one)));
  }

  /** Lets time pass until a lock is free by the database's clock. */
  async ended(name: string): Promise<ReadDocument> {
    for (let waited = 0; waited < WAIT_LIMIT; waited += SHORT) {
      await this.options.wait(SHORT);
      const { now, documents } = await this.documents.read([name]);
      const [found] = documents;
      if (found !== undefined && found.until <= now) return found;
    }
    throw new Error(`the document of ${show(name)} should have ended by now`);
  }

  /** How long a lock is taken yet, ms: at most so long, and more than half of it. */
  async left(name: string, most: number, what: string): Promise<void> {
    const { now, documents } = await this.documents.read([name]);
    const left = (documents[0]?.until ?? NaN) - now;
    check(
      left > most / 2 && left <= most + 1,
      () =>
        `${what}: it should be taken for at most ${most} ms, and more than half of that, but it is for ${left}`,
    );
  }
}

/** Whether two reads found the same. */
export const same = (a: ReadDocument, b: ReadDocument): boolean =>
  a.version === b.version &&
  a.by === b.by &&
  a.state === b.state &&
  Math.abs(a.until - b.until) < 1 &&
  Math.abs(a.since - b.since) < 1;
