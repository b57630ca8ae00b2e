import { newId } from '../../base/shared.js';
import { type Clock, systemClock } from '../../base/clock.js';
import type { HintChannel } from '../../contract/lock-store.js';
import { type Listening, TestedChannel } from '../shared/tested-channel.js';
import type { MongoChangeStream, MongoCollection, MongoDatabase } from './client.js';
import { reasonOf } from './errors.js';
import { WRITING } from './statements.js';

/** Whom a hint is for, if it is for every process. */
const ALL = '';
/** How long a hint is kept, ms: whoever hears it hears it from the log of the server. */
const KEPT = 60_000;

/**
 * Hints between processes: documents in the collection of the entries, which every process hears by a change stream. The TTL index of the
 * entries deletes them. Servers that are no replica set have no change streams: there nobody sends and nobody listens.
 */
export class MongoHints {
  /** Whether the server has change streams, as far as is known. */
  areThere = false;

  /** @param prepare makes the collection with its TTL index; resolves to why there can be none */
  constructor(
    private readonly database: () => MongoDatabase,
    private readonly collection: string,
    private readonly prepare: () => Promise<string | undefined>,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Tells a process something. A failure costs time, and nothing else. */
  async send(process: string, text: string): Promise<void> {
    if (this.areThere) await this.#write(process, text).catch(() => undefined);
  }

  /** Tells every process something. */
  announce(text: string): Promise<void> {
    return this.send(ALL, text);
  }

  /** @returns `undefined` if the server has no change streams */
  listen(process: string, called: (token: string) => void): HintChannel | undefined {
    if (!this.areThere) return undefined;
    const rights = `Grant the user changeStream and find on the collection ${this.collection}.`;
    return new TestedChannel(
      {
        listen: (heard, lost) => this.#stream(process, heard, lost),
        send: (text) => this.#write(process, text),
        called,
        deaf: `what is written to the collection ${this.collection} does not arrive by its change stream. ${rights}`,
        refused: (error) => `MongoDB refused a change stream: ${reasonOf(error)}. ${rights}`,
      },
      this.clock,
    );
  }

  #stream(process: string, heard: (text: string) => void, lost: () => void): Listening {
    const open = this.#open(process, heard, lost);
    const close = (): void => void open.then((stream) => stream.close()).catch(() => undefined);
    return { ready: open, close };
  }

  /** Hears whatever is written from now on, also before the stream is there. */
  async #open(process: string, heard: (text: string) => void, lost: () => void): Promise<MongoChangeStream> {
    const problem = await this.prepare();
    if (problem !== undefined) throw new Error(problem);
    const answer = await this.database().command({ hello: 1 }, { readPreference: 'primary' });
    const { operationTime } = answer as { readonly operationTime?: unknown };
    const match = { operationType: 'insert', 'fullDocument.hint': { $in: [process, ALL] } };
    const stream = this.#collection().watch([{ $match: match }], {
      readPreference: 'primary',
      startAtOperationTime: operationTime,
    });
    stream.on('change', ({ fullDocument }) => heard(String(fullDocument?.text)));
    stream.on('error', lost);
    stream.on('close', lost);
    return stream;
  }

  async #write(hint: string, text: string): Promise<void> {
    const expiresAt = new Date(this.clock.now() + KEPT);
    // It has no lock, so it is no entry.
    const document = { _id: newId(), hint, text, expiresAt };
    await this.#collection().bulkWrite([{ insertOne: { document } }] as never[], WRITING);
  }

  #collection(): MongoCollection {
    return this.database().collection(this.collection);
  }
}
