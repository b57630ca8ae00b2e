import type { Span, SpanStatusCode, TraceFlags, Tracer } from '@opentelemetry/api';
import { isDone } from '../../base/errors.js';
import type { SchedulerLockEvents } from '../../nest/log/scheduler-lock.events.js';
import type { LeasedLock, Lock } from '../../lock/current-lock.js';
import { ERROR_TYPE, JOB } from '../metrics/instruments.js';
import { errorType } from '../metrics/names.js';
import type { SchedulerLockService } from '../../nest/scheduler-lock.service.js';

/** What this library knows of a run beyond its `Lock`. */
type RunLock = Lock & Partial<Pick<LeasedLock, 'isOwnStory' | 'traceId'>>;

// The values of the API, which is loaded only where it is installed.
const ERROR: SpanStatusCode.ERROR = 2;
const SAMPLED: TraceFlags.SAMPLED = 1;

/** A span of a run that goes on. */
interface Open {
  readonly span: Span;
  failed: boolean;
}

/** One span for each run, in which everything that its job does is a child. */
export class RunSpans {
  readonly #open = new Map<string, Open>();

  constructor(private readonly tracer: Tracer) {}

  /** @returns a function that ends this */
  start(locks: SchedulerLockService, events: SchedulerLockEvents): () => void {
    const stops = [
      locks.around((lock, proceed) => this.#run(lock, proceed)),
      events.on('lost', ({ lock, fencingToken, reason }) =>
        this.#note(keyOf(lock, fencingToken), 'lost', { 'scheduler_lock.loss.reason': reason }),
      ),
      events.on('timeout', ({ lock, fencingToken }) => this.#note(keyOf(lock, fencingToken), 'timeout', {})),
    ];
    return () => stops.forEach((stop) => stop());
  }

  #run<T>(lock: RunLock, proceed: () => Promise<T>): Promise<T> {
    const { job, isOwnStory } = lock;
    // A run that the scheduler fires has no parent: as a child, it would be one endless trace with all runs before it.
    const root = isOwnStory ?? lock.tick !== undefined;
    const name = job === undefined ? 'run' : `run ${job}`;
    return this.tracer.startActiveSpan(name, { root, attributes: attributesOf(lock) }, (span) =>
      this.#within(span, lock, proceed),
    );
  }

  async #within<T>(span: Span, lock: RunLock, proceed: () => Promise<T>): Promise<T> {
    const key = keyOf(lock.name, lock.fencingToken ?? 0);
    const open = { span, failed: false };
    this.#open.set(key, open);
    const { traceId, traceFlags } = span.spanContext();
    // A trace that is not recorded cannot be looked up.
    if ((traceFlags & SAMPLED) !== 0) lock.traceId = traceId;
    try {
      return await proceed();
    } catch (error) {
      if (!isDone(error)) fail(open, errorType(error));
      throw error;
    } finally {
      this.#open.delete(key);
      span.end();
    }
  }

  #note(key: string, event: 'lost' | 'timeout', attributes: Record<string, string>): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    open.span.addEvent(event, attributes);
    fail(open, event === 'lost' ? 'LockLostError' : 'LockTimeoutError');
  }
}

/** The first failure stands: later errors of the job mostly follow from it. Texts of errors may hold personal data. */
function fail(open: Open, type: string): void {
  if (open.failed) return;
  open.failed = true;
  open.span.setStatus({ code: ERROR });
  open.span.setAttribute(ERROR_TYPE, type);
}

function attributesOf({ name, job, tick, attempt, fencingToken }: Lock): Record<string, string | number> {
  return {
    'scheduler_lock.lock': name,
    ...(job === undefined ? undefined : { [JOB]: job }),
    ...(tick === undefined ? undefined : { 'scheduler_lock.tick': tick }),
    'scheduler_lock.attempt': attempt,
    ...(fencingToken === undefined ? undefined : { 'scheduler_lock.fencing_token': fencingToken }),
  };
}

const keyOf = (lock: string, fencingToken: number): string => `${fencingToken} ${lock}`;
