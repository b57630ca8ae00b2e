import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/*
 * The record of a chaos run: one file of JSON lines for each life of an instance, and one for the driver. A line is
 * written in one go before anything else happens, so it survives the process.
 *
 * `m` is the monotonic time of the machine, ms: `process.hrtime` reads CLOCK_MONOTONIC, which is one clock for all
 * processes. `w` is wall time as the writer sees it, epoch ms: an instance's is shifted. `i` names an instance, `n`
 * counts its lives.
 */

/** The facts about a job for the checker, which knows nothing else of the application. */
export interface JobFacts {
  readonly job: string;
  readonly lock: string;
  /** Of calls that the application makes by itself, `every` is how seldom they come at most. */
  readonly kind: 'cron' | 'interval' | 'call';
  /** Milliseconds between two ticks; the ticks of a cron job are the multiples of this. */
  readonly every: number;
  readonly ttl: number;
  readonly heartbeat: number;
  readonly storeTimeout: number;
  readonly rerun: number;
  /** How many runs of a tick there may be if they fail, and how long after each the next one begins, ms. Absent: one. */
  readonly retry?: { readonly attempts: number; readonly delay: number };
  readonly atLeast: number;
  /** How old a tick may be to run late, after its obstacle is gone, ms; 0: never. */
  readonly catchUp: number;
  /** How long a call waits in line, ms, and how it goes before others, if its own line does not say. */
  readonly wait: number;
  readonly priority: number;
  /** Of webhooks: how often one is delivered again after an interruption. */
  readonly redeliver?: number;
  /** Whether the store keeps who ran it. */
  readonly kept: boolean;
  /** How long after its tick a start counts as overdue, ms. */
  readonly overdue: number;
}

interface At {
  readonly m: number;
  /** Always present in the lines of instances: for people, and to know for which tick a job was fired. */
  readonly w?: number;
}
interface OfLife extends At {
  readonly i: string;
  readonly n: number;
}
interface OfLease extends OfLife {
  readonly lock: string;
  readonly token: number;
}

