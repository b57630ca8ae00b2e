import { AlarmClock, type Clock } from '../base/clock.js';
import type { HintChannel, LockStore } from '../contract/lock-store.js';
import { LOOK_FOR_QUEUED } from '../contract/queued-call-store.js';

/** Why no call can wait. */
export const NO_LINES =
  'wait: the store has no lines in which calls could wait. Leave `wait` out, or use a store that has them: see docs/reference/waiting.md.';

/** How often the first call in line of each lock asks whether its turn has come, ms: a hint may be lost, a holder may die. */
const ASK_EVERY = 1_000;
/** How often the first call in line asks where there are no hints, at first and at most, ms. */
const POLL = 50;
const LONGEST_POLL = 250;
/** How often a call asks whose turn is next, or next but one, where there are no hints: a part of how long it has been so. After short runs it asks often. */
const PART_OF_TIME = 0.1;
/** Asks that are due so soon after one that is due now go along with it, ms. */
const ALONG = 100;
/** A lease is asked for this long after it can have ended, ms: the store's clock counts whole milliseconds. */
const AFTER_END = 5;

/** Why a call in line goes on: to ask the store, or because its wait is over. */
export type Next = 'ask' | 'limit' | 'aborted' | 'replaced' | 'closing';

/** A call of this process in line. What comes after its place is set by {@link Waits} alone. */
export abstract class WaitingCall {
  abstract readonly name: string;
  abstract readonly token: string;
  /** The job, if its newest call takes the place of an older one: that of a tick. */
  abstract readonly job: string | undefined;
  /** Until when it waits, monotonic. */
  abstract readonly deadline: number;
  /** Ends the wait. */
  abstract readonly signal: AbortSignal | undefined;
  /** Its place in line, if the store has answered it. */
  abstract readonly place: number | undefined;
  /** How many calls stand before it, as far as is known. */
  abstract readonly ahead: number;
  /** Since when at most one does, monotonic. */
  nearSince: number | undefined;
  /** When to ask, monotonic. */
  askAt = -Infinity;
  /** Whether it is, or was, the first of its lock here: a hint may have called it before another call came ahead of it. */
  wasFirst = false;
  /** How often it has asked. */
  asks = 0;
  /** Why it goes on, if that was known before it began to wait. */
  ready: Next | undefined;
  wake: ((next: Next) => void) | undefined;
  abort: (() => void) | undefined;
}

/**
 * The calls of one application that stand in line. Asks the store for the first of each lock only, and for one that was the first: it
 * represents the process, the others follow. A hint wakes the call that it names.
 */
export class Waits {
  /** In the order of their places. */
  readonly #lines = new Map<string, WaitingCall[]>();
  readonly #byToken = new Map<string, WaitingCall>();
  #channel: HintChannel | undefined;
  // Somebody awaits these calls, so the process has to stay alive for them.
  readonly #alarm: AlarmClock;
  #closed = false;
  #warned = false;
  /** Called when somebody else has queued calls, if the channel is open by then. */
  onQueued: (() => void) | undefined;

  constructor(
    private readonly store: LockStore,
    private readonly clock: Clock,
    /** Names this process, for hints. */
    readonly process: string,
  ) {
    this.#alarm = new AlarmClock(clock, () => this.#wake(), { keepAlive: true });
  }

  /** Whether the store has lines. */
  get possible(): boolean {
    return this.store.keeps.lines;
  }

  /** Opens the channel for hints. Returns whether the store sends hints to calls in line. */
  openHints(): boolean {
    this.#open();
    return this.#channel !== undefined && this.#channel.problem === undefined;
  }

  /** Why no hint wakes calls in line, for the log; `undefined` if hints do, or if the log has the reason already. */
  problem(): string | undefined {
    const problem = this.#warned ? undefined : this.#channel?.problem;
    if (problem !== undefined) this.#warned = true;
    return problem;
  }

  /** The place that a newer call of this job takes over; `undefined`: none. */
  placeOf(name: string, job: string): number | undefined {
    return this.#lines.get(name)?.find((call) => call.job === job)?.place;
  }

