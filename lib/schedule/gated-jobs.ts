import type { CronJobLike, JobOrchestrator, JobRecords } from './scheduler-parts.js';

/** Decides whether a job may run now. */
interface Gate {
  pass(job: string, fire: () => unknown): unknown;
}

export interface JobWatcher {
  /** A job was added to the registry. */
  added(): void;
  /** A cron job ran before it was behind the gate. */
  ranBefore(job: string): void;
}

/**
 * Puts the jobs of a scheduler behind a gate: the decorated methods, and the cron jobs of the registry. Their timers keep firing,
 * and the registry shows all jobs as started; the gate decides at each fire. Intervals and timeouts that the application adds to
 * the registry belong to the application: this library cannot stop them.
 */
export class GatedJobs {
  readonly #guarded = new WeakSet<object>();

  constructor(
    private readonly orchestrator: JobOrchestrator,
    private readonly gate: Gate,
    watcher: JobWatcher,
  ) {
    const { schedulerRegistry: registry } = orchestrator;
    for (const [name, job] of registry.getCronJobs()) {
      this.#guardJob(name, job);
      if (job.lastDate() !== null) watcher.ranBefore(name);
    }
    const addCronJob = registry.addCronJob.bind(registry);
    registry.addCronJob = (name, job) => {
      addCronJob(name, job);
      this.#guardJob(name, job);
      watcher.added();
    };
    for (const kind of ['addInterval', 'addTimeout'] as const) {
      const add = registry[kind].bind(registry);
      registry[kind] = (name, handle) => {
        add(name, handle);
        watcher.added();
      };
    }
  }

  /** Guards the decorated methods that the scheduler has found since. Call it before it makes their timers. */
  guardMethods(): void {
    for (const records of this.#methods)
      for (const [name, record] of Object.entries(records)) {
        if (this.#guarded.has(record)) continue;
        this.#guarded.add(record);
        const { target } = record;
        record.target = (...args) => this.gate.pass(name, () => target(...args));
      }
  }

  /** Whether there is any job: of a decorated method, or in the registry. */
  get hasJobs(): boolean {
    const { schedulerRegistry: registry } = this.orchestrator;
    const registered =
      registry.getCronJobs().size + registry.getIntervals().length + registry.getTimeouts().length;
    return registered > 0 || this.#methods.some((records) => Object.keys(records).length > 0);
  }

  /** The cron jobs, but those of methods, of which `cron` does not say when they end. */
  get unawaited(): string[] {
    const { cronJobs, schedulerRegistry: registry } = this.orchestrator;
    return [...registry.getCronJobs()].flatMap(([name, job]) =>
      job.waitForCompletion === true || cronJobs[name]?.ref === job ? [] : [name],
    );
  }

  get #methods(): JobRecords[] {
    const { cronJobs, intervals, timeouts } = this.orchestrator;
    return [cronJobs, intervals, timeouts];
  }

  /** The job of a method is guarded twice: its method shows when it ends, as `fireOnTick()` may resolve at once. */
  #guardJob(name: string, job: CronJobLike): void {
    if (this.#guarded.has(job)) return;
    this.#guarded.add(job);
    const fire = job.fireOnTick;
    job.fireOnTick = (...args) => this.gate.pass(name, () => Reflect.apply(fire, job, args));
  }
}
