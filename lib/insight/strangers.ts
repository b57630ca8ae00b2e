import type { KnownJob } from '../contract/history-store.js';
import { isOn } from './facts.js';
import { isUp } from './join.js';
import type { InstanceInfo } from './types.js';

/** Another application whose jobs are taken for those of this one. */
export interface Stranger {
  readonly application: string;
  /** One of its instances. */
  readonly instance: string;
  readonly jobs: readonly string[];
}

/** An instance, and its jobs. */
export type Known = Pick<InstanceInfo, 'instance' | 'state' | 'application'> & {
  readonly jobs: readonly KnownJob[];
};

/**
 * The other applications that are up and have a job of the same name under the same lock: each takes some of its ticks. An instance
 * that does not give the name of its application is no stranger, and jobs that are called by hand have no ticks.
 */
export function strangersOf(
  application: string,
  own: readonly KnownJob[],
  instances: readonly Known[],
): Stranger[] {
  const mine = new Set(own.filter(hasTicks).map(keyOf));
  const strangers = new Map<string, Stranger>();
  for (const instance of instances) {
    const { application: other = application } = instance;
    if (other === application || strangers.has(other) || !isUp(instance)) continue;
    const jobs = instance.jobs.filter((job) => hasTicks(job) && mine.has(keyOf(job))).map(({ job }) => job);
    if (jobs.length > 0) strangers.set(other, { application: other, instance: instance.instance, jobs });
  }
  return [...strangers.values()];
}

export const hasTicks = (job: KnownJob): boolean => isOn(job) && job.kind !== 'hand';
const keyOf = ({ job, lock }: KnownJob): string => JSON.stringify([job, lock]);