  /** Adds a call. It replaces an older one of its job. */
  enter(call: WaitingCall): void {
    this.#open();
    const line = this.#lines.get(call.name) ?? [];
    const older = call.job === undefined ? undefined : line.find(({ job }) => job === call.job);
    if (older !== undefined) this.#go(older, 'replaced');
    this.#lines.set(call.name, line);
    line.push(call);
    this.#byToken.set(call.token, call);
    if (this.#closed) call.ready = 'closing';
    const abort = (): void => this.#go(call, 'aborted');
    call.abort = abort;
    call.signal?.addEventListener('abort', abort);
    if (call.signal?.aborted === true) abort();
  }

  /**
   * Waits until this call has to ask, or its wait is over.
   *
   * @param expiresIn how long until the lock may be free, ms
   */
  next(call: WaitingCall, expiresIn = Infinity): Promise<Next> {
    this.#sort(call);
    const now = this.clock.monotonic();
    const pause = this.#channel?.open === true ? ASK_EVERY : pollOf(call, now);
    call.asks += 1;
    call.askAt = now + Math.min(pause, expiresIn + AFTER_END);
    const { ready } = call;
    call.ready = undefined;
    if (ready !== undefined) return Promise.resolve(ready);
    return new Promise((resolve) => {
      call.wake = resolve;
      this.#alarm.by(this.#dueAt(call));
    });
  }

  /** A call goes on with another token. */
  renamed(call: WaitingCall, before: string): void {
    this.#byToken.delete(before);
    this.#byToken.set(call.token, call);
  }

  /** Removes a call. The next one of its lock here asks soon. */
  leave(call: WaitingCall): void {
    if (call.abort !== undefined) call.signal?.removeEventListener('abort', call.abort);
    this.#byToken.delete(call.token);
    const line = this.#lines.get(call.name) ?? [];
    const index = line.indexOf(call);
    if (index >= 0) line.splice(index, 1);
    const [first] = line;
    if (first === undefined) return void this.#lines.delete(call.name);
    first.wasFirst = true;
    this.#alarm.by(this.#dueAt(first));
  }

  /** The store is back: every call asks. */
  reconnected(): void {
    for (const call of this.#byToken.values()) this.#go(call, 'ask');
  }

  /** Ends all waits. */
  close(): void {
    this.#closed = true;
    for (const call of this.#byToken.values()) this.#go(call, 'closing');
  }

  /** Receives no more hints, and asks no more. */
  stop(): void {
    this.#channel?.close();
    this.#alarm.stop();
  }

  #open(): void {
    this.#channel ??= this.store.hints(this.process, (token) => this.#called(token));
  }

  #called(token: string): void {
    if (token === LOOK_FOR_QUEUED) return this.onQueued?.();
    const call = this.#byToken.get(token);
    // One that is faster than the answer of the call's first ask is lost: the first in line asks within a second.
    if (call !== undefined) this.#go(call, 'ask');
  }

  #go(call: WaitingCall, next: Next): void {
    const { wake } = call;
    call.wake = undefined;
    if (wake !== undefined) wake(next);
    // What ends the wait outweighs a reason to ask.
    else if (next !== 'ask' || call.ready === undefined) call.ready = next;
  }

  /** Moves a call to its place. One that the store has not placed yet is the last. */
  #sort(call: WaitingCall): void {
    const line = this.#lines.get(call.name) ?? [];
    line.splice(line.indexOf(call), 1);
    const { place = Infinity } = call;
    const after = line.findIndex((other) => (other.place ?? Infinity) > place);
    line.splice(after < 0 ? line.length : after, 0, call);
    const [first = call] = line;
    first.wasFirst = true;
  }

  #dueAt(call: WaitingCall): number {
    return call.wasFirst ? Math.min(call.askAt, call.deadline) : call.deadline;
  }

  #wake(): void {
    const now = this.clock.monotonic();
    let next = Infinity;
    for (const call of this.#byToken.values()) {
      if (call.wake === undefined) continue;
      if (call.deadline <= now) this.#go(call, 'limit');
      else if (call.wasFirst && call.askAt <= now + ALONG) this.#go(call, 'ask');
      else next = Math.min(next, this.#dueAt(call));
    }
    this.#alarm.by(next);
  }
}

/** How long a call waits before it asks again, where no hints arrive, ms. */
function pollOf(call: WaitingCall, now: number): number {
  call.nearSince = call.ahead > 1 ? undefined : (call.nearSince ?? now);
  const pause =
    call.nearSince === undefined
      ? POLL * 2 ** Math.min(call.asks, 10)
      : (now - call.nearSince) * PART_OF_TIME;
  return Math.min(Math.max(pause, POLL), LONGEST_POLL);
}
