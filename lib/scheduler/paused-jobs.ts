import {
  type CronJobLike,
  type JobOrchestrator,
  type JobRecords,
  type JobRegistry,
  overlay,
} from './scheduler-parts.js';

/** One kind of timer, and its methods of the registry and the orchestrator. */
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

/** Whether a cron job has to run once jobs are resumed, and its original start and stop. */
interface Control {
  wanted: boolean;
  /** Whether the application has stopped it, in contrast to one that was not started yet. */
  stopped: boolean;
  readonly start: () => void;
  readonly pause: () => void;
}

/** Decides whether a job may run now. */
export interface Gate {
  /** Fires a job, or does nothing. */
  pass(job: string, fire: () => unknown): unknown;
  /** Counts the work of a job that outlasts the call that fired it. Returns the promise to use in its place. */
  track(work: unknown): unknown;
}

/** Receives problems of cron jobs, by their names in the registry. */
export interface JobProblems {
  /** The job cannot be started. */
  failed(job: string, error: unknown): void;
  /** The job ran before it could be paused. */
  ranBefore(job: string): void;
}

/**
 * The jobs of a scheduler, paused until they are resumed: cron jobs are stopped; the timers of `@Interval()` and
 * `@Timeout()` are cleared, and made anew later. Their entries in the registry stay. Cron jobs that the application
 * adds are paused as well. Timers that it adds are not: only the application can make them anew.
 */
export class PausedJobs {
  #paused = true;
  #mounted = false;
  readonly #controls = new WeakMap<object, Control>();
  /** Cleared handles by kind and name. */
  readonly #parked = new Map<TimerKind, Map<string, unknown>>();
  /** Names of `@Timeout()` methods that have run. */
  readonly #fired = new Set<string>();

  constructor(
    private readonly orchestrator: JobOrchestrator,
    private readonly gate: Gate,
    private readonly problems: JobProblems,
  ) {}

