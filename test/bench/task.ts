import type { ContenderName } from './contenders.js';

/** What is measured in many turns, between those of the other contenders. */
export const IN_TURNS = ['cycles', 'at-once', 'refused'] as const;
export type TurnsMeasurement = (typeof IN_TURNS)[number];

export const isInTurns = (measurement: Task['measurement']): measurement is TurnsMeasurement =>
  IN_TURNS.some((one) => one === measurement);

/** What one child process is to measure. Plain data: it travels on the command line. */
export interface Task {
  readonly measurement: TurnsMeasurement | 'hold' | 'block' | 'start' | 'ticks' | 'search';
  /** `idle`: a process with a connection that does nothing. */
  readonly contender: ContenderName | 'idle';
  readonly url: string;
  /** Of the keys that it may use. */
  readonly prefix: string;
  readonly quick: boolean;
}

/** What it found: figures by name. */
export type Figures = Record<string, number>;

/** A contender that has warmed up and waits for its turns. */
export interface TurnTaker {
  /** How many are to be measured. */
  readonly turns: number;
  turn(): Promise<Figures>;
  /** What else it finds after them; then it is gone. */
  close(): Promise<Figures>;
}
