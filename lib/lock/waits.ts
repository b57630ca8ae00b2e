import { AWAITED } from '../contract/allowances.js';
import { AlarmClock, type Clock } from '../base/clock.js';
import type { WaitRequest } from '../contract/lease-ref.js';
import type { AcquireRefusal, HintChannel, LockStore } from '../contract/lock-store.js';
import { LOOK_FOR_QUEUED } from '../contract/queued-call-store.js';
import type { LockCall, Skipped } from './lock-call.js';

/** Why no call can wait. */
export const NO_LINES =
  'wait: the store has no lines in which calls could wait. Leave `wait` out, or use a store that has them (one of your own: with `entries`): see docs/reference/waiting.md.';

/** How often the first call in line of each lock asks whether its turn has come, ms: a hint may be lost, a holder may die. */
const ASK_EVERY = 1_000;
/** How often the first call in line of a process asks where there are no hints, at most and at least, ms. */
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

/** What a call that waits knows of its place in line. {@link Waits} says when it asks, `Take` what becomes of an answer. */
export class WaitingCall {
  readonly #began: number;
  /** Until when it waits, monotonic. */
  readonly deadline: number;
  /** The job, if its newest call takes the place of an older one: that of a tick. */
  readonly job: string | undefined;
  /** Its place in line, if the store has answered it, and how many calls stand before it, as far as is known. */
  place: number | undefined;
  ahead = Infinity;
  /** Since when at most one does, monotonic. */
  #nearSince: number | undefined;
  /** When the lease that refused it can be over, monotonic. */
  #leaseEnds = -Infinity;
  /** How long until the lock may be free, ms, if the last answer said so. */
  #expiresIn = Infinity;
  /** How the last ask was answered. */
  #refusal: Skipped = { ran: false, reason: 'held' };
  /** When to ask, monotonic. */
  #askAt = -Infinity;
  /** Whether it is, or was, the first of its lock here: a hint may have called it before another call came ahead of it. */
  #wasFirst = false;
  /** Why it goes on, if that was known before it began to wait. */
  #ready: Next | undefined;
  #wake: ((next: Next) => void) | undefined;
  readonly onAbort = (): void => this.go('aborted');

  constructor(
    readonly call: LockCall,
    public token: string,
    private readonly process: string,
    private readonly clock: Clock,
  ) {
    this.#began = clock.monotonic();
    this.deadline = this.#began + (call.settings.wait ?? 0);
    this.job = call.start?.tick === undefined ? undefined : call.job;
    this.place = call.place;
  }

