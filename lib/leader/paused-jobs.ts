import type { JobGate } from './job-gate.js';
import type { CronJobLike, JobOrchestrator, JobRecords, JobRegistry } from './scheduler-parts.js';

/** How the registry and the orchestrator call one kind of timers. */
interface TimerKind {
  records(orchestrator: JobOrchestrator): JobRecords;
  keys(registry: JobRegistry): string[];
  get(registry: JobRegistry, key: string): unknown;
  add(registry: JobRegistry, key: string, handle: unknown): void;
  delete(registry: JobRegistry, key: string): void;
  /** Makes and registers the timers of these methods. */
  mount(orchestrator: JobOrchestrator, records: JobRecords): void;
}

const INTERVALS: TimerKind = {
  records: ({ intervals }) => intervals,
  keys: (registry) => registry.getIntervals(),
  get: (registry, key) => registry.getInterval(key),
  add: (registry, key, handle) => registry.addInterval(key, handle),
  delete: (registry, key) => registry.deleteInterval(key),
  mount: (orchestrator, intervals) => overlay(orchestrator, { intervals }).mountIntervals(),
};
const TIMEOUTS: TimerKind = {
  records: ({ timeouts }) => timeouts,
  keys: (registry) => registry.getTimeouts(),
  get: (registry, key) => registry.getTimeout(key),
  add: (registry, key, handle) => registry.addTimeout(key, handle),
  delete: (registry, key) => registry.deleteTimeout(key),
  mount: (orchestrator, timeouts) => overlay(orchestrator, { timeouts }).mountTimeouts(),
};

/** Whether a cron job is to run once jobs are resumed, and how it is really started. */
interface Control {
  wanted: boolean;
  /** Whether the application has stopped it: unlike one that is still to be started. */
  stopped: boolean;
  readonly start: () => void;
  readonly pause: () => void;
}

/**
 * The jobs of the scheduler, paused until they are resumed: cron jobs are stopped, the timers of `@Interval()` and
 * `@Timeout()` cleared and made anew. Their places in the registry stay. Cron jobs that are added by hand are paused as
 * well; timers that are added by hand are not: nobody but their maker can make them anew.
 */
export class PausedJobs {
  #paused = true;
  #mounted = false;
  readonly #controls = new WeakMap<object, Control>();
  /** Cleared handles by kind and name. */
  readonly #parked = new Map<TimerKind, Map<string, unknown>>();
  /** Names of `@Timeout()` methods that have run. */
  readonly #fired = new Set<string>();

  /** @param failed told of cron jobs that cannot be started */
  constructor(
    private readonly registry: JobRegistry,
    private readonly orchestrator: JobOrchestrator,
    private readonly gate: JobGate,
    private readonly failed: (job: string, error: unknown) => void,
  ) {}

  /** To be called before the scheduler makes its jobs: they are paused in the very turn in which they are made. */
  takeOver(): void {
    const { registry, orchestrator } = this;
    const addCronJob = registry.addCronJob.bind(registry);
    registry.addCronJob = (name, job) => {
      addCronJob(name, job);
      this.#control(name, job);
    };
    for (const [name, job] of registry.getCronJobs()) this.#control(name, job);
    const mount = orchestrator.onApplicationBootstrap.bind(orchestrator);
    orchestrator.onApplicationBootstrap = () => {
      const { cronJobs, intervals, timeouts } = orchestrator;
      for (const records of [cronJobs, intervals, timeouts]) this.#guard(records);
      mount();
      this.#mounted = true;
      if (this.#paused) this.#park();
    };
  }

  /** Starts what is paused. Intervals and timeouts begin to count. */
  resume(): void {
    this.#paused = false;
    if (this.#mounted) for (const kind of [TIMEOUTS, INTERVALS]) this.#unpark(kind);
    for (const [name, job] of this.registry.getCronJobs()) {
      const control = this.#controls.get(job);
      if (control?.wanted !== true) continue;
      try {
        control.start();
      } catch (error) {
        // The only date of the job has passed meanwhile.
        if (!job.cronTime.realDate) this.failed(name, error);
      }
    }
  }

  pause(): void {
    this.#paused = true;
    for (const job of this.registry.getCronJobs().values()) this.#controls.get(job)?.pause();
    if (this.#mounted) this.#park();
  }

  /** Whether the application has stopped a cron job, and not started it since. */
  hasStopped(job: object): boolean {
    return this.#controls.get(job)?.stopped === true;
  }

  #guard(records: JobRecords): void {
    const isTimeout = records === this.orchestrator.timeouts;
    for (const [name, record] of Object.entries(records)) {
      const { target } = record;
      record.target = (...args) =>
        this.gate.pass(name, () => {
          if (isTimeout) this.#fired.add(name);
          return target(...args);
        });
    }
  }

  /** Stops a cron job as long as jobs are paused. Who starts or stops it meanwhile is heeded when they are resumed. */
  #control(name: string, job: CronJobLike): void {
    if (this.#controls.has(job)) return;
    const [start, stop, setTime] = [job.start.bind(job), job.stop.bind(job), job.setTime.bind(job)];
    const control: Control = {
      wanted: job.isActive ?? job.running ?? false,
      stopped: false,
      start,
      pause: stop,
    };
    this.#controls.set(job, control);
    job.start = () => {
      control.wanted = true;
      control.stopped = false;
      if (!this.#paused) start();
    };
    job.stop = () => {
      control.wanted = false;
      control.stopped = true;
      return stop();
    };
    job.setTime = (time) => {
      // It stops the job, and starts it again only if it was running.
      const { wanted, stopped } = control;
      setTime(time);
      Object.assign(control, { wanted, stopped });
    };
    // Jobs of decorated methods are guarded nearer to the method, where their end can be waited for; not so another job
    // that has been given the name of one.
    if (this.orchestrator.cronJobs[name]?.ref !== job) {
      const fire = job.fireOnTick;
      job.fireOnTick = (...args) => this.gate.pass(name, () => Reflect.apply(fire, job, args));
    }
    if (this.#paused) stop();
  }

  /** Clears the timers of decorated methods, and leaves the cleared handles in the registry. */
  #park(): void {
    for (const kind of [TIMEOUTS, INTERVALS]) {
      const parked = new Map<string, unknown>();
      this.#parked.set(kind, parked);
      const registered = new Set(kind.keys(this.registry));
      for (const [key, { ref }] of Object.entries(kind.records(this.orchestrator))) {
        // Deleted, or replaced, by the application; or a timeout that has run.
        if (!registered.has(key) || kind.get(this.registry, key) !== ref) continue;
        if (kind === TIMEOUTS && this.#fired.has(key)) continue;
        kind.delete(this.registry, key);
        kind.add(this.registry, key, ref);
        parked.set(key, ref);
      }
    }
  }

  #unpark(kind: TimerKind): void {
    const registered = new Set(kind.keys(this.registry));
    const due = [...(this.#parked.get(kind) ?? [])].filter(
      ([key, handle]) => registered.has(key) && kind.get(this.registry, key) === handle,
    );
    this.#parked.delete(kind);
    const records = kind.records(this.orchestrator);
    const again: JobRecords = {};
    for (const [key] of due) {
      kind.delete(this.registry, key);
      const record = records[key];
      if (record !== undefined) again[key] = record;
    }
    kind.mount(this.orchestrator, again);
  }
}

/** The orchestrator itself, but with these records in place of all. */
function overlay(orchestrator: JobOrchestrator, records: Partial<JobOrchestrator>): JobOrchestrator {
  return Object.assign(Object.create(orchestrator) as JobOrchestrator, records);
}
