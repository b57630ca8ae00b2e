import type { Clock } from '../base/clock.js';
import { LockShutdownError } from '../base/errors.js';
import type { Emit } from '../contract/events/events.js';
import type { UnfinishedRun } from '../contract/events/instance-events.js';
import type { Lease } from './lease.js';

/** How long a shutdown waits for jobs whose signal has aborted, ms. */
export const ABORT_GRACE = 1_000;

interface Teller {
  readonly instance: string;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** Aborts the signal of a job because its instance shuts down. */
export function abort(lease: Lease): void {
  lease.abort(new LockShutdownError(lease.ref.name));
}

/**
 * Until when a shutdown waits for a run, monotonic. `limit` is 0 once all signals have aborted.
 *
 * A run that has lost its lease or passed its timeout gets {@link ABORT_GRACE} only: it may never end.
 */
export function waitsUntil({ abortReason, abortedAt }: Lease, began: number, limit: number): number {
  if (limit === 0) return abortedAt + ABORT_GRACE;
  if (abortReason === undefined) return began + limit;
  return Math.min(began + limit, Math.max(began, abortedAt) + ABORT_GRACE);
}

export function tellOfWaiting(leases: readonly Lease[], timeout: number, teller: Teller): void {
  const { instance, clock, emit } = teller;
  const runs = leases.map(unfinished);
  if (runs.length > 0) emit({ type: 'shutdown-waiting', runs, instance, at: clock.now(), timeout });
}

export function tellOfLeft(leases: readonly Lease[], { instance, clock, emit }: Teller): void {
  const now = clock.monotonic();
  const runs = leases.map((lease) =>
    lease.confirmed && lease.live
      ? { ...unfinished(lease), expiresIn: lease.expiresIn(now) }
      : unfinished(lease),
  );
  if (runs.length > 0) emit({ type: 'shutdown-left', runs, instance, at: clock.now() });
}

function unfinished({ ref: { name: lock, job } }: Lease): UnfinishedRun {
  return job === undefined ? { lock } : { lock, job };
}
