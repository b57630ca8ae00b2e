import { Injectable, Logger } from '@nestjs/common';
import { formatDuration } from './duration.js';
import { StoreUnavailableError } from './errors.js';
import type { SchedulerLockEvent } from './lease/events.js';
import { SchedulerLockEvents } from './scheduler-lock.events.js';

/** Events that are written at the level `debug` only: where nobody reads it they need not even be made. */
const DEBUG: readonly SchedulerLockEvent['type'][] = ['acquired', 'released', 'renewal-failed'];

/** Whether this one is for that level: then it is not put into words where nobody reads it. */
function isDebug(event: SchedulerLockEvent): boolean {
  switch (event.type) {
    case 'renewed':
      return !event.restored;
    case 'skipped':
      return event.reason !== 'invalid-name' && event.reason !== 'clock-skew';
    default:
      return DEBUG.includes(event.type);
  }
}

/**
 * The first listener: writes events to Nest's logger, under the context `SchedulerLock`.
 *
 * Levels by who must act: what happens all day is `debug`; what somebody should look into in daylight is `warn`;
 * what keeps jobs from running is `error`, once when it starts, and `log` when it is over.
 */
@Injectable()
export class SchedulerLockLogger {
  readonly #logger = new Logger('SchedulerLock');

  constructor(events: SchedulerLockEvents) {
    events.listen(
      (event) => this.#write(event),
      (type) => !DEBUG.includes(type) || Logger.isLevelEnabled('debug'),
    );
  }

  #write(event: SchedulerLockEvent): void {
    if (isDebug(event) && !Logger.isLevelEnabled('debug')) return;
    switch (event.type) {
      case 'acquired':
        return this.#logger.debug(`${subject(event)}: acquired, fencing token ${event.fencingToken}`);
      case 'renewed':
        if (event.restored) {
          return this.#logger.warn(
            `${subject(event)}: the store had forgotten the lease; it was written back`,
          );
        }
        return this.#logger.debug(`${subject(event)}: renewed`);
      case 'released': {
        const ran = `${event.outcome} after ${formatDuration(event.duration)}`;
        return this.#logger.debug(
          `${subject(event)}: ${ran}, ${event.confirmed ? 'released' : 'release not confirmed'}`,
        );
      }
      case 'skipped':
        return this.#skipped(event);
      case 'renewal-failed': {
        const left = `lost in ${formatDuration(Math.max(0, event.expiresIn))} unless a renewal succeeds`;
        return this.#logger.debug(`${subject(event)}: renewal failed, ${left}: ${event.error.message}`);
      }
      case 'lost': {
        const by = event.holder === undefined ? '' : ` by ${event.holder}`;
        return this.#logger.warn(`${subject(event)}: lost (${event.reason}${by}) while its job was running`);
      }
      case 'timeout':
        return this.#logger.warn(
          `${subject(event)}: still running after its timeout of ${formatDuration(event.timeout)}; its signal was aborted`,
        );
      case 'unlocked':
        return this.#logger.warn(
          `${subject(event)}: runs WITHOUT its lock (onStoreError: 'run'): ${event.error.message}`,
        );
      case 'elected':
        return this.#logger.log(
          `${subject(event)}: this instance leads, fencing token ${event.fencingToken}`,
        );
      case 'revoked': {
        const line = `${subject(event)}: this instance leads no longer (${event.reason}) after ${formatDuration(event.duration)}`;
        if (event.reason === 'resigned' || event.reason === 'shutdown') return this.#logger.log(line);
        return this.#logger.warn(line);
      }
      case 'hook-failed': {
        const { hook, error } = event;
        const then = hook === 'onElected' ? '; it resigns' : '';
        const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
        return this.#logger.error(`${subject(event)}: ${hook}() failed${then}: ${why}`);
      }
      case 'schedule-mismatch':
        return this.#logger.warn(
          `${subject(event)}: scheduled as "${event.schedule}" here, but its last start came from "${event.previousSchedule}". ` +
            'If this is no deploy of a new schedule, give the job a timeZone, so that all instances agree on its ticks.',
        );
      case 'outage-started': {
        // What becomes of their jobs is up to the onStoreError of each.
        const line =
          event.lock === undefined
            ? `The lock store is not available: ${whatFails(event.error)}. ${event.error.message}`
            : `Lock "${event.lock}" cannot be taken or renewed: ${withoutLock(event.error.message, event.lock)}`;
        return event.atStart ? this.#logger.warn(line) : this.#logger.error(line);
      }
      case 'outage-ended': {
        const what = event.lock === undefined ? 'The lock store' : `Lock "${event.lock}"`;
        const runs = `${event.skipped} run${event.skipped === 1 ? ' was' : 's were'} skipped`;
        return this.#logger.log(
          `${what} is available again after ${formatDuration(event.duration)}; ${runs}`,
        );
      }
    }
  }

  #skipped(event: Extract<SchedulerLockEvent, { type: 'skipped' }>): void {
    // The answer to a question that `rerun`, `catchUp` or a new leader asks: nothing is known of the job, so nothing was missed.
    if (event.reason === 'already-ran' && event.callTick !== undefined && event.tick === undefined) return;
    const holder = event.holder === undefined ? '' : ` by ${event.holder}`;
    const line = `${subject(event)}: skipped (${event.reason}${holder})`;
    // An outage has its own two lines; one per tick would bury them.
    if (event.reason === 'invalid-name') this.#logger.error(`${line}: ${event.error?.message}`);
    else if (event.reason === 'clock-skew') this.#logger.error(`${line}: ${skew(event)}`);
    else this.#logger.debug(line);
  }
}

/** Leases that live may be renewed by a store that refuses other calls. */
function whatFails(error: Error): string {
  if (error instanceof StoreUnavailableError && error.refused) {
    return 'it refuses calls until somebody puts that right';
  }
  return 'no lock can be taken or renewed until it is';
}

/** Errors of one lock begin with its name. */
function withoutLock(message: string, lock: string): string {
  const beginning = `Lock "${lock}": `;
  return message.startsWith(beginning) ? message.slice(beginning.length) : message;
}

function skew({ tick = 0, storeTime = 0, at }: { tick?: number; storeTime?: number; at: number }): string {
  const [ticked, here, there] = [tick, at, storeTime].map((time) => new Date(time).toISOString());
  return (
    `its tick ${ticked} lies too far in the future of the store. It is ${here} by this machine's clock and ${there} by the ` +
    "store's; either may be wrong. Correct that clock, or raise maxClockSkew."
  );
}

/** `RefreshJobs.refresh [auto-refresh]`, or the name alone where it says everything. */
function subject({ job, lock }: { job?: string; lock: string }): string {
  return job === undefined || job === lock ? lock : `${job} [${lock}]`;
}
