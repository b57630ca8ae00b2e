import { Logger } from '@nestjs/common';
import { formatDuration } from '../duration.js';
import { StoreUnavailableError } from '../errors.js';
import type { SchedulerLockEvent, ShutdownLeftEvent } from './events.js';
import type { SchedulerLockEvents } from './scheduler-lock.events.js';
import { textOf } from './log.js';

/** Events that are logged at the level `debug` only: if that level is off, they need not even be made. */
const DEBUG: readonly SchedulerLockEvent['type'][] = ['acquired', 'released', 'renewal-failed'];

/** Whether an event is for that level: if the level is off, its text is not even made. */
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
 * Levels by urgency. `debug`: what happens all day. `warn`: what a person should look into in daylight. `error`: what keeps jobs
 * from running, once when it starts; its end is `log`.
 */
export class LogListener {
  readonly #logger = new Logger('SchedulerLock');

  /** @param log the types of events to write; `undefined`: the default */
  constructor(events: SchedulerLockEvents, log: ReadonlySet<string> | undefined) {
    events.listen(
      (event) => {
        // By default renewals are not logged: with a hundred jobs, the log would be full of them.
        if (log !== undefined || event.type !== 'renewed' || event.restored) this.#write(event);
      },
      (type) => (log?.has(type) ?? true) && (!DEBUG.includes(type) || Logger.isLevelEnabled('debug')),
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
      case 'overrun': {
        const { since, at, instance, missed } = event;
        const run = `since ${new Date(since).toISOString()} (${formatDuration(at - since)}) on ${instance}`;
        const cost = `it has cost ${missed} tick${missed === 1 ? '' : 's'} so far`;
        return this.#logger.warn(
          `${subject(event)}: its next tick came, and it is still running ${run}; ${cost}. If it can hang, give it a timeout.`,
        );
      }
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
        return this.#logger.error(`${subject(event)}: ${hook}() failed${then}: ${textOf(error)}`);
      }
      case 'schedule-mismatch':
        return this.#logger.warn(
          `${subject(event)}: scheduled as "${event.schedule}" here, but its last start came from "${event.previousSchedule}". ` +
            'If this is no deploy of a new schedule, give the job a timeZone, so that all instances agree on its ticks.',
        );
      case 'shutdown-waiting': {
        const runs = event.runs.map(subject).join(', ');
        if (event.timeout === 0)
          return this.#logger.log(`Shutdown: does not wait for ${runs}, and aborts at once`);
        return this.#logger.log(`Shutdown: waits ${formatDuration(event.timeout)} at most for ${runs}`);
      }
      case 'shutdown-left':
        return this.#logger.log(`Shutdown: ${event.runs.map(left).join(', ')}`);
      case 'outage-started': {
        // Does not say what happens to the jobs: that depends on the onStoreError of each.
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
    // A refusal without a tick answers a question of `rerun`, `catchUp` or a new leader: the store knows no start of the job, so
    // nothing was missed.
    if (event.reason === 'already-ran' && event.callTick !== undefined && event.tick === undefined) return;
    const holder = event.holder === undefined ? '' : ` by ${event.holder}`;
    const line = `${subject(event)}: skipped (${event.reason}${holder})`;
    // An outage has two lines of its own; one more per tick would bury them.
    if (event.reason === 'invalid-name') this.#logger.error(`${line}: ${event.error?.message}`);
    else if (event.reason === 'clock-skew') this.#logger.error(`${line}: ${skew(event)}`);
    else this.#logger.debug(line);
  }
}

/** A store that refuses some calls may still renew live leases. */
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

/** `RefreshJobs.refresh [auto-refresh]`, or only the name if the job is the same or absent. */
function subject({ job, lock }: { job?: string; lock: string }): string {
  return job === undefined || job === lock ? lock : `${job} [${lock}]`;
}

function left(run: ShutdownLeftEvent['runs'][number]): string {
  const { expiresIn } = run;
  const lease =
    expiresIn === undefined ? 'it had lost its lease' : `its lease expires in ${formatDuration(expiresIn)}`;
  return `${subject(run)} still runs (${lease})`;
}
