import { systemClock } from '../../base/clock.js';
import type { FastPort } from '../../contract/fast-port.js';
import type { HistoryStore } from '../../contract/history-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type { LeaseRef, ReleaseOptions, ReleaseResult } from '../../contract/lock-store.js';
import type { QueuedCallStore } from '../../contract/queued-call-store.js';
import { DocumentLockStore, type DocumentLockStoreOptions } from './document-lock-store.js';
import type { LockEntries } from '../entries/entries.js';
import type { LockDocuments } from '../../contract/port.js';
import { EntryHistory, type EntryHistoryOptions } from '../entries/history.js';
import { keeping } from '../entries/keeping.js';
import { documentLocks } from '../entries/queue-locks.js';
import { EntryQueue, type QueuedCallsInfo } from '../entries/queue.js';

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
  declare readonly fastPort: FastPort;

  constructor(
    documents: LockDocuments,
    entries: LockEntries,
    options: DocumentLockStoreOptions & EntryHistoryOptions = {},
  ) {
    super(documents, options);
    const { clock = systemClock } = options;
    const history = new EntryHistory(entries, documents, clock, options);
    const locks = documentLocks(documents, this.decide.bind(this));
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

  override async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    const locks = await super.inspect(names);
    const shown = await this.queuedIn(locks.map(({ name }) => name));
    return locks.map((lock) => ({ ...lock, ...shown(lock.name) }));
  }

  /** The fields of these locks that show their queued calls. @internal */
  protected queuedIn(locks: readonly string[]): Promise<(lock: string) => QueuedCallsInfo> {
    return this.#queue.shown(locks);
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
