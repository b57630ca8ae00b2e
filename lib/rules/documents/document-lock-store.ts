/*
 * lib/rules: the rules of a lock, once: each reads a document and a request, and decides. Around them: reads, writes and retries over a
 * small port.
 * May not enter: I/O beyond the port. The rules (rules/lock) know neither a clock nor a promise.
 */
import { type Clock, systemClock } from '../../base/clock.js';
import {
  type SchedulerLockError,
  LockStateError,
  SchedulerLockConfigError,
  StoreUnavailableError,
} from '../../base/errors.js';
import type { FastPort, Caller } from '../../contract/fast-port.js';
import {
  type AcquireRequest,
  type AcquireResult,
  EVERYTHING,
  type ExtendOptions,
  type ExtendResult,
  type HintChannel,
  type Keeps,
  type LeaseRef,
  type LockStore,
  type ReleaseOptions,
  type ReleaseResult,
} from '../../contract/lock-store.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type { NewPause, Pause } from '../../contract/pause.js';
import { byOf, type Rule, readableLock } from '../lock/document.js';
import { type LockEntries, NO_ENTRIES } from '../entries/entries.js';
import { EntryHistory, type EntryHistoryOptions, startsOf } from '../entries/history.js';
import { Lines, Moments } from '../entries/lines.js';
import { documentLocks } from '../entries/queue-locks.js';
import { EntryQueue } from '../entries/queue.js';
import { WAITS } from '../entries/tries.js';
import type { DocumentsRead, LockDocuments } from '../../contract/port.js';
import { Rounds } from './rounds.js';
import { extend } from '../lock/leases.js';
import { pause, resume } from '../lock/pauses.js';
import { acquireInLine, givesUp, hasLine, lineInfo, releaseInLine } from '../lock/in-line.js';
import { inspect } from '../lock/inspect.js';

/** It looks the same as before, and could not be written. */
const isLocked = (name: string): LockStateError => {
  const what = 'another transaction has locked what the store keeps of it, so nothing was changed';
  return new LockStateError(name, `${what}. End that transaction.`);
};

const LOCKS_ONLY: Keeps = { lines: false, queuedCalls: false, histories: false };

/** Options of a {@link DocumentLockStore}. */
export interface DocumentLockStoreOptions {
  /** For pauses and limits of this process: the lock goes by the clock of its database. @default the system's clock */
  readonly clock?: Clock;
  /** The error for a call that changed nothing, because somebody else has locked the document. @default one for any place */
  readonly locked?: (name: string) => SchedulerLockError;
  /** Keep calls in line, queued calls and histories, beside the locks. @default nothing does: it keeps locks only */
  readonly entries?: LockEntries;
}

/**
 * A `LockStore` of documents: the rules of a lock over any database that can read a document, and write it if nothing has changed. With
 * entries beside the locks it also keeps calls in line, queued calls and histories.
 *
 * Calls of one process for one lock take effect in the order in which they were made. One that its caller gives up holds up no later one, and
 * nothing more of it is sent.
 *
 * The record of a run is written a quarter of a second after the release: one that cannot be written is lost, and changes nothing for the lock.
 */
export class DocumentLockStore implements LockStore {
  readonly keeps: Keeps;
  readonly history: EntryHistory;
  readonly queuedCalls: EntryQueue;
  readonly #rounds: Rounds;
  readonly #clock: Clock;
  readonly #lines: Lines;
  /** When calls come that wait, and calls that are queued. */
  readonly #moments = new Moments();

