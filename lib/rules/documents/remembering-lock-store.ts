import { systemClock } from '../../base/clock.js';
import type { FastPort } from '../../contract/fast-port.js';
import type { HistoryStore } from '../../contract/history-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type { HintChannel, LeaseRef, ReleaseOptions, ReleaseResult } from '../../contract/lock-store.js';
import type { QueuedCallStore } from '../../contract/queued-call-store.js';
import { DocumentLockStore, type DocumentLockStoreOptions } from './document-lock-store.js';
import type { LockEntries } from '../entries/entries.js';
import { Lines } from '../entries/lines.js';
import type { DocumentsRead, LockDocuments } from '../../contract/port.js';
import { lineInfo } from '../lock/in-line.js';
import { hasLine } from '../lock/mark.js';
import { inspect } from '../lock/inspect.js';
import { EntryHistory, type EntryHistoryOptions, startsOf } from '../entries/history.js';
import { keeping } from '../entries/keeping.js';
import { documentLocks } from '../entries/queue-locks.js';
import { EntryQueue } from '../entries/queue.js';
import { readableLock } from '../lock/state.js';

/**
 * A {@link DocumentLockStore} that also keeps queued calls, and remembers who ran what, and which instances there are, in entries beside the
 * locks.
 *
 * The record of a run is written right after the release, or a moment later: one that cannot be written is lost, and changes nothing for the lock.
 */
export class RememberingLockStore extends DocumentLockStore {
  readonly history: Required<HistoryStore>;
  readonly queuedCalls: QueuedCallStore;
  readonly #history: EntryHistory;
  readonly #queue: EntryQueue;
  readonly #lines: Lines;
  declare readonly fastPort: FastPort;

  constructor(
    documents: LockDocuments,
    entries: LockEntries,
    options: DocumentLockStoreOptions & EntryHistoryOptions = {},
  ) {
    const lines = new Lines(entries);
    super(documents, { ...options, lines });
    const { clock = systemClock } = options;
    this.#lines = lines;
    const history = new EntryHistory(entries, startsOf(documents), clock, options);
    const locks = documentLocks(documents, lines, this.decide.bind(this));
    this.history = this.#history = history;
    this.queuedCalls = this.#queue = new EntryQueue(entries, {
      locks,
      history,
      moments: this.moments,
      clock,
      forPeople: options.forPeople,
      ...(options.announce && { announce: options.announce }),
    });
    const { acquire, release } = this.fastPort;
    this.fastPort = {
      standsFor: METHODS,
      acquire,
      release: (lease, how, told) => release(lease, how, keeping(history, lease, how, told)),
    };
  }

  override async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    let result: ReleaseResult | undefined;
    try {
      return (result = await super.release(lease, options));
    } finally {
      this.#history.ended(lease, options, result?.released !== true);
    }
  }

  /** No hints arrive: calls in line ask for their turn. A store that can tell other processes overrides it. */
  hints(_process: string, _called: (token: string) => void): HintChannel | undefined {
    return undefined;
  }

  protected override async shown({ now, documents }: DocumentsRead): Promise<LockInfo[]> {
    const locks = documents.map((read) => ({ name: read.name, document: readableLock(read) }));
    const [queued, lines] = await Promise.all([
      this.#queue.shown(locks.map(({ name }) => name)),
      this.#lines.shown(locks.filter(({ document }) => hasLine(document, now)).map(({ name }) => name)),
    ]);
    return locks.map(({ name, document }) => ({
      ...inspect(name, document, now),
      ...lineInfo(document, now, lines.get(name) ?? []),
      ...queued(name),
    }));
  }

  protected override ending(lease: LeaseRef, options: ReleaseOptions): Promise<void> | undefined {
    return this.#queue.end(lease, options.outcome ?? 'completed');
  }

  /** Writes the records that are not written yet. */
  async close(): Promise<void> {
    await this.#history.flush();
  }
}

const METHODS = {
  acquire: RememberingLockStore.prototype.acquire,
  release: RememberingLockStore.prototype.release,
};
