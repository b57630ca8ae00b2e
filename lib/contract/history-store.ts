import type { LeaseRef, ReleaseOutcome } from './lease-ref.js';

/**
 * Who ran what, and when: rules 16 to 18 of `LockStore` say what it keeps. It is for people: nothing here decides who gets a lock, and
 * no lock fails because of it. Its methods reject as the other calls of a store do.
 */
export interface HistoryStore {
  /** Called once at the start. @returns why no histories can be kept, and what to do, for the log; `undefined` if they can */
  init?(): Promise<string | undefined>;
  /** Writes the records that wait, and resolves when they are kept, or lost. Called at a shutdown, after all runs. Absent: none waits. */
  flush?(): Promise<void>;
  /** Keeps what no release can: that a run was interrupted, by the grant of the next lease; or what a person did to the lock. */
  interrupted(run: Interruption): Promise<void>;
  /** The runs and misses of a lock, newest first: ends that the store has kept, not runs that go on. Leaves out unreadable entries. */
  entries(query: HistoryQuery): Promise<HistoryEntry[]>;
  /** Keeps that a tick was missed, unless that tick or a newer one was started. */
  miss(miss: Miss): Promise<MissResult>;
  /** Notes that an instance has reported a missed tick to people. @returns whether none had noted this for the tick, or for a newer one */
  told(alarm: Alarm): Promise<boolean>;
  /** An instance shows that it is up, and which jobs it knows. */
  beat(beat: Beat): Promise<BeatResult>;
  /**
   * The instances that were up within the last {@link INSTANCES_KEPT} ms, and the jobs that they know: none if their list is unreadable.
   *
   * @param onUnreadable called for each record that it cannot read, and leaves out, before this resolves
   */
  instances(onUnreadable?: () => void): Promise<InstanceRecord[]>;
}

/** How many entries are kept, and for how long. */
export interface Retention {
  /** For each lock: this many runs that completed, and as many other entries. A store may keep some more. */
  readonly count: number;
  /** How old an entry may become, ms. */
  readonly age: number;
}

/** What a person can do to a lock. */
export type ControlAction = 'pause' | 'resume' | 'break' | 'run' | 'redeliver' | 'forget';

/** An act of a person. Plain data. */
export interface ControlAct {
  readonly action: ControlAction;
  /** Who acted: the name that the application or the shell gives this person. */
  readonly actor: string;
  /** Why. */
  readonly reason?: string;
  /** For `redeliver`: how many dead letters there were when a person asked. */
  readonly count?: number;
  /** For `pause`: until when it is to last, by the store's clock, epoch milliseconds. */
  readonly until?: number;
  /** For `run` by a queued call: the id of the call. */
  readonly call?: string;
  /** For `break`: the act that started the run, if a person had started it. */
  readonly started?: ControlAct;
}

/** What started a run. */
export type Trigger = 'schedule' | 'hand' | 'catch-up' | 'rerun' | 'queued' | 'control';

/** What is kept of an entry besides the lease that it is about. */
export interface Annotation {
  /** What started it, if not what the lease implies: `rerun` from the second attempt on, `schedule` with a tick, `hand` without one. */
  readonly trigger?: Trigger;
  /** The act of a person that started or ended it. */
  readonly by?: ControlAct;
}

/** What a run says of what it has done: up to eight numbers or short texts, by name. */
export type Report = Readonly<Record<string, number | string>>;

/** How a run went, as its holder knows it. Kept once it is released, or not at all. Plain data. */
export interface RunRecord extends Annotation {
  readonly kept: Retention;
  /** How long it ran by the holder's clock, milliseconds. */
  readonly duration: number;
  /** What it threw, shortened; absent if it threw nothing, or the options hide it. */
  readonly error?: string;
  /** Id of the trace that the run belongs to, if there is one. */
  readonly traceId?: string;
  /** What it has reported, if anything. */
  readonly report?: Report;
  /** For `hollow`: what was missing, a part of a sentence. */
  readonly shortfall?: string;
}

/** A run whose lease ended by itself. With `by`: an act of a person on the lock, with a fencing token that only says when. */
export interface Interruption
  extends Pick<LeaseRef, 'name' | 'fencingToken' | 'holder' | 'job' | 'tick' | 'attempt'>, Annotation {
  readonly kept: Retention;
}

/** Which entries. */
export interface HistoryQuery {
  /** Name of the lock. */
  readonly name: string;
  /** How many runs, and how many misses, at most. */
  readonly limit: number;
  /** Called for each unreadable entry that the store leaves out, before the answer. */
  readonly onUnreadable?: (() => void) | undefined;
}

/** What a store has kept of a lock. */
export type HistoryEntry = RunEntry | MissEntry;

/** A run that has ended. The store has one for each fencing token: the end of the run, if it is known, or else the interruption. */
export interface RunEntry
  extends
    Annotation,
    Pick<LeaseRef, 'fencingToken' | 'job' | 'tick' | 'attempt'>,
    Partial<Pick<RunRecord, 'duration' | 'error' | 'traceId' | 'report' | 'shortfall'>> {
  readonly type: 'run';
  readonly lock: string;
  /** Instance id of its holder. */
  readonly instance: string;
  readonly outcome: ReleaseOutcome | 'interrupted';
  /** When the store recorded this, by its clock, epoch milliseconds. Its lease began at a thousandth of `fencingToken`, likewise. */
  readonly at: number;
}

