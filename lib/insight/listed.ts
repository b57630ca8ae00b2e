import type { InstanceRecord, KnownJob } from '../contract/history-store.js';

/**
 * The lists of jobs of instances, each with what is stopped on that instance. A store keeps one list for all instances that know the same
 * jobs; those on which the same jobs are stopped share one here, too, as readers go by lists.
 */
export class Lists {
  readonly #stopped = new Map<readonly KnownJob[], Map<string, readonly KnownJob[]>>();

  of({ jobs, stopped = [] }: Pick<InstanceRecord, 'jobs' | 'stopped'>): readonly KnownJob[] {
    if (stopped.length === 0) return jobs;
    const known = this.#stopped.get(jobs) ?? new Map<string, readonly KnownJob[]>();
    this.#stopped.set(jobs, known);
    const key = stopped.join();
    const list = known.get(key) ?? withStopped(jobs, new Set(stopped));
    known.set(key, list);
    return list;
  }
}

const withStopped = (jobs: readonly KnownJob[], stopped: ReadonlySet<number>): readonly KnownJob[] =>
  jobs.map((job, index) => (stopped.has(index) ? { ...job, stopped: true } : job));
