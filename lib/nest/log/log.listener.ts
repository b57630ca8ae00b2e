import { Logger } from '@nestjs/common';
import { formatDuration } from '../../base/duration.js';
import { counted } from '../../base/wording.js';
import type { Hears, SchedulerLockEvent } from '../../contract/events/events.js';
import type { SchedulerLockEvents } from './scheduler-lock.events.js';
import {
  deleted,
  isDebugRead,
  left,
  mismatched,
  ofKey,
  reasonsOf,
  skew,
  subject,
  textOf,
  whatFails,
  whileHolding,
  withoutLock,
} from './log-phrases.js';

type Level = 'debug' | 'log' | 'warn' | 'error';

/** How an event is logged. */
interface Line<E> {
  /** A function of the event if its facts decide; `undefined`: not at all. */
  readonly level: Level | ((event: E) => Level | undefined);
  /** Made only if the level is on. */
  text(event: E): string;
}

/**
 * Levels by urgency. `debug`: what happens all day. `warn`: what a person should look into in working hours. `error`: what keeps jobs
 * from running, once when it starts; its end is `log`.
 */
const LINES: { readonly [T in SchedulerLockEvent['type']]: Line<SchedulerLockEvent<T>> } = {
  acquired: {
    level({ mismatch }) {
      if (mismatch === undefined) return 'debug';
      return mismatch.meant ? 'log' : 'warn';
    },
    text: ({ mismatch, ...event }) =>
      `${subject(event)}: ${mismatch === undefined ? `acquired, fencing token ${event.fencingToken}` : mismatched(mismatch)}`,
  },
  renewed: {
    level: (event) => (event.restored ? 'warn' : 'debug'),
    text(event) {
      if (event.deleted) return `${subject(event)}: ${deleted('renewal')}`;
      return `${subject(event)}: ${event.restored ? 'the store had forgotten the lease; it was written back' : 'renewed'}`;
    },
  },
  released: {
    level: ({ deleted: isGone, outcome, retryIn }) =>
      isGone || outcome === 'aborted' || outcome === 'hollow' || retryIn !== undefined ? 'warn' : 'debug',
    text(event) {
      if (event.deleted) return `${subject(event)}: ${deleted('release')}`;
      const { attempt = 1, retryIn, shortfall } = event;
      if (shortfall !== undefined) return `${subject(event)}: it ran and completed, but ${shortfall}`;
      const again =
        retryIn === undefined ? '' : ` (attempt ${attempt}), tried again in ${formatDuration(retryIn)}`;
      const ran = `${event.outcome} after ${formatDuration(event.duration)}${again}`;
      return `${subject(event)}: ${ran}, ${event.confirmed ? 'released' : 'release not confirmed'}`;
    },
  },
  waiting: {
    level: ({ problem }) => (problem === undefined ? 'debug' : 'warn'),
    text(event) {
      if (event.problem !== undefined)
        return `${subject(event)}: calls in line get no hint when their turn comes, and ask four times a second instead: ${event.problem}`;
      const behind = event.ahead === 0 ? '' : `, behind ${counted(event.ahead, 'other')}`;
      const holder = event.holder === undefined ? '' : ` (held by ${event.holder})`;
      return `${subject(event)}: waits ${formatDuration(event.wait)} at most${behind}${holder}${whileHolding(event)}`;
    },
  },
  skipped: {
    level({ reason, callTick, tick, holding }) {
      // A refusal without a tick answers a question of `rerun`, `catchUp` or a new leader: the store knows no start of the job, so
      // nothing was missed.
      if (reason === 'already-ran' && callTick !== undefined && tick === undefined) return undefined;
      // An outage has two lines of its own; one more per tick would bury them.
      if (reason === 'invalid-name' || reason === 'clock-skew') return 'error';
      return holding === undefined || reason !== 'held' ? 'debug' : 'warn';
    },
    text(event) {
      if (event.reason === 'queued')
        return `${subject(event)}: queued${ofKey(event)}${event.merged ? `, as one with ${event.merged} before it` : ''}`;
      const holder = event.holder === undefined ? '' : ` by ${event.holder}`;
      const waited = event.waited === undefined ? '' : ` after ${formatDuration(event.waited)} in line`;
      const line = `${subject(event)}: skipped (${event.reason}${holder})${waited}${whileHolding(event)}`;
      if (event.reason === 'invalid-name') return `${line}: ${event.error?.message}`;
      return event.reason === 'clock-skew' ? `${line}: ${skew(event)}` : line;
    },
  },
  'dead-lettered': {
    level: 'error',
    text(event) {
      const times = `${event.deliveries} ${event.deliveries === 1 ? 'delivery' : 'deliveries'}`;
      // The last thing of the line: an error has a stack.
      const error = event.error === undefined ? '' : ` ${textOf(event.error)}`;
      return `${subject(event)}: the queued call${ofKey(event)} will not be run any more (${event.reason}, ${times}). See inspect(); redeliver('${event.lock}') puts it back.${error}`;
    },
  },
  interrupted: {
    level: 'warn',
    text({ run, ...event }) {
      const which = run.tick === undefined ? '' : ` of ${new Date(run.tick).toISOString()}`;
      return `${subject(event)}: the run${which} on ${run.instance} was interrupted: that instance died, froze or lost the store`;
    },
  },
  'renewal-failed': {
    level: 'debug',
    text(event) {
      const left = `lost in ${formatDuration(Math.max(0, event.expiresIn))} unless a renewal succeeds`;
      return `${subject(event)}: renewal failed, ${left}: ${event.error.message}`;
    },
  },
  lost: {
    level: 'warn',
    text(event) {
      const by = event.holder === undefined ? '' : ` by ${event.holder}`;
      return `${subject(event)}: lost (${event.reason}${by}) while its job was running`;
    },
  },
  timeout: {
    level: 'warn',
    text: (event) =>
      `${subject(event)}: still running after its timeout of ${formatDuration(event.timeout)}; its signal was aborted`,
  },
  overrun: {
    level: 'warn',
    text(event) {
      const { since, at, instance, skippedTicks } = event;
      const run = `since ${new Date(since).toISOString()} (${formatDuration(at - since)}) on ${instance}`;
      const cost = `it has cost ${counted(skippedTicks, 'tick')} so far`;
      return `${subject(event)}: its next tick came, and it is still running ${run}; ${cost}. If it can hang, give it a timeout.`;
    },
  },
  unlocked: {
    level: 'warn',
    text: (event) => `${subject(event)}: runs WITHOUT its lock (onStoreError: 'run'): ${event.error.message}`,
  },
  controlled: {
    level: 'log',
    text(event) {
      const { action, actor, reason, until, count } = event;
      const what = {
        pause: `paused${until === undefined ? '' : ` until ${new Date(until).toISOString()}`}`,
        resume: 'resumed',
        break: `the lease with fencing token ${event.fencingToken} was ended`,
        run: 'run by hand',
        redeliver: `${counted(count ?? 0, 'dead letter')} put back`,
        forget: 'forgotten',
      }[action];
      return `${subject(event)}: ${what}, by ${actor}${reason === undefined ? '' : `: ${reason}`}`;
    },
  },
  overdue: {
    level: 'error',
    text(event) {
      const why = event.reasons.length === 0 ? '' : `: ${reasonsOf(event.reasons)}`;
      return `${subject(event)}: no instance has started its tick of ${new Date(event.tick).toISOString()}${why}`;
    },
  },
  hung: {
    level: 'error',
    text: (event) =>
      `${subject(event)}: its run of ${new Date(event.since).toISOString()} hangs: it should be over, and goes on. This instance starts no other run of the job until it is restarted`,
  },
  leader: {
    level(event) {
      if (event.phase === 'hook-failed') return 'error';
      const isLoss = event.phase === 'revoked' && event.reason !== 'resigned' && event.reason !== 'shutdown';
      return isLoss ? 'warn' : 'log';
    },
    text(event) {
      if (event.phase === 'elected')
        return `${subject(event)}: this instance leads, fencing token ${event.fencingToken}`;
      if (event.phase === 'revoked')
        return `${subject(event)}: this instance leads no longer (${event.reason}) after ${formatDuration(event.duration)}`;
      const then = event.hook === 'onElected' ? '; it resigns' : '';
      return `${subject(event)}: ${event.hook}() failed${then}: ${textOf(event.error)}`;
    },
  },
  shutdown: {
    level: 'log',
    text(event) {
      if (event.phase === 'left') return `Shutdown: ${event.runs.map(left).join(', ')}`;
      const runs = event.runs.map(subject).join(', ');
      if (event.timeout === 0)
        return `Shutdown: does not wait for ${runs} (shutdownTimeout: 0), and aborts at once`;
      return (
        `Shutdown: waits ${formatDuration(event.timeout)} at most for ${runs} (shutdownTimeout). ` +
        'If this process is killed sooner, the signals never abort, and their leases stay until they expire'
      );
    },
  },
  outage: {
    // Also at the start, where nothing was skipped yet: Nest's testing module shows nothing else.
    level: ({ phase }) => (phase === 'started' ? 'error' : 'log'),
    // Does not say what happens to the jobs: that depends on the onStoreError of each.
    text(event) {
      const { lock } = event;
      if (event.phase === 'started')
        return lock === undefined
          ? `The lock store is not available: ${whatFails(event.error)}. ${event.error.message}`
          : `Lock "${lock}" cannot be taken or renewed: ${withoutLock(event.error.message, lock)}`;
      const what = lock === undefined ? 'The lock store' : `Lock "${lock}"`;
      const runs = `${event.skipped} run${event.skipped === 1 ? ' was' : 's were'} skipped`;
      return `${what} is available again after ${formatDuration(event.duration)}; ${runs}`;
    },
  },
};

