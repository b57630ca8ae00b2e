import type { Clock } from '../../clock.js';
import {
  type Beat,
  type BeatResult,
  type InstanceRecord,
  INSTANCES_KEPT,
  type KnownJob,
  MAX_INSTANCES,
} from '../history-store.js';

interface Seen {
  readonly beat: Omit<Beat, 'jobs'>;
  readonly seenAt: number;
}

/** The instances that were up in the last days, in the memory of this process. */
export class Registry {
  /** In the order in which they were last seen. */
  readonly #seen = new Map<string, Seen>();
  /** The lists of jobs, by the names that the instances give them. */
  readonly #catalogues = new Map<string, readonly KnownJob[]>();

  constructor(private readonly clock: Clock) {}

  /** Keeps a beat if its list of jobs is known, or comes with it. */
  beat({ jobs, ...beat }: Beat): BeatResult {
    const { instance, catalogue } = beat;
    const time = this.#now();
    if (jobs !== undefined) this.#catalogues.set(catalogue, jobs);
    const known = this.#catalogues.has(catalogue);
    if (known) {
      this.#seen.delete(instance);
      this.#seen.set(instance, { beat, seenAt: time });
    }
    this.#forget();
    return { time, known };
  }

  instances(): InstanceRecord[] {
    this.#forget();
    const time = this.#now();
    return [...this.#seen.values()].map(({ beat: { catalogue, ...beat }, seenAt }) => {
      return { ...beat, seenAt, time, jobs: this.#catalogues.get(catalogue) ?? [] };
    });
  }

  /** Forgets instances that were not seen for days or exceed the limit, and lists of jobs that no instance has any more. */
  #forget(): void {
    const oldest = this.#now() - INSTANCES_KEPT;
    for (const [instance, { seenAt }] of this.#seen)
      if (seenAt < oldest || this.#seen.size > MAX_INSTANCES) this.#seen.delete(instance);
    const used = new Set([...this.#seen.values()].map(({ beat }) => beat.catalogue));
    for (const catalogue of this.#catalogues.keys())
      if (!used.has(catalogue)) this.#catalogues.delete(catalogue);
  }

  #now(): number {
    return Math.trunc(this.clock.now());
  }
}
