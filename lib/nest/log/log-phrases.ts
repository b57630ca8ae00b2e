import { formatDuration } from '../../base/duration.js';
import { StoreUnavailableError } from '../../base/errors.js';
import type { OverdueEvent } from '../../contract/events/call-events.js';
import type { ShutdownLeftEvent } from '../../contract/events/instance-events.js';

/** How many instances a line names: a fleet may have hundreds. */
const MAX_REASONS = 10;

/** What kept each instance from a tick, as a part of a line of the log. */
export function reasonsOf(reasons: OverdueEvent['reasons']): string {
  const rest = reasons.length - MAX_REASONS;
  const more = rest > 0 ? [`and ${rest} more`] : [];
  return [...reasons.slice(0, MAX_REASONS).map(reasonOf), ...more].join('; ');
}

function reasonOf({ missedBy, reason, count, holder }: OverdueEvent['reasons'][number]): string {
  const by = holder === undefined ? '' : ` by ${holder}`;
  return `${missedBy}: ${reason}${by}${count > 1 ? `, ${count} times in a row` : ''}`;
}

/** A store that refuses some calls may still renew live leases. */
export function whatFails(error: Error): string {
  if (error instanceof StoreUnavailableError && error.refused) {
    return 'it refuses calls until somebody puts that right';
  }
  return 'no lock can be taken or renewed until it is';
}

/** Errors of one lock begin with its name. */
export function withoutLock(message: string, lock: string): string {
  const beginning = `Lock "${lock}": `;
  return message.startsWith(beginning) ? message.slice(beginning.length) : message;
}

export function skew({
  tick = 0,
  storeTime = 0,
  at,
}: {
  tick?: number;
  storeTime?: number;
  at: number;
}): string {
  const [ticked, here, there] = [tick, at, storeTime].map((time) => new Date(time).toISOString());
  return (
    `its tick ${ticked} lies too far in the future of the store. It is ${here} by this machine's clock and ${there} by the ` +
    "store's; either may be wrong. Correct that clock."
  );
}

/** Two calls that wait for each other's locks: this shows both halves. */
export function whileHolding({ holding }: { holding?: readonly string[] }): string {
  return holding === undefined ? '' : `, while it holds ${holding.map((name) => `"${name}"`).join(', ')}`;
}

/** `RefreshJobs.refresh [auto-refresh]`, or only the name if the job is the same or absent. */
export function subject({ job, lock }: { job?: string; lock: string }): string {
  return job === undefined || job === lock ? lock : `${job} [${lock}]`;
}

export const ofKey = ({ key }: { key?: string }): string => (key === undefined ? '' : ` "${key}"`);

export function left(run: ShutdownLeftEvent['runs'][number]): string {
  const { expiresIn } = run;
  const lease =
    expiresIn === undefined ? 'it had lost its lease' : `its lease expires in ${formatDuration(expiresIn)}`;
  return `${subject(run)} still runs (${lease})`;
}