  constructor(
    private readonly documents: LockDocuments,
    options: DocumentLockStoreOptions & EntryHistoryOptions = {},
  ) {
    const { clock = systemClock, locked = isLocked, forPeople, entries = NO_ENTRIES } = options;
    this.keeps = entries === NO_ENTRIES ? LOCKS_ONLY : EVERYTHING;
    this.#clock = clock;
    this.#lines = new Lines(entries);
    this.#rounds = new Rounds(documents, clock, this.#lines, locked);
    this.history = new EntryHistory(entries, startsOf(documents), clock, options);
    this.queuedCalls = new EntryQueue(entries, {
      locks: documentLocks(documents, this.#lines, (...asked) => this.#decide(...asked)),
      history: this.history,
      moments: this.#moments,
      clock,
      forPeople,
    });
  }

  nameProblem(name: string): string | undefined {
    return this.documents.nameProblem?.(name);
  }

  acquire(request: AcquireRequest): Promise<AcquireResult> {
    return new Promise((answered, failed) => this.#acquire(request, { answered, failed }));
  }

  release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    return new Promise((answered, failed) => this.#release(lease, options, { answered, failed }));
  }

  pause(name: string, asked: NewPause): Promise<Pause> {
    return this.#decide(name, (document, now) => pause(document, now, asked));
  }

  resume(name: string, { id }: Pick<Pause, 'id'>): Promise<boolean> {
    return this.#decide(name, (document, now) => resume(document, now, id));
  }

  /** No hints arrive: calls in line ask for their turn. */
  hints(): HintChannel | undefined {
    return undefined;
  }

  /** Writes the records that are not written yet. */
  async close(): Promise<void> {
    await this.history.flush();
  }

  /** Tells attempts that are not worth sending any more. @internal */
  readonly fastPort: FastPort = {
    standsFor: DocumentLockStore.prototype,
    acquire: (request, told) => this.#acquire(request, told),
    release: (lease, options, told) => this.#release(lease, options, told),
  };

  async extend(leases: readonly LeaseRef[], { limit }: ExtendOptions = {}): Promise<ExtendResult[]> {
    const until = this.#until(limit);
    const results = await Promise.all(leases.map((lease) => this.#extend(lease, until)));
    // One that is broken does not stop the others; if none was judged, the database itself may not answer.
    const [first] = results;
    const isAway = first?.held === null && first.error instanceof StoreUnavailableError;
    if (isAway && results.every(({ held }) => held === null)) throw first.error;
    return results;
  }

  async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    if (names?.length === 0) return [];
    return this.shown(await this.documents.read(names === undefined ? 'all' : [...new Set(names)]));
  }

  /** What people see of these locks. @internal */
  protected async shown({ now, documents }: DocumentsRead): Promise<LockInfo[]> {
    const locks = documents.map((read) => ({ name: read.name, document: readableLock(read) }));
    if (!this.keeps.lines) return locks.map(({ name, document }) => inspect(name, document, now));
    const [queued, lines] = await Promise.all([
      this.queuedCalls.shown(locks.map(({ name }) => name)),
      Promise.all(
        locks.map(async ({ name, document }) => (hasLine(document, now) ? this.#lines.shown(name) : [])),
      ),
    ]);
    return locks.map(({ name, document }, i) => ({
      ...inspect(name, document, now),
      ...lineInfo(document, now, lines[i] ?? []),
      ...queued(name),
    }));
  }

  #decide<T>(name: string, decide: Rule<T>, limit?: number): Promise<T> {
    const until = this.#until(limit);
    return new Promise((answered, failed) =>
      this.#rounds.add<T>({ name, decide, until, told: { answered, failed } }),
    );
  }

  /** Until when a call is tried whose lock changes again and again: half as long as its caller waits, who so still hears how it ended. */
  #until(limit = WAITS): number {
    return this.#clock.monotonic() + limit / 2;
  }

  #acquire(request: AcquireRequest, told: Caller<AcquireResult>): void {
    const { name, ttl } = request;
    const problem = this.documents.nameProblem?.(name);
    if (problem !== undefined)
      return told.failed(new SchedulerLockConfigError([`the lock "${name}": ${problem}`]));
    const isWaiting = request.wait !== undefined;
    let at: number | undefined;
    this.#rounds.add({
      name,
      decide: (document, now, line) => {
        // It has come when it was decided on first, however often its write loses the race.
        if (isWaiting) at ??= this.#moments.at(now);
        return acquireInLine(document, now, at === undefined ? request : { ...request, at }, line);
      },
      // Where no lines are kept, a mark is that of another store, and says nothing.
      ...(isWaiting ? { line: 'always' } : this.keeps.lines && { line: 'marked' }),
      // A guess reckons the time too early: no interval is due by that.
      byClock: request.interval !== undefined,
      until: this.#until(told.limit ?? Math.min(ttl / 3, WAITS)),
      lost: { acquired: false, reason: 'held' },
      told,
    });
  }

  #release(lease: LeaseRef, options: ReleaseOptions, asked: Caller<ReleaseResult>): void {
    const told = this.history.recording(lease, options, asked);
    const giveBack = (): void =>
      this.#rounds.add({
        name: lease.name,
        decide: (document, now, line) => releaseInLine(document, now, lease, options, line),
        line: givesUp(lease, options) ? 'always' : 'gives back',
        until: this.#until(told.limit),
        told,
      });
    const ending = this.queuedCalls.end(lease, options.outcome ?? 'completed');
    if (ending === undefined) return giveBack();
    void ending.then(giveBack, told.failed.bind(told));
  }

  /** Never rejects. */
  #extend(lease: LeaseRef, until: number): Promise<ExtendResult> {
    const { name, ttl } = lease;
    const renewal = { of: { name, by: byOf(lease), ttl }, answer: { held: true } as const };
    return new Promise((answered) =>
      this.#rounds.add<ExtendResult>({
        name,
        decide: (document, now) => extend(document, now, lease),
        renewal,
        until,
        told: {
          answered,
          failed: (error) => answered({ held: null, error: error as SchedulerLockError }),
        },
      }),
    );
  }
}
