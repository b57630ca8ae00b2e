import { formatDuration } from '../../base/duration.js';
import { StoreUnavailableError } from '../../base/errors.js';
import type { OverdueEvent } from '../../contract/events/call-events.js';
import type { ShutdownLeftEvent } from '../../contract/events/instance-events.js';
import type { AcquiredEvent } from '../../contract/events/lease-events.js';
import { ConsoleLogger, Logger } from '@nestjs/common';

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

/** A lock was gone before its time. @param noticedBy a release cannot tell a deleted lock from a store that lost data */
export function deleted(noticedBy: 'renewal' | 'release'): string {
  const [lost, then] =
    noticedBy === 'renewal' ? ['', '. It was written back'] : [', or the store has lost data', ''];
  return (
    `its lock was gone before its time: somebody has deleted it${lost}, and another holder may have run meanwhile${then}. A client ` +
    "that unlocks by a plain DEL does that, such as ShedLock's RedisLockProvider: give it safeUpdate(true); others have to compare " +
    'the value before they delete.'
  );
}

/** Instances disagree about a job's schedule, or the application has changed it. */
export const mismatched = ({
  schedule,
  previousSchedule,
  meant,
}: NonNullable<AcquiredEvent['mismatch']>): string =>
  meant
    ? `scheduled as "${schedule}" now; its last start came from "${previousSchedule}".`
    : `scheduled as "${schedule}" here, but its last start came from "${previousSchedule}". If this is no deploy of a new schedule, ` +
      'give the job one expression and one timeZone on all instances: they have to agree on its ticks.';

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

const logger = new Logger('SchedulerLock');

/**
 * Logs an error that has no caller. The application's logger may throw, and so may what turns a foreign error into text: that must not change
 * what happens to a lease.
 */
export const logError = (text: () => unknown): void => attempt(() => logger.error(text()));

/** Logs a warning that has no caller, as {@link logError} does an error. */
export const logWarning = (text: () => unknown): void => attempt(() => logger.warn(text()));

function attempt(log: () => void): void {
  try {
    log();
  } catch {
    // There is no other place to report it.
  }
}

/**
 * Whether somebody may read lines at the level `debug`. A logger other than Nest's own filters by itself, and Nest does not know
 * which levels: so that logger gets them all. `Logger.isLevelEnabled()` of NestJS 11 says no wherever the application was given no
 * levels, even if its logger writes such lines.
 */
export const isDebugRead = (): boolean => NestLogger.reads('debug');

/** Nest shows the logger of the application to its own classes only. */
class NestLogger extends Logger {
  static reads(level: 'debug'): boolean {
    const logger = Logger.staticInstanceRef;
    // `logger: false`
    if (logger === undefined) return false;
    return logger instanceof ConsoleLogger ? logger.isLevelEnabled(level) : true;
  }
}

/** A foreign error as text, with its stack if there is one. */
export const textOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);