  get waited(): number {
    return Math.round(this.clock.monotonic() - this.#began);
  }

  request(): WaitRequest {
    const { kind, settings } = this.call;
    const now = this.clock.monotonic();
    return {
      limit: Math.max(1, Math.ceil(this.deadline - now)),
      priority: settings.priority ?? 0,
      process: this.process,
      ...(kind === 'drain' && { drains: true }),
      ...(this.place === undefined ? undefined : { place: this.place }),
      ...(this.#leaseEnds > now ? { notBefore: Math.ceil(this.#leaseEnds - now) } : undefined),
    };
  }

  refused({ waiting, holder, expiresIn }: AcquireRefusal): void {
    this.#expiresIn = expiresIn ?? Infinity;
    this.place = waiting?.place ?? this.place;
    this.ahead = waiting?.ahead ?? this.ahead;
    // Nobody writes the lease of another program back. A store that has lost its data knows no holder.
    if (holder !== undefined) this.#leaseEnds = this.clock.monotonic() + (expiresIn ?? 0);
  }

  /** An ask was refused. Returns whether the call goes on waiting. */
  goesOnAfter(refusal: Skipped): boolean {
    // After a pause no skipped call is made up for, but queued calls still run: so a drain waits.
    const { reason } = refusal;
    const isPassing = AWAITED.has(reason) || (reason === 'paused' && this.call.kind === 'drain');
    if (isPassing) this.#refusal = refusal;
    return isPassing;
  }

  ended(why: Next): Skipped {
    return why === 'closing' ? { ran: false, reason: 'shutting-down' } : this.#refusal;
  }

  get holder(): string | undefined {
    return this.#refusal.holder;
  }

  // When it asks.

  /** Waits until it has to ask, or its wait is over. @param hinted whether hints come */
  next(hinted: boolean): Promise<Next> {
    const now = this.clock.monotonic();
    const pause = hinted ? ASK_EVERY : this.#poll(now);
    this.#askAt = now + Math.min(pause, this.#expiresIn + AFTER_END);
    this.#expiresIn = Infinity;
    const ready = this.#ready;
    this.#ready = undefined;
    return new Promise((resolve) => (ready === undefined ? (this.#wake = resolve) : resolve(ready)));
  }

  /** How long it waits before it asks again, where no hints arrive, ms. */
  #poll(now: number): number {
    this.#nearSince = this.ahead > 1 ? undefined : (this.#nearSince ?? now);
    const pause = (now - (this.#nearSince ?? -Infinity)) * PART_OF_TIME;
    return Math.min(Math.max(pause, POLL), LONGEST_POLL);
  }

  /** Goes on. What ends the wait outweighs a reason to ask. */
  go(next: Next): void {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake !== undefined) wake(next);
    else if (next !== 'ask' || this.#ready === undefined) this.#ready = next;
  }

  leads(): void {
    this.#wasFirst = true;
  }

  get dueAt(): number {
    return this.#wasFirst ? Math.min(this.#askAt, this.deadline) : this.deadline;
  }

  /** Does what is due by now. Returns when it has to be called again, monotonic. */
  check(now: number): number {
    if (this.#wake === undefined) return Infinity;
    if (this.deadline <= now) this.go('limit');
    else if (this.#wasFirst && this.#askAt <= now + ALONG) this.go('ask');
    else return this.dueAt;
    return Infinity;
  }
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

  get possible(): boolean {
    return this.store.keeps.lines;
  }

  /** Opens the channel for hints. Returns whether the store sends hints to calls in line. */
  openHints(): boolean {
    this.#channel ??= this.store.hints(this.process, (token) => {
      if (token === LOOK_FOR_QUEUED) this.onQueued?.();
      // One that is faster than the answer of the call's first ask is lost: the first in line asks within a second.
      else this.#byToken.get(token)?.go('ask');
    });
    return this.#channel !== undefined && this.#channel.problem === undefined;
  }

  /** Why no hint wakes calls in line, for the log; `undefined` if hints do, or if the log has the reason already. */
  problem(): string | undefined {
    const problem = this.#warned ? undefined : this.#channel?.problem;
    if (problem !== undefined) this.#warned = true;
    return problem;
  }

  /** A call that may wait. @param token that it asks with */
  newCall(call: LockCall, token: string): WaitingCall {
    const waiting = new WaitingCall(call, token, this.process, this.clock);
    waiting.place = this.#olderThan(waiting)?.place ?? waiting.place;
    return waiting;
  }

  /** The call whose place a newer one of its job takes over. */
  #olderThan({ job, call }: WaitingCall): WaitingCall | undefined {
    return job === undefined ? undefined : this.#lines.get(call.name)?.find((other) => other.job === job);
  }

  enter(call: WaitingCall): void {
    this.openHints();
    this.#olderThan(call)?.go('replaced');
    const { name, signal } = call.call;
    const line = this.#lines.get(name) ?? [];
    this.#lines.set(name, line);
    line.push(call);
    this.#byToken.set(call.token, call);
    if (this.#closed) call.go('closing');
    signal?.addEventListener('abort', call.onAbort);
    if (signal?.aborted === true) call.go('aborted');
  }

  /** @param token that the call asks with from now on */
  next(call: WaitingCall, token: string): Promise<Next> {
    this.#byToken.delete(call.token);
    call.token = token;
    this.#byToken.set(token, call);
    this.#sort(call);
    const next = call.next(this.#channel?.open === true);
    this.#alarm.by(call.dueAt);
    return next;
  }

  /** The next call of its lock here asks soon. */
  leave(call: WaitingCall): void {
    const { name, signal } = call.call;
    signal?.removeEventListener('abort', call.onAbort);
    this.#byToken.delete(call.token);
    const line = this.#lines.get(name) ?? [];
    const index = line.indexOf(call);
    if (index >= 0) line.splice(index, 1);
    const [first] = line;
    if (first === undefined) return void this.#lines.delete(name);
    first.leads();
    this.#alarm.by(first.dueAt);
  }

  reconnected(): void {
    for (const call of this.#byToken.values()) call.go('ask');
  }

  close(): void {
    this.#closed = true;
    for (const call of this.#byToken.values()) call.go('closing');
  }

  stop(): void {
    this.#channel?.close();
    this.#alarm.stop();
  }

  /** Moves a call to its place. One that the store has not placed yet is the last. */
  #sort(call: WaitingCall): void {
    const line = this.#lines.get(call.call.name) ?? [];
    line.splice(line.indexOf(call), 1);
    const { place = Infinity } = call;
    const after = line.findIndex((other) => (other.place ?? Infinity) > place);
    line.splice(after < 0 ? line.length : after, 0, call);
    const [first = call] = line;
    first.leads();
  }

  #wake(): void {
    const now = this.clock.monotonic();
    let next = Infinity;
    for (const call of this.#byToken.values()) next = Math.min(next, call.check(now));
    this.#alarm.by(next);
  }
}
