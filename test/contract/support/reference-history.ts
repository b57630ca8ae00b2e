import {
  type Alarm,
  type Beat,
  type BeatResult,
  type HistoryEntry,
  type HistoryQuery,
  type HistoryStore,
  type InstanceRecord,
  INSTANCES_KEPT,
  type Interruption,
  type Retention,
  type KnownJob,
  type Miss,
  type MissEntry,
  type MissResult,
  type RunEntry,
  type RunRecord,
} from '../../../lib/contract/history-store.js';
import type { ReleaseOutcome } from '../../../lib/index.js';
import type { AcquireRequest, AcquireResult } from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import type { ReferenceStore, StartEntry } from './reference-store.js';

type Interrupted = Extract<AcquireResult, { acquired: true }>['interrupted'];
/** A run that is to be kept. */
type Run = Omit<Interruption, 'kept'>;

/** The rules of histories written down once more, in small steps, so that each can be broken. */
export class ReferenceHistory implements HistoryStore {
  /** Newest first. */
  log: HistoryEntry[] = [];
  /** Until when each entry is kept. */
  readonly #until = new WeakMap<HistoryEntry, number>();
  readonly beats = new Map<string, Beat & { readonly seenAt: number }>();
  /** The newest tick of each job of which people were told. */
  readonly alarms = new Map<string, number>();
  readonly catalogues = new Map<string, readonly KnownJob[]>();

  constructor(protected readonly store: ReferenceStore) {}

  ended(lease: LeaseRef, outcome: ReleaseOutcome, record: RunRecord | undefined): void {
    if (record === undefined || !this.isRun(outcome)) return;
    const { kept, ...facts } = record;
    const known = this.runOf(lease);
    if (known !== undefined && !this.givesWay(known)) return;
    this.log = this.log.filter((entry) => entry !== known);
    this.keep({ ...this.entryOf(lease, outcome), ...facts }, kept);
  }

  async interrupted(run: Interruption): Promise<void> {
    if (this.isKnown(run)) return;
    this.keep(this.entryOf(run, 'interrupted'), run.kept);
  }