/** The driver began: the instances, and the relation of the two clocks. */
export interface BeginLine extends At {
  readonly k: 'begin';
  readonly w: number;
  readonly seed: number;
  readonly jobs: readonly JobFacts[];
  readonly maxClockSkew: number;
  /** How much later than the first one another instance may fire a tick, ms. */
  readonly clocksApart: number;
  /** Whether the store tells calls in line of their turn. */
  readonly hints: boolean;
  /** How much later than a release the store keeps the record of its run, at most, ms; 0: in the same operation. */
  readonly keptWithin: number;
  /** How long the way to the store and back takes without a fault, ms. Absent: no time. */
  readonly roundTrip?: number;
  /** By how much the clock of each instance is ahead, ms. */
  readonly offsets: Readonly<Record<string, number>>;
}
/** The run is over: of later lines the checker judges only what the store has kept, as the driver stops everything. */
export interface OverLine extends At {
  readonly k: 'over';
}
/** A fault was injected: into one instance, or into the store. */
export interface FaultLine extends At {
  readonly k: 'fault';
  readonly id: number;
  readonly fault: string;
  readonly on: 'instance' | 'store';
  /** Absent for the store. */
  readonly i?: string;
  /** Whether the store forgets everything, or, with `since`, all writes after that time. */
  readonly loses: boolean;
  readonly since?: number;
  /** By how much the store's clock is ahead until the fault is over, ms. */
  readonly ahead?: number;
}
/** The fault is over: the store answers again, the instance is up again. */
export interface CuredLine extends At {
  readonly k: 'cured';
  readonly id: number;
}
/** Something was too slow without an injected fault, from `from` to `m`. */
export interface StallLine extends At {
  readonly k: 'stall';
  readonly from: number;
  /** Absent for the store, or for the machine as the driver sees it. */
  readonly i?: string;
}
/** The instance runs. */
export interface UpLine extends OfLife {
  readonly k: 'up';
}
/** The instance is asked to end. */
export interface StoppingLine extends OfLife {
  readonly k: 'stopping';
}
/** The process of the instance has ended. */
export interface DownLine extends OfLife {
  readonly k: 'down';
}
/** The scheduler fired the job, or the application called. Later lines of this call have the same `call`. */
export interface FiredLine extends OfLife {
  readonly k: 'fired';
  readonly w: number;
  readonly job: string;
  readonly call: number;
  readonly wait?: number;
  readonly priority?: number;
}
/** The lock is taken, and the call stands in line. */
export interface WaitingLine extends OfLife {
  readonly k: 'waiting';
  readonly lock: string;
  readonly job: string;
  readonly call: number;
  readonly priority: number;
}
/** The signal of a call was aborted: its wait is to end. */
export interface AbortedLine extends OfLife {
  readonly k: 'aborted';
  readonly job: string;
  readonly call: number;
}
export interface SkippedLine extends OfLife {
  readonly k: 'skipped';
  readonly job: string;
  readonly call: number;
  readonly reason: string;
  readonly tick?: number;
  readonly finished?: boolean;
}
/** The call failed, although the jobs themselves never fail here. */
export interface RejectedLine extends OfLife {
  readonly k: 'rejected';
  readonly job: string;
  readonly call: number;
  readonly error: string;
}
/** An uncaught error. The instance goes on: many applications do, with a listener that reports it. */
export interface UncaughtLine extends OfLife {
  readonly k: 'uncaught';
  readonly error: string;
}
/** A lease was granted or renewed: its holder may rely on it until `until`. */
export interface ConfirmedLine extends OfLease {
  readonly k: 'confirmed';
  /** For people: the run of the same lease says the same. */
  readonly job?: string;
  readonly tick?: number;
  readonly attempt?: number;
  readonly until: number;
}
export interface StartLine extends OfLease {
  readonly k: 'start';
  readonly job: string;
  readonly call: number;
  readonly tick?: number;
  readonly attempt: number;
  /** Of a webhook: what it is about, and how often it was delivered, if it was queued before. */
  readonly key?: string;
  readonly delivery?: number;
}
/** A webhook that came at `since` found its lock taken, and was queued. */
export interface QueuedLine extends OfLife {
  readonly k: 'queued';
  readonly since: number;
  readonly lock: string;
  readonly key: string;
}
/** What was queued, and has become a dead letter, at some time between `since` and `m`. */
export interface QueueLine extends OfLife {
  readonly k: 'queue';
  readonly since: number;
  readonly lock: string;
  readonly queued: number;
  readonly dead: number;
}
export interface EndLine extends OfLease {
  readonly k: 'end';
  /** The last time at which `assertLocked()` confirmed the lock to the job; absent if it never did. */
  readonly held?: number;
}
export interface LostLine extends OfLease {
  readonly k: 'lost';
  readonly reason: string;
}
export interface ReleasedLine extends OfLease {
  readonly k: 'released';
  readonly confirmed: boolean;
  /** How the run ended. */
  readonly outcome: string;
}
/** The library told that nobody had started a tick in time. */
export interface OverdueLine extends OfLife {
  readonly k: 'overdue';
  readonly lock: string;
  readonly job: string;
  /** Of an interval: when it was due. */
  readonly tick: number;
}
/** An instance has paused a lock for somebody: until it is resumed, or for `lasts` ms from some moment before. */
export interface PausedLine extends OfLease {
  readonly k: 'paused';
  readonly lasts: number;
}
/** An instance is about to resume a lock. */
export interface ResumingLine extends OfLife {
  readonly k: 'resuming';
  readonly lock: string;
}
/** An instance is about to end a lease for somebody: if it is killed then, it does not tell that it has. */
export interface BreakingLine extends OfLease {
  readonly k: 'breaking';
}
/** An instance has ended a lease for somebody. */
export interface BrokenLine extends OfLease {
  readonly k: 'broken';
}
/** A run, as the store has kept it. */
export interface StoredRun {
  readonly token: number;
  /** The instance and its life: `instance-1.1`. */
  readonly instance: string;
  readonly job?: string;
  readonly tick?: number;
  readonly attempt?: number;
  readonly outcome: string;
}
/** A tick that was not started, as an instance told the store. */
export interface StoredMiss {
  readonly job: string;
  readonly tick: number;
  readonly instance: string;
  readonly reason: string;
}
/** What the store knows of a lock when all instances have been killed. */
export interface StoredLine extends At {
  readonly k: 'stored';
  readonly lock: string;
  readonly runs: readonly StoredRun[];
  readonly misses: readonly StoredMiss[];
  /** Its newest lease, if that has not ended: its fencing token. */
  readonly unended?: number;
}

export type Line =
  | BeginLine
  | OverLine
  | FaultLine
  | CuredLine
  | StallLine
  | UpLine
  | StoppingLine
  | DownLine
  | FiredLine
  | WaitingLine
  | AbortedLine
  | SkippedLine
  | RejectedLine
  | UncaughtLine
  | ConfirmedLine
  | StartLine
  | EndLine
  | LostLine
  | ReleasedLine
  | QueuedLine
  | QueueLine
  | OverdueLine
  | PausedLine
  | ResumingLine
  | BreakingLine
  | BrokenLine
  | StoredLine;

/** Monotonic time of this machine, ms. */
export function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Appends lines to one file. */
export class HistoryWriter {
  readonly #file: number;

  constructor(folder: string, name: string) {
    this.#file = openSync(join(folder, `${name}.jsonl`), 'a');
  }

  write(line: Line): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** All lines of a run, in the order in which they happened. */
export function readHistory(folder: string): Line[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));
  const lines = files.flatMap((name) => parse(readFileSync(join(folder, name), 'utf8')));
  return lines.sort((a, b) => a.m - b.m);
}

/** The lines of one file. A process that was killed may have left half a line at its end. */
export function parse(text: string): Line[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);
}
