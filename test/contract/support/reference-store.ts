import {
  type AcquireRefusal,
  type AcquireRequest,
  type AcquireResult,
  EVERYTHING,
  type HintChannel,
  type LockStore,
  type ReleaseOptions,
  type ReleaseResult,
} from '../../../lib/contract/lock-store.js';
import type { LockInfo } from '../../../lib/contract/lock-info.js';
import type { NewPause, Pause } from '../../../lib/contract/pause.js';
import type { LeaseRef, WaitRequest } from '../../../lib/contract/lease-ref.js';
import type { LockStoreContractOptions } from '../cases/options.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { ReferenceQueuedCalls } from './reference-queued-calls.js';
import { ReferenceHistory } from './reference-history.js';
import { type LockEntry, ReferenceLeases } from './reference-leases.js';

export type { LockEntry, StartEntry, StartRefusal, StateEntry } from './reference-leases.js';

/** A call in line. */
export interface Standing {
  readonly token: string;
  readonly wait: WaitRequest;
  readonly place: number;
  /** When its wait is over. */
  readonly until: number;
}

/** How long the lock is reserved for the one that is called, ms. */
const TURN = 2_000;

/** With the rules of lines. */
export class ReferenceStore extends ReferenceLeases implements LockStore {
  readonly keeps = EVERYTHING;
  readonly lines = new Map<string, Standing[]>();
  readonly called = new Map<string, { readonly one: Standing; readonly until: number }>();
  readonly missed = new Set<string>();
  readonly pauses = new Map<string, Pause>();
  readonly listeners = new Map<string, (token: string) => void>();
  queuedCalls = new ReferenceQueuedCalls(this);
  history = new ReferenceHistory(this);
  #places = 0;

  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const { name, token } = request;
    const lock = this.lock(name);
    const isAgain = lock?.token === token && lock.kept !== true;
    const paused = isAgain ? undefined : this.pausedFor(request);
    if (paused !== undefined) return this.refuseAsPaused(request, paused);
    return this.#acquire(request, lock, isAgain);
  }

  async #acquire(
    request: AcquireRequest,
    lock: LockEntry | undefined,
    isAgain: boolean,
  ): Promise<AcquireResult> {
    const { name, token, wait } = request;
    if (isAgain && wait !== undefined) this.liveOn(request);
    if (lock !== undefined && (isAgain || wait === undefined)) return super.acquire(request);
    const refusal = this.refuseStart(request, this.starts.get(this.startKey(request)));
    if (refusal !== undefined) return { acquired: false, ...refusal };
    if (wait !== undefined) this.missed.delete(wait.process);
    if (wait !== undefined) this.enter(request, wait);
    const tooEarly = wait !== undefined && this.isTooEarly(name, wait);
    const next = lock === undefined && !tooEarly ? this.call(name, token) : undefined;
    if (lock === undefined && !tooEarly && (next === undefined || this.mayCome(request, next))) {
      this.leave(name, token);
      return this.tellsOfBefore(request);
    }
    const taken = lock === undefined ? { acquired: false, reason: 'held' } : await super.acquire(request);
    return wait === undefined ? (taken as AcquireRefusal) : this.inLine(request, taken as AcquireRefusal);
  }

  override async release(lease: LeaseRef, options: ReleaseOptions = {}): Promise<ReleaseResult> {
    const { outcome = 'completed', record } = options;
    this.queuedCalls.end(lease, outcome);
    this.history.ended(lease, outcome, record);
    const wasCalled = this.called.get(lease.name)?.one.token === lease.token;
    if (lease.wait !== undefined && options.outcome === 'abandoned') this.leave(lease.name, lease.token);
    const result = await super.release(lease, options);
    const isOver = result.released || wasCalled;
    if (isOver && this.handsOver(options) && this.lock(lease.name) === undefined) this.call(lease.name);
    return result;
  }

  async pause(name: string, { length, ...by }: NewPause): Promise<Pause> {
    const known = this.pauseOf(name);
    if (known !== undefined) return known;
    const since = this.clock.now();
    const pause = { ...by, since, until: since + length };
    this.pauses.set(name, pause);
    return pause;
  }

  async resume(name: string, { id }: Pick<Pause, 'id'>): Promise<boolean> {
    if (this.pauseOf(name)?.id !== id) return false;
    this.pauses.delete(name);
    return true;
  }

  override async inspect(names?: readonly string[]): Promise<LockInfo[]> {
    const infos = await super.inspect(names);
    const of = (name: string) => this.pauseOf(name);
    const only = [...this.pauses.keys()]
      .filter((name) => this.isAskedFor(name, names) && !infos.some((info) => info.name === name))
      .map((name): LockInfo => ({ name, time: this.clock.now(), state: 'free', jobs: [] }));
    return [...infos, ...only].map((info) => {
      const paused = of(info.name);
      return paused === undefined ? info : { ...info, paused };
    });
  }

  hints(process: string, called: (token: string) => void): HintChannel {
    this.listeners.set(process, called);
    return { open: true, close: () => void this.listeners.delete(process) };
  }

  // The steps

  pauseOf(name: string): Pause | undefined {
    const pause = this.pauses.get(name);
    return pause !== undefined && pause.until > this.clock.now() ? pause : undefined;
  }

  protected pausedFor({ name, through }: AcquireRequest): Pause | undefined {
    return through === true ? undefined : this.pauseOf(name);
  }

  protected refuseAsPaused(_request: AcquireRequest, { id: _id, ...paused }: Pause): AcquireRefusal {
    const expiresIn = paused.until - this.clock.now();
    return { acquired: false, reason: 'paused', paused, expiresIn };
  }

  protected async tellsOfBefore(request: AcquireRequest): Promise<AcquireResult> {
    const interrupted = this.history.before(request);
    const result = await super.acquire(request);
    return result.acquired && interrupted !== undefined ? { ...result, interrupted } : result;
  }

  protected enter({ name, token }: AcquireRequest, wait: WaitRequest): void {
    const line = this.lines.get(name) ?? [];
    const known = line.find((one) => one.token === token);
    const place = known?.place ?? this.placeOf(wait);
    const one = { token, wait, place, until: this.now() + wait.limit };
    const others = line.filter((other) => other.token !== token);
    this.lines.set(
      name,
      [...others, one].sort((a, b) => a.place - b.place),
    );
  }

  protected placeOf({ place, priority }: WaitRequest): number {
    return place ?? this.newPlace(priority);
  }

  newPlace(priority: number): number {
    return ++this.#places - priority * 1_000_000;
  }

  protected inLine({ name, token }: AcquireRequest, refusal: AcquireRefusal): AcquireRefusal {
    const line = this.lines.get(name) ?? [];
    const ahead = line.findIndex((one) => one.token === token);
    const { place = 0 } = line[ahead] ?? {};
    return { ...refusal, waiting: { place, ahead } };
  }

  protected leave(name: string, token: string): void {
    this.lines.set(
      name,
      (this.lines.get(name) ?? []).filter((one) => one.token !== token),
    );
    if (this.called.get(name)?.one.token === token) this.called.delete(name);
  }

  /** Calls the first in line, unless one is called. */
  protected call(name: string, asks?: string): Standing | undefined {
    const before = this.called.get(name);
    if (before !== undefined && before.until > this.now()) return before.one;
    // Whoever asks is late, but not gone.
    if (before !== undefined && before.one.token !== asks) this.pass(name, before.one);
    this.called.delete(name);
    const one = (this.lines.get(name) ?? []).find((each) => this.mayBeCalled(each));
    if (one === undefined) return undefined;
    this.called.set(name, { one, until: this.now() + TURN });
    this.tell(one);
    return one;
  }

  protected mayCome({ token }: AcquireRequest, called: Standing): boolean {
    return called.token === token;
  }

  protected mayBeCalled({ wait, until }: Standing): boolean {
    return until > this.now() && !this.missed.has(wait.process);
  }

  /** It was called, and did not come. */
  protected pass(name: string, one: Standing): void {
    this.missed.add(one.wait.process);
    this.leave(name, one.token);
  }

  protected tell({ wait, token }: Standing): void {
    this.listeners.get(wait.process)?.(token);
  }

  protected isTooEarly(name: string, { notBefore = 0 }: WaitRequest): boolean {
    return notBefore > 0 && !this.states.has(this.key(name));
  }

  protected handsOver(_options: ReleaseOptions): boolean {
    return true;
  }

  protected liveOn({ name, ttl }: AcquireRequest): void {
    const lock = this.lock(name);
    if (lock !== undefined) lock.freeAt = Math.max(lock.freeAt, this.now() + ttl);
  }
}

