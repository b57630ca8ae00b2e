import type { ContenderName } from './contenders.js';

/** What one child process is to measure. Plain data: it travels on the command line. */
export interface Task {
  readonly measurement: 'cycles' | 'at-once' | 'refused' | 'hold' | 'block' | 'start' | 'ticks' | 'search';
  /** `idle`: a process with a connection that does nothing. */
  readonly contender: ContenderName | 'idle';
  readonly url: string;
  /** Of the keys that it may use. */
  readonly prefix: string;
  readonly quick: boolean;
}

/** What it found: figures by name. */
export type Figures = Record<string, number>;
