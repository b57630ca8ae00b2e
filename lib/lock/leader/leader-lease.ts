import { UnderWay } from '../../base/clock.js';
import { setMaxListeners } from 'node:events';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { type AcquiredLock, type Lock, type LockHandle, withRootScope } from '../current-lock.js';

export type LeaderGrant = AcquiredLock & Pick<LockHandle, 'live'>;

/**
 * The leader's view of its lease. It ends when the lease is lost, or earlier, when the leader has to stop. Then the lease itself is kept
 * until the leader has finished its work, so that no other instance begins before.
 */
export class LeaderLease implements Lock {
  readonly job = undefined;
  readonly tick = undefined;
  readonly attempt = 1;
  readonly waited = 0;
  readonly queuedCall = undefined;
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  readonly name: string;
  readonly holder: string;
  readonly fencingToken: number | undefined;

  constructor(private readonly grant: LeaderGrant) {
    ({ name: this.name, holder: this.holder, fencingToken: this.fencingToken } = grant);
    // Each job that runs meanwhile listens.
    setMaxListeners(Infinity, this.signal);
  }

  /** Whether this instance leads, judged by the clock at this moment. */
  get live(): boolean {
    return !this.signal.aborted && this.grant.live;
  }

  /** The leader's lease has no run of its own. @throws SchedulerLockConfigError */
  report(): void {
    throw new SchedulerLockConfigError([
      `report(): ${JSON.stringify(this.name)} is the lease of a leader, which keeps no record of a run. Report inside of a job.`,
    ]);
  }

  assertLocked(): void {
    this.signal.throwIfAborted();
    this.grant.assertLocked();
  }

  /** Aborts all work under this lease. The first reason stands. */
  abort(reason: Error): void {
    this.#controller.abort(reason);
  }
}

/**
 * Lets scheduled jobs through while this instance leads, judged by the clock at that moment: a busy event loop may not have noticed a loss.
 * Jobs see the leader's lease by `currentLock()`.
 */
export class JobGate {
  #lease: LeaderLease | undefined;
  readonly #running = new UnderWay();

  /** @param refused is called for each fire that was not let through; for one of this library with the job's own name, and the tick */
  constructor(private readonly refused: (job: string, tick: number | undefined) => void) {}

  open(lease: LeaderLease): void {
    this.#lease = lease;
  }

  /** Lets no job through any more; those that run go on. */
  close(): void {
    this.#lease = undefined;
  }

  pass(job: string, fire: () => unknown, tick?: number): unknown {
    const lease = this.#lease;
    if (lease?.live !== true) {
      this.refused(job, tick);
      return undefined;
    }
    const result = withRootScope({ owner: this, lock: lease, leads: true }, fire);
    this.#running.begin();
    const ended = (): void => this.#running.end();
    // The code that fired the job handles its rejection.
    Promise.resolve(result).then(ended, ended);
    return result;
  }

  /** Resolves when none of the jobs that were let through runs any more. */
  idle(): Promise<void> {
    return this.#running.idle();
  }
}
