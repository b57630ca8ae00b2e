import type { Clock } from '../../clock.js';
import type {
  Alarm,
  Beat,
  BeatResult,
  HistoryEntry,
  HistoryQuery,
  HistoryStore,
  InstanceRecord,
  Interruption,
  Kept,
  Miss,
  MissEntry,
  MissResult,
  RunEntry,
  RunRecord,
} from '../history-store.js';
import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';
import type { JobInfo } from '../lock-info.js';
import { NOTHING_RAN } from '../rules.js';
import { Registry } from './registry.js';

/** An entry, and until when it is kept, epoch milliseconds. */
interface Logged {
  readonly entry: HistoryEntry;
  readonly until: number;
  /** Whether the tick counted as missed when it was noted: if a newer tick hides it, a late note is for people only. */
  readonly counts?: boolean;
}

/** What histories need to know of the locks. */
export interface Starts {
  /** The last start of a job under a lock. */
  lastStart(name: string, job: string): JobInfo | undefined;
  /** Whether a lease for this job holds the lock. */
  isRunning(name: string, job: string): boolean;
}

type StartId = Pick<LeaseRef, 'job' | 'tick' | 'attempt'>;

const NOT_MISSED: MissResult = { missed: false, first: false };

/** Who ran what, in the memory of this process. */
export class MemoryHistory implements HistoryStore {
  /** Of each lock its entries, newest first. */
  readonly #logs = new Map<string, readonly Logged[]>();
  /** The newest missed tick of each job that was reported to people. */
  readonly #told = new Map<string, number>();
  readonly #registry: Registry;

  constructor(
    private readonly starts: Starts,
    private readonly clock: Clock,
  ) {
    this.#registry = new Registry(clock);
  }

  /** Keeps how the run of a lease has ended, unless that is known. Nothing ran under a lease that was abandoned. */
  ended(lease: LeaseRef, outcome: ReleaseOutcome, record: RunRecord | undefined): void {
    if (record === undefined || outcome === NOTHING_RAN) return;
    const known = this.#runOf(lease);
    if (known !== undefined && known.outcome !== 'interrupted') return;
    const { kept, ...facts } = record;
    this.#keep({ ...this.#run(lease, outcome), ...facts }, kept);
  }

  async interrupted(run: Interruption): Promise<void> {
    const { by, trigger } = run;
    if (this.#runOf(run) !== undefined) return;
    const more = {
      ...(by === undefined ? undefined : { by }),
      ...(trigger === undefined ? undefined : { trigger }),
    };
    this.#keep({ ...this.#run(run, 'interrupted'), ...more }, run.kept);
  }

  async entries({ name, limit }: HistoryQuery): Promise<HistoryEntry[]> {
    const told = { run: 0, miss: 0 };
    const entries = this.#log(name).map(({ entry }) => entry);
    return entries.filter(({ type }) => ++told[type] <= limit);
  }

  async miss(miss: Miss): Promise<MissResult> {
    const { name, job, kept, grace: _grace, late = false, ...reason } = miss;
    const tick = this.#missedTick(miss);
    if (tick === undefined || this.starts.isRunning(name, job)) {
      if (late && this.#isHidden(miss)) this.#keepMiss({ lock: name, job, ...reason }, kept);
      return NOT_MISSED;
    }
    const first = !this.#log(name).some(
      ({ entry, counts }) => counts && entry.type === 'miss' && entry.job === job && entry.tick === tick,
    );
    this.#keepMiss({ lock: name, job, ...reason, tick }, kept, true);
    return { missed: true, first, tick };
  }

  async told({ name, job, tick }: Alarm): Promise<boolean> {
    const key = JSON.stringify([name, job]);
    if ((this.#told.get(key) ?? -Infinity) >= tick) return false;
    this.#told.set(key, tick);
    return true;
  }

  async beat(beat: Beat): Promise<BeatResult> {
    return this.#registry.beat(beat);
  }

  async instances(): Promise<InstanceRecord[]> {
    return this.#registry.instances();
  }

  /** Whether there are entries of this lock. */
  has(name: string): boolean {
    return this.#log(name).length > 0;
  }

  /** The tick, or when the interval was due, unless it was started, or cannot count as missed yet. */
  #missedTick({ name, job, tick, grace = 0 }: Miss): number | undefined {
    const { tick: last = -Infinity, due } = this.starts.lastStart(name, job) ?? {};
    if (due === undefined) return last < tick ? tick : undefined;
    return due + grace <= this.clock.now() ? due : undefined;
  }

  /** Keeps one entry for each instance, however often it notes the miss. */
  #keepMiss(miss: Omit<MissEntry, 'type' | 'at'>, kept: Kept, counts = false): void {
    const { lock, job, tick, instance } = miss;
    const log = this.#log(lock);
    const known = log.find(
      ({ entry }) =>
        entry.type === 'miss' && entry.job === job && entry.tick === tick && entry.instance === instance,
    );
    if (known === undefined) this.#keep({ type: 'miss', ...miss, at: this.#now() }, kept, counts);
    else if (counts)
      this.#logs.set(
        lock,
        log.map((each) => (each === known ? { ...each, counts } : each)),
      );
  }

  /** Whether a newer tick was started, which hides whether this one was. */
  #isHidden({ name, job, tick }: Miss): boolean {
    return (this.starts.lastStart(name, job)?.tick ?? -Infinity) > tick;
  }

  #run(lease: Omit<Interruption, 'kept'>, outcome: RunEntry['outcome']): RunEntry {
    const { name, fencingToken, holder, ...start } = lease;
    return {
      type: 'run',
      lock: name,
      fencingToken,
      instance: holder,
      ...startIdOf(start),
      outcome,
      at: this.#now(),
    };
  }

  #runOf({ name, fencingToken }: Pick<LeaseRef, 'name' | 'fencingToken'>): RunEntry | undefined {
    for (const { entry } of this.#log(name))
      if (entry.type === 'run' && entry.fencingToken === fencingToken) return entry;
    return undefined;
  }

  /** Puts an entry before all others, instead of an interruption of the same run. Completed runs and other entries count separately. */
  #keep(entry: HistoryEntry, { count, age }: Kept, counts = false): void {
    const old = entry.type === 'run' ? this.#runOf({ ...entry, name: entry.lock }) : undefined;
    const others = this.#log(entry.lock).filter((each) => each.entry !== old);
    const kept = { completed: 0, other: 0 };
    const log = [{ entry, until: entry.at + age, counts }, ...others];
    this.#logs.set(
      entry.lock,
      log.filter((each) => ++kept[kindOf(each.entry)] <= count),
    );
  }

  /** The entries of a lock that are not too old. */
  #log(name: string): readonly Logged[] {
    const now = this.clock.now();
    const log = this.#logs.get(name);
    if (log === undefined || log.every(({ until }) => until > now)) return log ?? [];
    const young = log.filter(({ until }) => until > now);
    if (young.length > 0) this.#logs.set(name, young);
    else this.#logs.delete(name);
    return young;
  }

  #now(): number {
    return Math.trunc(this.clock.now());
  }
}

function kindOf(entry: HistoryEntry): 'completed' | 'other' {
  return entry.type === 'run' && entry.outcome === 'completed' ? 'completed' : 'other';
}

/** The parts of a start that are known. */
function startIdOf({ job, tick, attempt }: StartId): StartId {
  return {
    ...(job === undefined ? undefined : { job }),
    ...(tick === undefined ? undefined : { tick }),
    ...(attempt === undefined ? undefined : { attempt }),
  };
}