/** The types of all events. */
export const EVENT_TYPES: readonly string[] = Object.keys(LINES);

/** What is mostly at the level `debug`: made for the log only if somebody reads that. */
const MOSTLY_DEBUG: ReadonlySet<string> = new Set(['acquired', 'released', 'refusal']);

/** The first listener: writes events to Nest's logger, under the context `SchedulerLock`. */
export class LogListener {
  readonly #logger = new Logger('SchedulerLock');

  /** @param log the types of events to write; `undefined`: the default */
  constructor(
    events: SchedulerLockEvents,
    private readonly log: ReadonlySet<string> | undefined,
  ) {
    events.listen((event) => this.#write(event), this.#wants);
  }

  readonly #wants: Hears = (wanted) => {
    if (this.log !== undefined && !this.log.has(wanted === 'refusal' ? 'skipped' : wanted)) return false;
    return !MOSTLY_DEBUG.has(wanted) || isDebugRead();
  };

  #write(event: SchedulerLockEvent): void {
    // By default renewals are not logged: with a hundred jobs, the log would be full of them.
    if (this.log === undefined ? event.type === 'renewed' && !event.restored : !this.log.has(event.type))
      return;
    const line = LINES[event.type] as Line<SchedulerLockEvent>;
    const level = typeof line.level === 'function' ? line.level(event) : line.level;
    if (level === undefined || (level === 'debug' && !isDebugRead())) return;
    this.#logger[level](line.text(event));
  }
}
