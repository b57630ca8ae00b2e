import { array, constantFrom, nat, oneof, record } from 'fast-check';
import type { ReleaseOutcome } from '../../../lib/index.js';

/** The jobs whose calls are queued. */
export const JOBS = ['send', 'print'];

const WHAT = [
  [10, 'queue'],
  [1, 'queue again'],
  [6, 'take'],
  [10, 'next'],
  [3, 'next late'],
  [3, 'release'],
  [2, 'release late'],
  [3, 'die'],
  [2, 'redeliver'],
  [3, 'look'],
  [4, 'wait'],
  [2, 'wait at the place of a queued call'],
  [1, 'leave'],
] as const;

/** What happens. What a step does not need of the rest it ignores. */
export interface QueueStep {
  readonly what: (typeof WHAT)[number][1];
  /** Which instance is asked. */
  readonly store: number;
  /** Which call in line, or which lease, counted back from the newest. */
  readonly pick: number;
  readonly job: number;
  readonly key: string | undefined;
  readonly priority: number;
  readonly redeliver: number;
  /** How the run before has ended. */
  readonly outcome: ReleaseOutcome;
  /** The jobs that the caller can run. */
  readonly takes: readonly string[];
}

export const queueSteps = array(
  record<QueueStep>({
    what: oneof(...WHAT.map(([weight, what]) => ({ weight, arbitrary: constantFrom(what) }))),
    store: nat(2),
    pick: nat(3),
    job: nat(1),
    key: constantFrom('a', undefined, 'b'),
    priority: constantFrom(0, 5, -5),
    redeliver: constantFrom(1, 0, 2),
    outcome: constantFrom<ReleaseOutcome[]>('completed', 'failed', 'timed-out', 'aborted', 'abandoned'),
    takes: constantFrom(JOBS, JOBS, [JOBS[0] ?? ''], []),
  }),
  { maxLength: 40, size: 'max' },
);
