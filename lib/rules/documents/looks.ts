import type { Clock } from '../../base/clock.js';
import type { Standing } from '../../contract/line.js';
import type { LockDocuments } from '../../contract/port.js';
import type { Lines } from '../entries/lines.js';
import { hasLine } from '../lock/mark.js';
import { lookAt } from './changes.js';
import type { KnownLocks, Snapshot } from './known.js';
import type { Queue } from './tasks.js';

/** What was found of a lock. */
export interface Found extends Snapshot {
  /** Its line, or why it could not be read. Absent: it does not count. */
  readonly line?: LineRead | undefined;
}

type LineRead = readonly Standing[] | Error;

/** Reads documents, and the lines that count: those of calls that wait, and of locks whose documents have a mark. */
export class Looks {
  /** @param lines absent: no call waits */
  constructor(
    private readonly documents: LockDocuments,
    private readonly lines: Lines | undefined,
    private readonly known: KnownLocks,
    private readonly clock: Clock,
  ) {}

  /** @returns what was found of each of these locks, or why it cannot be told */
  async at(queues: readonly Queue[]): Promise<(Found | Error)[]> {
    const along = queues.filter((queue) => goesByLine(queue, this.known.isMarked(queue.name)));
    const [{ now, documents, problems }, lines] = await Promise.all([
      this.documents.read(queues.map(({ name }) => name)),
      this.#read(along),
    ]);
    const at = this.clock.monotonic();
    const read = new Map(documents.map((document) => [document.name, document]));
    const looks = queues.map(({ name }) =>
      settled(() => lookAt(read.get(name), now, at, problems?.get(name))),
    );
    const missing = queues.filter((queue, i) => {
      const look = looks[i];
      const isMarked = !(look instanceof Error) && hasLine(look?.document, now);
      this.known.saw(queue.name, read.get(queue.name)?.version, isMarked);
      return isMarked && !lines.has(queue.name) && goesByLine(queue, true);
    });
    const more = await this.#read(missing);
    return looks.map((look, i) => {
      const { name = '' } = queues[i] ?? {};
      return look instanceof Error ? look : { ...look, line: lines.get(name) ?? more.get(name) };
    });
  }

  async #read(queues: readonly Queue[]): Promise<ReadonlyMap<string, LineRead>> {
    if (this.lines === undefined || queues.length === 0) return new Map();
    const names = queues.map(({ name }) => name);
    return this.lines
      .read(names)
      .catch((error: unknown) => new Map(names.map((name) => [name, error as Error])));
  }
}

const goesByLine = ({ tasks }: Queue, isMarked: boolean): boolean =>
  tasks.some(({ line }) => line === 'always' || (line !== undefined && isMarked));

function settled<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (error) {
    return error as Error;
  }
}
