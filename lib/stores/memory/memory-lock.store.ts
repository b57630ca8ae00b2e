/*
 * lib/stores/memory: locks in the memory of this process, for tests and for applications with one instance.
 * May not enter: rules of its own; those of lib/rules decide.
 */
import { systemClock, type Clock } from '../../base/clock.js';
import { RETENTION, TICK_RETENTION } from '../../contract/allowances.js';
import { changeOf, lookAt } from '../../rules/documents/looks.js';
import { type Rule, readableLock } from '../../rules/lock/document.js';
import { extend } from '../../rules/lock/leases.js';
import { acquireInLine, lineInfo, releaseInLine } from '../../rules/lock/in-line.js';
import { inspect } from '../../rules/lock/inspect.js';
import { callsIn, entryOfCall, lineOf, Lines, Moments, seenCall } from '../../rules/entries/lines.js';
import { EntryHistory, startsOf } from '../../rules/entries/history.js';
import type { HistoryStore } from '../../contract/history-store.js';
import { documentLocks } from '../../rules/entries/queue-locks.js';
import { EntryQueue } from '../../rules/entries/queue.js';
import {
  type AcquireRequest,
  type AcquireResult,
  EVERYTHING,
  type ExtendResult,
  type HintChannel,
  type LeaseRef,
  type LockStore,
  type ReleaseOptions,
  type ReleaseResult,
} from '../../contract/lock-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type { NewPause, Pause } from '../../contract/pause.js';
import { pause, resume } from '../../rules/lock/pauses.js';
import { MemoryDocuments } from './memory-documents.js';
import { MemoryEntries } from './memory-entries.js';

/**
 * Leases in the memory of this process, for development and tests: instances in other processes are not excluded. Applications
 * that have to exclude each other must share one store object.
 */
export class MemoryLockStore implements LockStore {
  readonly label = 'the memory of this process';
  readonly keeps = EVERYTHING;
  readonly queuedCalls: EntryQueue;
  readonly history: HistoryStore & Pick<EntryHistory, 'ended'>;
  readonly #hints = new MemoryHints();
  readonly #moments = new Moments();
  readonly #clock: Clock;
  readonly #documents: MemoryDocuments;
  readonly #entries: MemoryEntries;

  constructor({ clock = systemClock }: { clock?: Clock } = {}) {
    const documents = new MemoryDocuments(clock);
    const entries = new MemoryEntries(clock);
    this.#clock = clock;
    this.#documents = documents;
    this.#entries = entries;
    this.history = new EntryHistory(entries, startsOf(documents), clock);
    this.queuedCalls = new EntryQueue(entries, {
      locks: documentLocks(documents, new Lines(entries), async (name, rule) => this.#decide(name, rule)),
      history: this.history,
      moments: this.#moments,
      clock,
      announce: (text) => this.#hints.announce(text),
    });
    documents.retention = (read) => {
      if (entries.has(read.name)) return Infinity;
      const { starts, more } = readableLock(read);
      return starts.size === 0 && more?.['paused'] === undefined ? RETENTION : TICK_RETENTION;
    };
  }

  /** Like all calls, it takes effect before it returns its promise. */
  async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const at = this.#moments.at(this.#clock.now());
    const asked = request.wait === undefined ? request : { ...request, at };
    return this.#decide(request.name, (document, now, line) => acquireInLine(document, now, asked, line));
  }

  async extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return leases.map((lease) => this.#decide(lease.name, (document, now) => extend(document, now, lease)));
  }

  async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const ending = this.queuedCalls.end(lease, options.outcome ?? 'completed');
    if (ending !== undefined) await ending;
    const result = this.#decide(lease.name, (document, now, line) =>
      releaseInLine(document, now, lease, options, line),
    );
    this.history.ended(lease, options, !result.released);
    return result;
  }

  async pause(name: string, asked: NewPause): Promise<Pause> {
    return this.#decide(name, (document, now) => pause(document, now, asked));
  }

  async resume(name: string, { id }: Pick<Pause, 'id'>): Promise<boolean> {
    return this.#decide(name, (document, now) => resume(document, now, id));
  }

  async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    const { now, documents } = this.#documents.look(names ?? 'all');
    const queuedCalls = await this.queuedCalls.shown(documents.map(({ name }) => name));
    return documents.map((read) => {
      const document = readableLock(read);
      const line = lineInfo(document, now, callsIn(this.#entries.look(lineOf(read.name))));
      return { ...inspect(read.name, document, now), ...line, ...queuedCalls(read.name) };
    });
  }

  hints(process: string, called: (token: string) => void): HintChannel {
    return this.#hints.listen(process, called);
  }

  /** Takes a lock away from its holder. @internal for tests */
  evict(name: string): void {
    this.#documents.free(name);
  }

  /** Applies the decision of a rule to a lock. */
  #decide<T>(name: string, decide: Rule<T>): T {
    // Its lease may end between the look and the write, which the next look finds.
    for (let hasMoved = false; ;) {
      const { now, documents } = this.#documents.look([name]);
      const look = lookAt(documents[0]);
      const standing = callsIn(this.#entries.look(lineOf(name)));
      const { answer, change, hint, first, over = [] } = decide(look.document, now, standing);
      if (first !== undefined && !hasMoved) {
        hasMoved = true;
        if ('enters' in first) this.#entries.set(entryOfCall(name, first.enters, now));
        else this.#entries.remove(seenCall(name, first.leaves));
        continue;
      }
      if (change === undefined) return answer;
      if (!this.#documents.set(changeOf(name, look, change, now).change)) continue;
      for (const call of over) this.#entries.remove(seenCall(name, call));
      if (hint !== undefined) this.#hints.send(hint.process, hint.token);
      return answer;
    }
  }
}

/** Hints to the processes that share this memory. */
class MemoryHints {
  readonly #listeners = new Map<string, (token: string) => void>();

  listen(process: string, called: (token: string) => void): HintChannel {
    this.#listeners.set(process, called);
    return { open: true, close: () => void this.#listeners.delete(process) };
  }

  /** Tells it in a later turn: the caller is not done yet. */
  send(process: string, token: string): void {
    void Promise.resolve().then(() => this.#listeners.get(process)?.(token));
  }

  /** Tells every process. */
  announce(text: string): void {
    for (const process of this.#listeners.keys()) this.send(process, text);
  }
}
