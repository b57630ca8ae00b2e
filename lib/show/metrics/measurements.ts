/*
 * lib/show/metrics: what is measured: instruments, their names, and the events and judgements that they are made of.
 * May not enter: OpenTelemetry and Prometheus, which have rooms of their own, and Nest.
 */
import { given } from '../../base/shared.js';
import type { SchedulerLockEvent } from '../../contract/events/events.js';
import type { Report } from '../../contract/history-store.js';
import type { SchedulerLockEvents } from '../../nest/log/scheduler-lock.events.js';
import type { Judgement } from '../../insight/judgement.js';
import {
  ELECTION,
  ERROR_TYPE,
  type InstrumentKey,
  JOB,
  LOSS_REASON,
  OUTCOME,
  REPORT,
  SKIP_REASON,
} from './instruments.js';
import { errorType, Names } from './names.js';

/** A value of an instrument. */
export interface Measurement {
  readonly instrument: InstrumentKey;
  readonly value: number;
  readonly attributes: Readonly<Record<string, string>>;
}

/** What is known of an application without asking its store: its health. */
export interface Source {
  state(): {
    readonly away: boolean;
    readonly jobs: ReadonlyMap<string, Judgement>;
    /** The jobs without ticks whose last run here was hollow. */
    readonly hollowHere: readonly string[];
    readonly elections: readonly string[];
    readonly led: readonly string[];
    /** Runs of jobs that go on here, by the store's clock. */
    readonly runs: readonly { readonly job?: string; readonly startedAt: number }[];
    /** By how much this machine's clock is behind the store's, ms. */
    readonly clockOffset: number | undefined;
    /** By the store's clock, as far as it is known. */
    readonly at: number;
  };
  /** Whether a job is decorated, or was made at run time. */
  knows(job: string): boolean;
  isElection(lock: string): boolean;
}

type EventOf<T extends SchedulerLockEvent['type']> = Extract<SchedulerLockEvent, { type: T }>;
type Measured = 'interrupted' | 'acquired' | 'released' | 'skipped' | 'lost' | 'renewal-failed' | 'unlocked';

const SECOND = 1_000;
/** What a job may be, whether its last run was killed or not. */
const HIDES_RUN: ReadonlySet<Judgement['status']> = new Set(['overdue', 'paused', 'off']);

/** Another instance runs the job, or has run it. */
const OTHERS_RUN: ReadonlySet<string> = new Set(['held', 'already-ran', 'cooling-down']);

const one = (instrument: InstrumentKey, job: string): Measurement[] => [
  { instrument, value: 1, attributes: { [JOB]: job } },
];

/** Turns events of locks, and their state at a moment, into values of instruments. */
export class Measurements {
  readonly #jobs: Names;
  readonly #errorTypes = new Names();
  readonly #reportNames = new Names();
  /** What the newest run of each job has reported, if it ran here. */
  readonly #reports = new Map<string, Pick<EventOf<'released'>, 'tick'> & { readonly report: Report }>();

  constructor(private readonly health: Source) {
    this.#jobs = new Names((job) => health.knows(job));
  }

