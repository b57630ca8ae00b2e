import { AlarmClock, type Clock, noLongerThan } from '../../base/clock.js';
import {
  LockLostError,
  LockNotAcquiredError,
  LockResignedError,
  LockShutdownError,
  type RevokedReason,
} from '../../base/errors.js';
import { withRootScope } from '../current-lock.js';
import type { Emit } from '../../contract/events/events.js';
import { type LeaderGrant, LeaderLease } from './leader-lease.js';

/** What runs on this instance when it begins to lead, and when it ceases to. */
export interface ElectionHooks {
  /** This instance leads from now on. A rejection makes it resign. */
  elected(lease: LeaderLease): unknown;
  /** This instance leads no longer; the signal of the lease has aborted. The lease is kept until this has ended, if it can be. */
  revoked(reason: RevokedReason): unknown;
  /** A shutdown waits for this before it revokes the leadership. */
  drained?(): Promise<unknown>;
}

export interface ElectionParts {
  readonly name: string;
  readonly ttl: number;
  /** How long the lease is kept for a `revoked` hook that does not end, milliseconds. */
  readonly patience: number;
  readonly clock: Clock;
  readonly emit: Emit;
  readonly hooks: ElectionHooks;
  /** One attempt to take the lease, which may stand in line until the signal aborts. @throws LockNotAcquiredError if it cannot be taken */
  readonly take: (signal: AbortSignal) => Promise<LeaderGrant>;
}

/** A standby asks once in this part of the ttl, so it notices a resignation within that time. */
const PERIOD = 1 / 3;
/** Standbys that wait for the same lease to end ask at slightly different moments: the spread as a part of the ttl, and its maximum, ms. */
const SPREAD = 0.02;
const MAX_SPREAD = 50;
const LEAST = 5;

/** A leadership of this instance. It ends in two steps: it is revoked, then its lease is released. */
interface Leadership {
  readonly grant: LeaderGrant;
  readonly lease: LeaderLease;
  readonly since: number;
  /** Resolves when the `elected` hook has ended; absent until the hook is called. */
  elected?: Promise<void>;
  /** Resolves when the lease was released; absent until it is revoked. */
  revocation?: Promise<void>;
}

/**
 * The part of one instance in one election: it asks for the lease until it gets it, leads until it loses the lease or resigns, and begins
 * again. Campaigns lie a third of the ttl apart, at a random phase: so instances that start together do not ask together. If the store sends
 * hints, a campaign stands in line instead: a leader that resigns is followed at once.
 */
export class Election {
  #leadership: Leadership | undefined;
  readonly #alarm: AlarmClock;
  /** Whether it has a phase of its own among the instances. */
  #isSpread = false;
  #campaign: Promise<void> | undefined;
  #closing = false;
  readonly #stopped = new AbortController();

  constructor(private readonly parts: ElectionParts) {
    // A provider with an election may have no timer of its own that keeps the process alive.
    this.#alarm = new AlarmClock(parts.clock, () => this.#ask(), { keepAlive: true });
  }

  get name(): string {
    return this.parts.name;
  }

  /** Whether this instance leads, judged by the clock at this moment. */
  get leads(): boolean {
    return this.#leadership?.lease.live === true;
  }

  /** Campaigns at once, and from then on whenever it does not lead. */
  start(): void {
    if (!this.#closing) this.#ask();
  }

  /** Resigns, and campaigns again only after one ttl, so that each other instance can take the lease. Returns whether it led. */
  async resign(): Promise<boolean> {
    const leadership = this.#leadership;
    if (leadership === undefined || leadership.lease.signal.aborted) return false;
    await this.#revoke(leadership, 'resigned', new LockResignedError(this.name));
    return true;
  }

  /** Campaigns no more, and ends its leadership once the `drained` hook has resolved. */
  async stop(): Promise<void> {
    this.#closing = true;
    this.#alarm.stop();
    this.#stopped.abort(new LockShutdownError(this.name));
    await this.#campaign;
    const leadership = this.#leadership;
    if (leadership === undefined) return;
    const { hooks } = this.parts;
    const { signal } = leadership.lease;
    if (hooks.drained !== undefined && !signal.aborted) {
      const lost = new Promise((resolve) => signal.addEventListener('abort', resolve));
      await Promise.race([hooks.drained(), lost]);
    }
    await this.#revoke(leadership, 'shutdown', new LockShutdownError(this.name));
  }

  #ask(): void {
    this.#campaign ??= this.#attempt().finally(() => (this.#campaign = undefined));
  }

