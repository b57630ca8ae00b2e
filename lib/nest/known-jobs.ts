import type { BoundJob } from './bound-job.js';

/** Among so few jobs it is not worthwhile to look for deleted ones. */
const FEW = 100;

type Named = Pick<BoundJob, 'job' | 'name'>;

/**
 * The jobs that an instance knows, decorated and made at run time, by their names and by their locks. So a new job is compared only
 * with those of its name or its lock, not with all.
 */
export class KnownJobs {
  #decorated: readonly BoundJob[] = [];
  #names: ReadonlySet<string> = new Set();
  readonly #made = new Map<string, BoundJob>();
  /** By their locks. */
  readonly #sharing = new Map<unknown, Set<BoundJob>>();
  /** The locks by what the store keeps them apart by: one each, unless two have the same key. */
  readonly #locks = new Map<unknown, Set<unknown>>();
  /** How many may be made before it looks for deleted ones. */
  #room = FEW;

  /** @param keyOf what a store keeps locks apart by: their keys, or their names */
  constructor(private readonly keyOf: (lock: unknown) => unknown) {}

  /** All, the decorated ones first. */
  get all(): readonly BoundJob[] {
    return [...this.#decorated, ...this.made];
  }

  /** Those made at run time that are still in the registry. */
  get made(): readonly BoundJob[] {
    return [...this.#made.values()].filter((job) => this.#isThere(job));
  }

  /** Takes the decorated jobs, once they are found. */
  meet(decorated: readonly BoundJob[]): void {
    this.#decorated = decorated;
    this.#names = new Set(decorated.map(({ job }) => job));
    for (const job of decorated) this.#put(job);
  }

  /** A job was made at run time. An earlier one with its name is gone. */
  add(job: BoundJob): void {
    const before = this.#made.get(job.job);
    if (before !== undefined) this.#remove(before);
    this.#made.set(job.job, job);
    this.#put(job);
    if (this.#made.size > this.#room) this.#forget();
  }

  /** Whether there is a job of this name. */
  has(name: string): boolean {
    return this.#names.has(name) || this.#isThere(this.#made.get(name));
  }

  /** Whether another job has the name of this one. */
  hasNamesake({ job }: Named, own?: BoundJob): boolean {
    const made = this.#made.get(job);
    return this.#names.has(job) || (made !== own && this.#isThere(made));
  }

  /** The jobs under a lock. */
  *under(lock: unknown): Iterable<BoundJob> {
    for (const job of this.#sharing.get(lock) ?? [])
      if (this.#made.get(job.job) !== job || this.#isThere(job)) yield job;
  }

  /** Another lock that the store does not keep apart from this one. */
  rivalOf(lock: unknown): unknown {
    for (const other of this.#locks.get(this.keyOf(lock)) ?? [])
      if (other !== lock) for (const _job of this.under(other)) return other;
    return undefined;
  }

  /** Removes the jobs that were deleted. */
  #forget(): void {
    for (const job of this.#made.values()) if (!this.#isThere(job)) this.#remove(job);
    this.#room = FEW + 2 * this.#made.size;
  }

  #isThere(job: BoundJob | undefined): boolean {
    return job !== undefined && job.state() !== 'gone';
  }

  #put(job: BoundJob): void {
    const { name } = job;
    add(this.#sharing, name, job);
    add(this.#locks, this.keyOf(name), name);
  }

  #remove(job: BoundJob): void {
    const { name } = job;
    this.#made.delete(job.job);
    remove(this.#sharing, name, job);
    if (!this.#sharing.has(name)) remove(this.#locks, this.keyOf(name), name);
  }
}

function add<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([value]));
  else set.add(value);
}

function remove<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