  /**
   * Listens from now on, only to events that are measured: no other event is made for this listener.
   *
   * @returns a function that ends this
   */
  listen(events: SchedulerLockEvents, record: (measurement: Measurement) => void): () => void {
    return events.listen(
      (event) => this.of(event).forEach(record),
      (wanted) => Object.hasOwn(this.#measured, wanted),
    );
  }

  /** What an event adds. */
  of(event: SchedulerLockEvent): Measurement[] {
    if (!Object.hasOwn(this.#measured, event.type)) return [];
    const measured = event as EventOf<Measured>;
    const measure = this.#measured[measured.type] as (event: EventOf<Measured>, job: string) => Measurement[];
    return measure(measured, this.#jobs.of(measured.job));
  }

  /** What is measured at this moment. */
  now(): Measurement[] {
    const { away, jobs, hollowHere, elections, led, runs, clockOffset, at } = this.health.state();
    return [
      { instrument: 'available', value: away ? 0 : 1, attributes: {} },
      ...elections.map((name): Measurement => ({
        instrument: 'leader',
        value: led.includes(name) ? 1 : 0,
        attributes: { [ELECTION]: name },
      })),
      ...(clockOffset === undefined
        ? []
        : [{ instrument: 'clockOffset', value: clockOffset / SECOND, attributes: {} } as const]),
      ...[...jobs].flatMap(([job, judgement]) =>
        this.#ofJob(job, hollowHere.includes(job) ? { ...judgement, status: 'hollow' } : judgement, at),
      ),
      ...this.#ages(runs, at),
      ...[...this.#reports].flatMap(([job, { report }]) =>
        Object.entries(report).flatMap(([name, value]) => {
          const attributes = { [JOB]: job, [REPORT]: this.#reportNames.of(name) };
          return typeof value === 'number' ? [{ instrument: 'reported', value, attributes } as const] : [];
        }),
      ),
    ];
  }

  #ages(runs: ReturnType<Source['state']>['runs'], at: number): Measurement[] {
    const oldest = new Map<string, number>();
    for (const { job, startedAt } of runs) {
      const name = this.#jobs.of(job);
      oldest.set(name, Math.min(startedAt, oldest.get(name) ?? at));
    }
    return [...oldest].map(([job, startedAt]) => ({
      instrument: 'age',
      value: (at - startedAt) / SECOND,
      attributes: { [JOB]: job },
    }));
  }

  #ofJob(job: string, { status, attention, tick, run, disagree }: Judgement, at: number): Measurement[] {
    const attributes = { [JOB]: this.#jobs.of(job) };
    const since = (time: number | undefined): number => Math.max(0, at - (time ?? at)) / SECOND;
    const isLong = attention && run?.outcome === 'running';
    const overtime = {
      instrument: 'overtime',
      value: isLong ? since(run.startedAt) : 0,
      attributes,
    } as const;
    // An instance that knows nothing reports nothing: others may know better.
    if (status === 'unknown') return [overtime];
    return [
      overtime,
      { instrument: 'overdue', value: since(status === 'overdue' ? tick : at), attributes },
      ...(HIDES_RUN.has(status)
        ? []
        : (['interrupted', 'hollow'] as const).map((instrument) => {
            return { instrument, value: Number(status === instrument), attributes };
          })),
      ...(disagree === undefined
        ? []
        : [{ instrument: 'disagree', value: Number(disagree), attributes } as const]),
    ];
  }

  readonly #measured: {
    readonly [T in Measured]: (event: EventOf<T>, job: string) => Measurement[];
  } = {
    // A leader's lease is not a run.
    acquired: ({ lock, tick, at }, job) => {
      if (this.health.isElection(lock)) return [];
      if (tick === undefined) return one('active', job);
      const delay = Math.max(0, at - tick) / SECOND;
      return [...one('active', job), { instrument: 'delay', value: delay, attributes: { [JOB]: job } }];
    },
    released: (event, job) => {
      if (this.health.isElection(event.lock)) return [];
      const type = this.#errorTypeOf(event);
      const { tick, report } = event;
      if (report === undefined) this.#reports.delete(job);
      else this.#reports.set(job, { report, ...given({ tick }) });
      const attributes = {
        [JOB]: job,
        [OUTCOME]: event.outcome,
        ...(type === undefined ? undefined : { [ERROR_TYPE]: type }),
      };
      return [
        { instrument: 'active', value: -1, attributes: { [JOB]: job } },
        { instrument: 'duration', value: event.duration / SECOND, attributes },
      ];
    },
    // A queued call runs later.
    skipped: ({ reason, tick }, job) => {
      if (OTHERS_RUN.has(reason) && tick !== this.#reports.get(job)?.tick) this.#reports.delete(job);
      const attributes = { [JOB]: job, [SKIP_REASON]: reason };
      return reason === 'queued' ? [] : [{ instrument: 'skips', value: 1, attributes }];
    },
    lost: ({ reason }, job) => [
      { instrument: 'losses', value: 1, attributes: { [JOB]: job, [LOSS_REASON]: reason } },
    ],
    'renewal-failed': (_event, job) => one('renewalFailures', job),
    interrupted: ({ lock }, job) => (this.health.isElection(lock) ? [] : one('interruptions', job)),
    unlocked: (_event, job) => one('unlocked', job),
  };

  #errorTypeOf(event: EventOf<'released'>): string | undefined {
    if (event.outcome === 'completed' || event.outcome === 'hollow') return undefined;
    if (event.outcome === 'timed-out') return this.#errorTypes.of('LockTimeoutError');
    // A run that was aborted may end without an error.
    return this.#errorTypes.of('error' in event ? errorType(event.error) : event.outcome);
  }
}
