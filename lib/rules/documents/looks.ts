import type { Clock } from '../../base/clock.js';
import type { Standing } from '../../contract/line.js';
import { lookAt } from './changes.js';
import type { Snapshot } from './guesses.js';
import type { Lane } from './lanes.js';
import type { Lines } from '../entries/lines.js';
import type { LockDocuments, ReadDocument } from '../../contract/port.js';
import { hasLine } from '../lock/mark.js';

/** How many locks are known as marked. A caller can make up a name per call: when there are too many, it starts anew. */
const MOST_MARKED = 10_000;

/** What was found of a lock. */
export interface Found extends Snapshot {
  /** Its line, or why it could not be read. Absent: it does not count. */
  readonly line?: LineRead | undefined;
}

type LineRead = readonly Standing[] | Error;

/** Reads documents, and the lines that count: those of calls that wait, and of locks whose documents have a mark. */
export class Looks {
  /** Locks whose documents had a mark when they were read last: their lines are read along with them. */
  readonly #marked = new Set<string>();

  /**
   * @param lines absent: no call waits
   * @param saw is called with each document that was read
   */
  constructor(
    private readonly documents: LockDocuments,
    private readonly lines: Lines | undefined,
    private readonly clock: Clock,
    private readonly saw: (document: ReadDocument) => void,
  ) {}

  /** @returns a function that tells what was found of one, and throws if that cannot be read */
  async at(lanes: readonly Lane[]): Promise<(name: string) => Found> {
    const along = lanes.filter(({ name, tasks }) =>
      tasks.some(({ line }) => line === 'always' || (line !== undefined && this.#marked.has(name))),
    );
    const [{ now, documents, problems }, lines] = await Promise.all([
      this.documents.read(lanes.map(({ name }) => name)),
      this.#read(along),
    ]);
    const at = this.clock.monotonic();
    const looks = new Map(
      lanes.map(({ name }) => [name, () => lookAt(undefined, now, at, problems?.get(name))]),
    );
    for (const document of documents) {
      this.saw(document);
      looks.set(document.name, () => lookAt(document, now, at, problems?.get(document.name)));
    }
    const marked = lanes.filter((lane) => this.#isMarked(lane.name, looks.get(lane.name)));
    const missing = marked.filter(
      (lane) => !lines.has(lane.name) && lane.tasks.some(({ line }) => line !== undefined),
    );
    const more = await this.#read(missing);
    return (name) => ({ ...(looks.get(name) as () => Snapshot)(), line: lines.get(name) ?? more.get(name) });
  }

  async #read(lanes: readonly Lane[]): Promise<ReadonlyMap<string, LineRead>> {
    if (this.lines === undefined || lanes.length === 0) return new Map();
    const names = lanes.map(({ name }) => name);
    return this.lines
      .read(names)
      .catch((error: unknown) => new Map(names.map((name) => [name, error as Error])));
  }

  #isMarked(name: string, look: (() => Snapshot) | undefined): boolean {
    let isMarked = false;
    try {
      const found = look?.();
      isMarked = found !== undefined && hasLine(found.document, found.time);
    } catch {
      // Whoever asks for this lock is told.
    }
    if (!isMarked) this.#marked.delete(name);
    if (this.#marked.size >= MOST_MARKED) this.#marked.clear();
    if (isMarked) this.#marked.add(name);
    return isMarked;
  }
}