/** The same for a store that loses nothing. */
export class DurableReferenceStore extends ReferenceStore {
  protected override mayRestore(): boolean {
    return false;
  }

  protected override isOutlived(): boolean {
    return false;
  }
}

/** The contract with every hook, on some variant of the reference. */
export function referenceContract(
  make: (clock: ManualClock) => ReferenceStore = (clock) => new ReferenceStore(clock),
): LockStoreContractOptions {
  let clock = new ManualClock();
  let current = make(clock);
  return {
    create: () => {
      clock = new ManualClock();
      current = make(clock);
      return { store: current };
    },
    inspects: true,
    lines: true,
    queuedCalls: true,
    history: true,
    hints: true,
    wait: (ms) => clock.advance(ms),
    forget: (name) => void current.locks.delete(current.key(name)),
    forgetState: (name) => void current.states.delete(current.key(name)),
    forgetAll: () => {
      current.locks.clear();
      current.states.clear();
      current.starts.clear();
      current.lines.clear();
      current.called.clear();
    },
    breakLock: (name) => void current.locks.set(current.key(name), 'broken'),
    setClockBack: (_name, ms) => clock.setWallClock(clock.now() - ms),
    skewInstanceClock: (ms) => {
      skew = ms;
    },
  };
}

let skew = 0;

/** What an instance believes the time is. Only a broken store asks for it. */
export function instanceTime(store: ReferenceStore): number {
  return store.clock.monotonic() + skew;
}