  async entries({ name, limit }: HistoryQuery): Promise<HistoryEntry[]> {
    this.log = this.log.filter((entry) => (this.#until.get(entry) ?? Infinity) > this.now());
    const own = this.log.filter((entry) => this.isOf(entry, name));
    const of = (type: HistoryEntry['type']) => own.filter((entry) => entry.type === type).slice(0, limit);
    const told = [...of('run'), ...of('miss')];
    return own.filter((entry) => told.includes(entry));
  }

  async miss(miss: Miss): Promise<MissResult> {
    const { name, job, kept, grace: _grace, late = false, ...reason } = miss;
    const start = this.store.starts.get(JSON.stringify([name, job]));
    const tick = this.missedTick(miss, start);
    const entry = { type: 'miss', lock: name, job, ...reason, at: this.now() } as const;
    if (tick === undefined || this.isRunning(miss)) {
      if (late && (start?.tick ?? -Infinity) > miss.tick && !this.isTold(entry)) this.keep(entry, kept);
      return { missed: false };
    }
    if (!this.isTold({ ...entry, tick })) this.keep({ ...entry, tick }, kept);
    return { missed: true, tick };
  }

  async told({ name, job, tick }: Alarm): Promise<boolean> {
    const key = this.alarmOf(name, job);
    const first = (this.alarms.get(key) ?? -Infinity) < tick;
    if (first) this.alarms.set(key, tick);
    return first;
  }

  async beat({ brief, ...beat }: Beat): Promise<BeatResult> {
    const { instance, catalogue, jobs } = beat;
    if (jobs !== undefined) this.catalogues.set(this.listOf(beat), jobs);
    const time = this.now();
    const known = brief ? this.isKnownBeat(beat) : this.isKnownList(beat);
    if (known) this.beats.set(instance, { ...this.seen(beat), catalogue, seenAt: time });
    return brief ? { known } : { time, known };
  }

  async instances(): Promise<InstanceRecord[]> {
    const time = this.now();
    const young = [...this.beats.values()].filter(({ seenAt }) => seenAt + INSTANCES_KEPT > time);
    return young.map((beat) => {
      const { catalogue: _catalogue, ...facts } = beat;
      return { ...facts, time, jobs: this.catalogues.get(this.listOf(beat)) ?? [] };
    });
  }

  /** What a grant tells of the lease before it. */
  before({ name, history }: Pick<AcquireRequest, 'name' | 'history'>): Interrupted {
    const state = this.store.states.get(this.store.key(name));
    if (state === undefined || !this.tells(history) || !this.endedByItself(state)) return undefined;
    const { token, fence: fencingToken, holder, job } = state;
    const start = job === undefined ? undefined : this.store.starts.get(JSON.stringify([name, job]));
    const own = start?.token === token ? { tick: start.tick, attempt: start.attempt } : {};
    return defined({ fencingToken, holder, job, ...own });
  }

  // The steps

  protected isRun(outcome: ReleaseOutcome): boolean {
    return outcome !== 'abandoned';
  }

  /** Whether the end of a run takes the place of this entry of it. */
  protected givesWay({ outcome }: RunEntry): boolean {
    return outcome === 'interrupted';
  }

  protected isKnown(run: Run): boolean {
    return this.runOf(run) !== undefined;
  }

  protected tells(history = false): boolean {
    return history;
  }

  protected endedByItself({ ended }: { readonly ended: boolean }): boolean {
    return !ended;
  }

  protected isOf({ lock }: HistoryEntry, name: string): boolean {
    return lock === name;
  }

  protected runOf({ name, fencingToken }: Pick<Run, 'name' | 'fencingToken'>): RunEntry | undefined {
    return this.log.find(
      (entry): entry is RunEntry =>
        entry.type === 'run' && entry.lock === name && entry.fencingToken === fencingToken,
    );
  }

  protected entryOf({ name, holder, ...run }: Run, outcome: RunEntry['outcome']): RunEntry {
    const { fencingToken, job, tick, attempt } = run;
    const facts = defined({ job, fencingToken, tick, attempt });
    return { type: 'run', lock: name, ...facts, instance: holder, outcome, at: this.now() };
  }

  protected keep(entry: HistoryEntry, kept: Retention): void {
    this.log.unshift(entry);
    this.#until.set(entry, this.now() + kept.age);
    const alike = this.log.filter(
      (each) => each.lock === entry.lock && this.kindOf(each) === this.kindOf(entry),
    );
    const tooMany = this.tooMany(alike, kept);
    this.log = this.log.filter((each) => !tooMany.includes(each));
  }

  protected tooMany(alike: readonly HistoryEntry[], { count }: Retention): readonly HistoryEntry[] {
    return alike.slice(count);
  }

  protected kindOf(entry: HistoryEntry): string {
    return entry.type === 'run' && entry.outcome === 'completed' ? 'completed' : 'other';
  }

  protected missedTick({ tick, grace = 0 }: Miss, start: StartEntry | undefined): number | undefined {
    if (start === undefined) return this.ofUnknown(tick);
    if (start.interval === undefined) return this.wasStarted(tick, start) ? undefined : tick;
    const due = (start.from ?? 0) + (start.interval ?? Infinity);
    return due + grace <= this.store.clock.now() ? due : undefined;
  }

  protected ofUnknown(tick: number): number | undefined {
    return tick;
  }

  /** Whether this instance has told of the tick before. */
  protected isTold(miss: MissEntry): boolean {
    return this.log.some((entry) => isSameMiss(entry, miss));
  }

  protected alarmOf(name: string, job: string): string {
    return JSON.stringify([name, job]);
  }

  protected wasStarted(tick: number, { tick: last = Infinity }: StartEntry): boolean {
    return tick <= last;
  }

  protected isRunning({ name, job }: Miss): boolean {
    const state = this.store.states.get(this.store.key(name));
    return this.store.lock(name) !== undefined && state?.ended === false && state.job === job;
  }

  protected listOf({ catalogue }: Beat): string {
    return catalogue;
  }

  protected isKnownList(beat: Beat): boolean {
    return this.catalogues.has(this.listOf(beat));
  }

  /** Whether a brief beat comes after one of its instance with the same list. */
  protected isKnownBeat({ instance, catalogue }: Beat): boolean {
    const last = this.beats.get(instance);
    return last?.catalogue === catalogue && last.seenAt + INSTANCES_KEPT > this.now();
  }

  protected seen(beat: Beat): Beat {
    return beat;
  }

  protected now(): number {
    return this.store.clock.now();
  }
}

/** Whether an entry is what the same instance has told of the same tick. */
const isSameMiss = (entry: HistoryEntry, { lock, job, tick, instance }: MissEntry): boolean =>
  entry.type === 'miss' &&
  entry.lock === lock &&
  entry.job === job &&
  entry.tick === tick &&
  entry.instance === instance;

/** How late a store may keep records, ms. */
const LATE = 1_000;

/** The same for a store that keeps records a little later, as rule 16 allows. */
export class LateReferenceHistory extends ReferenceHistory {
  #late: { readonly at: number; readonly run: Parameters<ReferenceHistory['ended']> }[] = [];

  override ended(...run: Parameters<ReferenceHistory['ended']>): void {
    this.#late.push({ at: this.now() + LATE, run });
  }

  async flush(): Promise<void> {
    for (const { run } of this.#late.splice(0)) super.ended(...run);
  }

  override async entries(query: HistoryQuery): Promise<HistoryEntry[]> {
    const isDue = ({ at }: { readonly at: number }): boolean => at <= this.now();
    for (const { run } of this.#late.filter(isDue)) super.ended(...run);
    this.#late = this.#late.filter((each) => !isDue(each));
    return super.entries(query);
  }
}

/** Without the fields that are `undefined`. */
function defined<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