  async #attempt(): Promise<void> {
    const { clock, take } = this.parts;
    let expiresIn = Infinity;
    try {
      const grant = await take(this.#stopped.signal);
      if (!this.#closing && grant.live) return this.#begin(grant);
      await grant.release();
    } catch (error) {
      // The runner has reported a failing store as an outage: all that is left is to ask again.
      if (error instanceof LockNotAcquiredError) {
        // Its place in line is void: it enters the line again.
        if (error.waited !== undefined && error.reason === 'held') return this.#alarm.set(clock.monotonic());
        expiresIn = error.expiresIn ?? Infinity;
      }
    }
    this.#later(expiresIn);
  }

  /** Campaigns again. @param expiresIn how long the holder's lease lives unless it is renewed, milliseconds */
  #later(expiresIn: number): void {
    const { clock, ttl } = this.parts;
    const period = ttl * PERIOD * (this.#isSpread ? 1 : 1 - Math.random());
    this.#isSpread = true;
    // A leader that renews its lease never comes this close to the end of it: this leader is likely gone.
    const end = Math.max(expiresIn, LEAST) + Math.random() * Math.min(ttl * SPREAD, MAX_SPREAD);
    this.#alarm.set(clock.monotonic() + Math.min(period, end));
  }

  #begin(grant: LeaderGrant): void {
    const { clock, hooks } = this.parts;
    const lease = new LeaderLease(grant);
    const leadership: Leadership = { grant, lease, since: clock.monotonic() };
    this.#leadership = leadership;
    grant.signal.addEventListener('abort', () => {
      const error = grant.signal.reason as Error;
      void this.#revoke(leadership, error instanceof LockLostError ? error.reason : 'shutdown', error);
    });
    this.parts.emit({ type: 'leader', phase: 'elected', ...this.#facts(leadership) });
    // A listener may have resigned at once.
    if (lease.signal.aborted) return;
    leadership.elected = this.#call(leadership, () => hooks.elected(lease)).catch((error: unknown) => {
      this.#failed(leadership, 'onElected', error);
      void this.#revoke(leadership, 'failed', new LockResignedError(this.name, { cause: error }));
    });
  }

  /** Ends a leadership, once. Resolves when its lease was released. */
  #revoke(leadership: Leadership, reason: RevokedReason, error: Error): Promise<void> {
    if (!leadership.lease.signal.aborted) {
      // Aborted first: a listener or hook that learns of the end may call this again.
      leadership.lease.abort(error);
      leadership.revocation = this.#end(leadership, reason);
    }
    return leadership.revocation ?? Promise.resolve();
  }

  async #end(leadership: Leadership, reason: RevokedReason): Promise<void> {
    const { clock, emit, hooks, patience, ttl } = this.parts;
    const duration = Math.round(clock.monotonic() - leadership.since);
    emit({ type: 'leader', phase: 'revoked', ...this.#facts(leadership), reason, duration });
    const told = leadership.elected !== undefined;
    const revoked = this.#call(leadership, () => (told ? hooks.revoked(reason) : undefined)).catch(
      (failure: unknown) => this.#failed(leadership, 'onRevoked', failure),
    );
    // A shutdown has a limit of its own; after that, the lease is left to expire.
    await (this.#closing ? revoked : noLongerThan(patience, revoked, clock));
    await leadership.grant.release();
    // The hooks of this leadership must not overlap with those of the next one.
    void Promise.all([revoked, leadership.elected]).then(() => {
      this.#leadership = undefined;
      if (reason === 'resigned' || reason === 'failed') this.#alarm.set(clock.monotonic() + ttl);
      else this.#later(Infinity);
    });
  }

  /** Calls a hook in the context of the lease. An error that the hook throws becomes a rejection. */
  async #call({ lease }: Leadership, hook: () => unknown): Promise<void> {
    await withRootScope({ owner: this, lock: lease, leads: true }, hook);
  }

  #failed(leadership: Leadership, hook: 'onElected' | 'onRevoked', error: unknown): void {
    this.parts.emit({ type: 'leader', phase: 'hook-failed', ...this.#facts(leadership), hook, error });
  }

  #facts({ lease: { name: lock, holder: instance, fencingToken = 0 } }: Leadership) {
    return { lock, instance, at: this.parts.clock.now(), fencingToken };
  }
}