/** Why an instance did not start a tick. */
export interface MissReason {
  /** A skip reason; `not-fired`: its scheduler never called the job; `not-up`: the instance started after the tick. `unlocked`: it has run the job without the store. */
  readonly reason: string;
  /** How many ticks in a row, this one included, the instance did not start for that reason. */
  readonly count: number;
  /** Instance id of the holder that was in the way. */
  readonly holder?: string;
  /** When the first of these ticks was skipped, by the instance's clock, epoch milliseconds. */
  readonly since?: number;
  /** For `store-unavailable`: when the instance first got an answer again, by its own clock, epoch milliseconds. Absent if not yet. */
  readonly until?: number;
}

/** A tick that nobody has started, as one instance saw it. Plain data. */
export interface Miss extends MissReason {
  /** Name of the lock. */
  readonly name: string;
  readonly job: string;
  readonly instance: string;
  readonly kept: Retention;
  /** The fire time, epoch milliseconds. Of an interval, when it was due, as far as the instance knows: the store may know better. */
  readonly tick: number;
  /** For an interval: how long after it was due it counts as missed, milliseconds. */
  readonly grace?: number;
  /** Whether this could not be reported before. Then it is kept even if a newer tick was started, and does not count as missed. */
  readonly late?: boolean;
}

/** A missed tick that was reported to people. Plain data. */
export type Alarm = Pick<Miss, 'name' | 'job' | 'tick' | 'kept'>;

/** Whether a tick was missed. */
export interface MissResult {
  /** Whether the tick was missed. If not, it or a newer one was started, or a run of the job goes on. */
  readonly missed: boolean;
  /** The tick. Of an interval: when it was due. */
  readonly tick?: number;
}

/** A tick that nobody has started, as one instance has noted it. */
export interface MissEntry extends MissReason, Pick<Miss, 'job' | 'instance' | 'tick'> {
  readonly type: 'miss';
  readonly lock: string;
  /** When it was noted, by the store's clock, epoch milliseconds. */
  readonly at: number;
}

/** A job that an instance knows. */
export interface KnownJob {
  readonly job: string;
  /** Name of its lock; absent if the name is made from the arguments of each call. */
  readonly lock?: string;
  /** How it is started: by `@Cron()`, `@Interval()`, or by hand (`@Timeout()` too). */
  readonly kind: 'cron' | 'interval' | 'hand';
  /** Cron expression, as `cron` shows it. */
  readonly schedule?: string;
  /** The zone of the expression: a name, or an offset; the zone of the process if the job has none of its own. */
  readonly timeZone?: string;
  /** Milliseconds between two runs. */
  readonly interval?: number;
  /** Whether it may run on this instance. */
  readonly enabled: boolean;
  /** Whether its cron job was stopped on this instance, which reports it in {@link Beat.stopped}. Absent: no. */
  readonly stopped?: true;
  /** How long after its tick a run counts as overdue, milliseconds; `false`: never. */
  readonly overdue: number | false;
  /** For how long its lock stays taken from the start of a run, milliseconds, if the run ends sooner. Absent: it does not. */
  readonly atLeast?: number;
  /** Whether this instance takes calls of the job that a person makes elsewhere. Absent: no. */
  readonly takesCalls?: true;
}

/** What an instance reports of itself, again and again. Plain data. */
export interface Beat {
  readonly instance: string;
  /** When it started, by its own clock, epoch milliseconds. */
  readonly startedAt: number;
  /** Milliseconds until its next beat. After three such times without a beat, it counts as gone. */
  readonly every: number;
  /** Its next beat comes with the next tick of its jobs: without a beat 90 s after that tick, the instance counts as gone. */
  readonly withTicks?: true;
  /** Name of the application. Absent if it has none. */
  readonly application?: string;
  /** Version of the application. */
  readonly version?: string;
  /** By how much the store's clock is ahead of the instance's, milliseconds. Absent until it is known. */
  readonly clockOffset?: number;
  /** The elections that it leads. */
  readonly leads: readonly string[];
  /** Names the list of its jobs: instances with the same list share it. */
  readonly catalogue: string;
  /** The list itself: given if the store does not know it yet. */
  readonly jobs?: readonly KnownJob[];
  /** It is kept only over a beat of the same instance with the same list, and the answer tells no time: that costs the store less. */
  readonly brief?: true;
  /** The jobs whose cron job is stopped here at the moment, by their index in the list. Absent: none. */
  readonly stopped?: readonly number[];
  /** When jobs were made while it was up, by their index in the list: by its own clock, epoch milliseconds. Absent: none. */
  readonly added?: Readonly<Record<number, number>>;
  /** Runs here that should be over, and go on. Absent: none. */
  readonly hung?: readonly HungRun[];
  /** How many runs the store keeps for this instance's jobs, and for how long. */
  readonly kept?: Retention;
  /** Whether it shuts down. */
  readonly left: boolean;
}

/** A run that should be over, and goes on. */
export interface HungRun extends Pick<LeaseRef, 'fencingToken' | 'tick'> {
  readonly job: string;
}

/** The answer to a beat. */
export interface BeatResult {
  /** The store's time, epoch milliseconds. Absent: the beat was brief. */
  readonly time?: number;
  /** Whether the beat is kept: the store knows its list of jobs. If not, it has to come again: a brief one in full, others with the list. */
  readonly known: boolean;
}

/** An instance, as the store knows it. */
export interface InstanceRecord extends Omit<Beat, 'jobs' | 'catalogue' | 'brief'> {
  /** When its last beat came, by the store's clock, epoch milliseconds. */
  readonly seenAt: number;
  /** The store's time at this answer, epoch milliseconds. */
  readonly time: number;
  readonly jobs: readonly KnownJob[];
}

/** How long instances are remembered after their last beat, ms: a fleet that is down over a long weekend is still known after it. */
export const INSTANCES_KEPT = 7 * 86_400_000;
/** How many instances are remembered. */
export const MAX_INSTANCES = 1_000;
