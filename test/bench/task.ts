import type { ContenderName } from './contenders.js';

/** The measurements that take many turns, between those of the other contenders. */
export const IN_TURNS = ['cycles', 'at-once', 'refused', 'full-hour'] as const;
export type TurnsMeasurement = (typeof IN_TURNS)[number];

export const isInTurns = (measurement: Task['measurement']): measurement is TurnsMeasurement =>
  IN_TURNS.some((one) => one === measurement);

/** The command after the last turn. */
export const CLOSE = 'close';

/** This library as another checkout has built it: see `--against`. */
export const BEFORE = 'before';

/** A contender of a round. */
export type Contestant = Task['contender'] | typeof BEFORE;

/** How much is measured, where that differs. */
export interface Sizes {
  /** For `hold`. */
  readonly leases?: number;
  /** For `hand-off`: how many wait. */
  readonly waiters?: number;
  /** For `hand-off`: all of them in one client. */
  readonly shared?: boolean;
}

/** The measurement of one child process. Plain data: it travels on the command line. */
export interface Task extends Sizes {
  readonly measurement:
    TurnsMeasurement | 'hold' | 'hand-off' | 'queued-calls' | 'block' | 'start' | 'ticks' | 'search';
  /** `idle`: a process with a connection that does nothing. */
  readonly contender: ContenderName | 'idle';
  readonly url: string;
  /** The prefix of the keys that it may use. */
  readonly prefix: string;
  readonly quick: boolean;
  /** For `full-hour`. */
  readonly jobs?: number;
}

/** The results: figures by name. */
export type Figures = Record<string, number>;

/** A contender that has warmed up and waits for its turns. */
export interface TurnTaker {
  /** How many turns to measure; those who take turns at commands of their own do not say. */
  readonly turns: number;
  /** @param command what is asked of it; most have but one kind of turn */
  turn(command: string): Promise<Figures>;
  /** Ends it. Resolves to the figures after the last turn. */
  close(): Promise<Figures>;
}
