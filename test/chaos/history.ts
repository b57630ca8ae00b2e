import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/*
 * What a chaos run leaves behind: one file of JSON lines for each life of an instance, and one for the driver. A line
 * is written in one go before anything else happens, so that it is there whatever becomes of the process.
 *
 * `m` is the monotonic time of the machine, ms: `process.hrtime` reads CLOCK_MONOTONIC, which is one clock for all
 * processes. `w` is wall time as the writer sees it, epoch ms: an instance's is shifted. `i` names an instance, `n`
 * counts its lives.
 */

/** What the checker is told of a job. It knows nothing else of the application. */
export interface JobFacts {
  readonly job: string;
  readonly lock: string;
  readonly kind: 'cron' | 'interval';
  /** Milliseconds between two ticks; those of a cron job are the multiples of it. */
  readonly every: number;
  readonly ttl: number;
  readonly heartbeat: number;
  readonly storeTimeout: number;
  readonly rerun: number;
  readonly atLeast: number;
}

interface At {
  readonly m: number;
  /** In the lines of instances always: for people, and to know for which tick a job was fired. */
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

/** The driver began: what the instances are, and how the two clocks relate. */
export interface BeginLine extends At {
  readonly k: 'begin';
  readonly w: number;
  readonly seed: number;
  readonly jobs: readonly JobFacts[];
  readonly maxClockSkew: number;
  /** By how much the clock of each instance is ahead, ms. */
  readonly offsets: Readonly<Record<string, number>>;
}
/** What follows is not judged: the driver stops everything. */
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
  /** Whether the store forgets everything. */
  readonly loses: boolean;
}
/** The fault is over: the store answers again, the instance is up again. */
export interface CuredLine extends At {
  readonly k: 'cured';
  readonly id: number;
}
/** Something was slower than it should be though nobody had injected it, from `from` to `m`. */
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
/** It is asked to end. */
export interface StoppingLine extends OfLife {
  readonly k: 'stopping';
}
/** Its process has ended. */
export interface DownLine extends OfLife {
  readonly k: 'down';
}
/** The scheduler fired the job; what came of it has the same `call`. */
export interface FiredLine extends OfLife {
  readonly k: 'fired';
  readonly w: number;
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
/** A lease was granted or renewed: its holder may believe in it until `until`. */
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
}
export interface EndLine extends OfLease {
  readonly k: 'end';
  /** The last time at which the job was told that it holds. */
  readonly held: number;
}
export interface LostLine extends OfLease {
  readonly k: 'lost';
  readonly reason: string;
}
export interface ReleasedLine extends OfLease {
  readonly k: 'released';
  readonly confirmed: boolean;
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
  | SkippedLine
  | ConfirmedLine
  | StartLine
  | EndLine
  | LostLine
  | ReleasedLine;

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