  /**
   * Call this before the scheduler makes its jobs: they are paused in the very turn in which they are made.
   *
   * @param added called when a job was added to the registry
   */
  takeOver(added: () => void): void {
    const { orchestrator } = this;
    const { schedulerRegistry: registry } = orchestrator;
    const addCronJob = registry.addCronJob.bind(registry);
    registry.addCronJob = (name, job) => {
      addCronJob(name, job);
      this.#control(name, job);
      added();
    };
    for (const kind of ['addInterval', 'addTimeout'] as const) {
      const add = registry[kind].bind(registry);
      registry[kind] = (name, handle) => {
        add(name, handle);
        added();
      };
    }
    for (const [name, job] of registry.getCronJobs()) {
      this.#control(name, job);
      if (job.lastDate() !== null) this.problems.ranBefore(name);
    }
    const mount = orchestrator.onApplicationBootstrap.bind(orchestrator);
    orchestrator.onApplicationBootstrap = () => {
      const { cronJobs, intervals, timeouts } = orchestrator;
      for (const records of [cronJobs, intervals, timeouts]) this.#guard(records);
      mount();
      this.#mounted = true;
      if (this.#paused) this.#park();
    };
  }

  /** Starts the paused jobs. Intervals and timeouts begin to count anew. */
  resume(): void {
    this.#paused = false;
    if (this.#mounted) for (const kind of [TIMEOUTS, INTERVALS]) this.#unpark(kind);
    for (const [name, job] of this.#registry.getCronJobs()) {
      const control = this.#controls.get(job);
      if (control?.wanted !== true) continue;
      try {
        control.start();
      } catch (error) {
        // The only date of the job has passed meanwhile.
        if (!job.cronTime.realDate) this.problems.failed(name, error);
      }
    }
  }

  pause(): void {
    this.#paused = true;
    for (const job of this.#registry.getCronJobs().values()) this.#controls.get(job)?.pause();
    if (this.#mounted) this.#park();
  }

  /** Whether there is any job: of a decorated method, or in the registry. */
  get hasJobs(): boolean {
    const { cronJobs, intervals, timeouts } = this.orchestrator;
    const registry = this.#registry;
    const registered =
      registry.getCronJobs().size + registry.getIntervals().length + registry.getTimeouts().length;
    return (
      registered > 0 || [cronJobs, intervals, timeouts].some((records) => Object.keys(records).length > 0)
    );
  }

  /** Whether the application has stopped a cron job and not started it since. */
  hasStopped(job: object): boolean {
    return this.#controls.get(job)?.stopped === true;
  }

  get #registry(): JobRegistry {
    return this.orchestrator.schedulerRegistry;
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

  /**
   * Stops a cron job as long as jobs are paused. If the application starts or stops it meanwhile, that takes effect
   * when jobs are resumed.
   */
  #control(name: string, job: CronJobLike): void {
    if (this.#controls.has(job)) return;
    const [start, stop, setTime] = [job.start.bind(job), job.stop.bind(job), job.setTime.bind(job)];
    const control: Control = {
      wanted: job.isActive ?? job.running ?? false,
      stopped: false,
      start,
      pause: () => quietly(job, stop),
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
      // `setTime()` stops the job, and starts it again only if it was running.
      const { wanted, stopped } = control;
      setTime(time);
      Object.assign(control, { wanted, stopped });
    };
    // Jobs of decorated methods are guarded at the method, where their end can be awaited. This one is another job,
    // perhaps with the same name.
    if (this.orchestrator.cronJobs[name]?.ref !== job) {
      const fire = job.fireOnTick;
      job.fireOnTick = (...args) => this.gate.pass(name, () => Reflect.apply(fire, job, args));
      this.#track(job);
    }
    if (this.#paused) control.pause();
  }

  /** Without `waitForCompletion`, only the callbacks of a job show its end: `fireOnTick()` resolves at once. */
  #track(job: CronJobLike): void {
    const { gate } = this;
    const tracked = (callback: unknown): unknown => {
      if (typeof callback !== 'function') return callback;
      return function (this: unknown, ...args: unknown[]): unknown {
        return gate.track(Reflect.apply(callback, this, args));
      };
    };
    if (Array.isArray(job._callbacks)) job._callbacks = job._callbacks.map(tracked);
    const addCallback = job.addCallback.bind(job);
    job.addCallback = (callback) => addCallback(tracked(callback));
  }

  /** Clears the timers of decorated methods, but leaves the cleared handles in the registry. */
  #park(): void {
    for (const kind of [TIMEOUTS, INTERVALS]) {
      const parked = new Map<string, unknown>();
      this.#parked.set(kind, parked);
      const registered = new Set(kind.keys(this.#registry));
      for (const [key, { ref }] of Object.entries(kind.records(this.orchestrator))) {
        // Skips jobs that the application has deleted or replaced, and timeouts that have run.
        if (!registered.has(key) || kind.get(this.#registry, key) !== ref) continue;
        if (kind === TIMEOUTS && this.#fired.has(key)) continue;
        kind.delete(this.#registry, key);
        kind.add(this.#registry, key, ref);
        parked.set(key, ref);
      }
    }
  }

  #unpark(kind: TimerKind): void {
    const registered = new Set(kind.keys(this.#registry));
    const due = [...(this.#parked.get(kind) ?? [])].filter(
      ([key, handle]) => registered.has(key) && kind.get(this.#registry, key) === handle,
    );
    this.#parked.delete(kind);
    const records = kind.records(this.orchestrator);
    const again: JobRecords = {};
    for (const [key] of due) {
      kind.delete(this.#registry, key);
      const record = records[key];
      if (record !== undefined) again[key] = record;
    }
    kind.mount(this.orchestrator, again);
  }
}

/**
 * Stops a job without calling its `onComplete`, now or later: the job is not complete, it goes on when it is resumed.
 */
function quietly(job: CronJobLike, stop: () => unknown): void {
  const { onComplete, waitForCompletion } = job;
  Object.assign(job, { onComplete: undefined, waitForCompletion: false });
  stop();
  Object.assign(job, { onComplete, waitForCompletion });
}
