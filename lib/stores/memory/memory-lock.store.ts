/*
 * lib/stores/memory: locks in the memory of this process, for tests and for applications with one instance.
 * May not enter: rules of its own; those of lib/store decide.
 */
import { systemClock, type Clock } from '../../clock.js';
import { acquire } from '../../store/rules/acquire.js';
import { type Decision, isTaken, type LockDocument } from '../../store/rules/document.js';
import { extend } from '../../store/rules/extend.js';
import { inspect } from '../../store/rules/inspect.js';
import { release } from '../../store/rules/release.js';
import { EntryHistory } from '../../store/side/history.js';
import { readableLock } from '../../store/state.js';
import type { QueuedCallStore } from '../queued-call-store.js';
import type { HistoryStore } from '../history-store.js';
import { isWaiting, shownLine } from '../line.js';
import type {
  AcquireRefusal,
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  HintChannel,
  LeaseRef,
  LockStore,
  ReleaseOptions,
  ReleaseResult,
} from '../lock-store.js';
import type { LockInfo } from '../lock-info.js';
import { NOTHING_RAN } from '../rules.js';
import { MemoryQueuedCalls } from './queued-calls.js';
import { held, MemoryLines } from './lines.js';
import { MemoryLocks, retentionOf } from './locks.js';
import { MemoryDocuments } from './memory-documents.js';
import { MemoryEntries } from './memory-entries.js';

/**
 * Leases in the memory of this process, for development and tests: instances in other processes are not excluded. Applications
 * that have to exclude each other must share one store object.
 */
export class MemoryLockStore implements LockStore {
  readonly label = 'the memory of this process';
  readonly queuedCalls: QueuedCallStore;
  readonly history: HistoryStore;
  readonly #queuedCalls: MemoryQueuedCalls;
  readonly #history: EntryHistory;
  readonly #lines: MemoryLines;
  readonly #locks: MemoryLocks;
  readonly #documents: MemoryDocuments;

  constructor({ clock = systemClock }: { clock?: Clock } = {}) {
    const documents = new MemoryDocuments(clock);
    const entries = new MemoryEntries(clock);
    const locks = new MemoryLocks(documents, clock);
    this.#documents = documents;
    this.#locks = locks;
    this.#lines = new MemoryLines(locks, clock);
    this.history = this.#history = new EntryHistory(entries, documents, clock);
    this.queuedCalls = this.#queuedCalls = new MemoryQueuedCalls(locks, this.#lines, this.#history, clock);
    documents.retention = (read) => (entries.has(read.name) ? Infinity : retentionOf(read));
  }

  /** Like all calls, it takes effect before it returns its promise. */
  async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const result = this.#locks.decide(request.name, (document, now) => this.#judge(document, now, request));
    if (result.acquired) this.#lines.leave(request);
    return result;
  }

  async extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return leases.map((lease) =>
      this.#locks.decide(lease.name, (document, now) => extend(document, now, lease)),
    );
  }

  async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const { outcome = 'completed', record } = options;
    this.#queuedCalls.end(lease, outcome);
    this.#history.ended(lease, outcome, record);
    // A call that gives up leaves the line.
    const wasCalled = lease.wait !== undefined && outcome === NOTHING_RAN && this.#lines.leave(lease);
    const result = this.#locks.decide(lease.name, (document, now) => release(document, now, lease, options));
    if (result.released || wasCalled) this.#lines.call(lease.name);
    return result;
  }

  async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    const { now, documents } = this.#documents.look(names ?? 'all');
    return documents.map((read) => ({
      ...inspect(read.name, readableLock(read), now),
      ...shownLine(this.#lines.standing(read.name), now),
      ...this.#queuedCalls.of(read.name),
    }));
  }

  hints(process: string, called: (token: string) => void): HintChannel {
    return this.#lines.hints(process, called);
  }

  /** Takes a lock away from its holder. @internal for tests */
  evict(name: string): void {
    this.#documents.free(name);
  }

  #judge(document: LockDocument | undefined, now: number, request: AcquireRequest): Decision<AcquireResult> {
    const decision = acquire(document, now, request);
    const isFree = document === undefined || !isTaken(document, now);
    if (decision.answer.acquired !== isFree) return decision;
    const refusal = isFree ? this.#before(request, document) : this.#inLine(request, decision.answer);
    return refusal === undefined ? decision : { answer: refusal };
  }

  /** Why a free lock is not for this call: it is not the first in line, or the lock was forgotten a moment ago. */
  #before(request: AcquireRequest, document: LockDocument | undefined): AcquireRefusal | undefined {
    if (!isWaiting(request)) return this.#lines.passedOver(request);
    const { notBefore = 0 } = request.wait;
    if (document === undefined && notBefore > 0) return this.#lines.enter(request, held(notBefore));
    return this.#lines.passedOver(request, request);
  }

  /** A call that waits, and that was refused because the lock is taken, stands in line from now on. */
  #inLine(request: AcquireRequest, answer: AcquireResult): AcquireRefusal | undefined {
    const isTold = answer.acquired || !['held', 'cooling-down'].includes(answer.reason);
    return isTold || !isWaiting(request) ? undefined : this.#lines.enter(request, answer);
  }
}
