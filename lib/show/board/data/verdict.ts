import { INSTANCES_KEPT } from '../../../contract/history-store.js';
import { counted } from '../../../base/wording.js';
import { displayName } from '../../../base/lock-name.js';
import type { Member } from '../../../insight/fleet-jobs.js';
import type { FleetView } from '../../../insight/look.js';
import type { Times } from '../../../insight/shown.js';
import type { JobView, Unreadable } from '../../../insight/types.js';

/* How the fleet is, in sentences and numbers: page and shell have them from here. */

/** A state: how good or bad it is, for its colour, a shape besides, and why it is so. */
export interface Mark {
  readonly tone: 'good' | 'going' | 'doubt' | 'bad' | 'plain';
  readonly text: string;
  readonly shape: string;
  readonly why?: string;
}

/** The states by which jobs are counted and filtered, those that matter most first. */
const MARKS = {
  attention: { tone: 'bad', shape: '▲' },
  running: { tone: 'going', shape: '▶' },
  paused: { tone: 'doubt', shape: '‖' },
  unknown: { tone: 'doubt', shape: '?' },
  off: { tone: 'plain', shape: '○' },
  fine: { tone: 'good', shape: '✓' },
} as const;
export type State = keyof typeof MARKS;
export const STATES = Object.keys(MARKS) as State[];

export function stateOf({ attention, status }: JobView): State {
  if (attention) return 'attention';
  if (status === 'overrun') return 'running';
  return STATES.find((state) => state === status) ?? 'fine';
}

/** The state of a job, and how often it has failed: `failing ×20+`. */
export function markOfJob(view: JobView): Mark {
  const { status, failures, sinceAtLeast } = view;
  const count = status === 'failing' && failures > 1 ? ` ×${failures}${sinceAtLeast ? '+' : ''}` : '';
  const mark = status === 'new' ? ({ tone: 'plain', shape: '·' } as const) : MARKS[stateOf(view)];
  return { ...mark, text: `${status}${count}` };
}

/** The numbers behind the headline: how many jobs are in each state, and more. */
export interface Verdict extends Readonly<Record<State, number>> {
  readonly instancesUp: number;
  /** Whether nothing is missing from the answer. */
  readonly complete: boolean;
}

export function verdictOf({ jobs, told, unreadable: { instances, runs, parts } }: FleetView): Verdict {
  const instancesUp = told.filter(({ info }) => info.state === 'up').length;
  return { ...countsOf(jobs), instancesUp, complete: instances + runs + parts.length === 0 };
}

/** How many jobs are in each state: headline and tabs say these numbers. */
export function countsOf(jobs: readonly JobView[]): Record<State, number> {
  const counts: Record<State, number> = { attention: 0, running: 0, paused: 0, unknown: 0, off: 0, fine: 0 };
  for (const view of jobs) counts[stateOf(view)]++;
  return counts;
}

const allOf = (verdict: Verdict): number => STATES.reduce((sum, state) => sum + verdict[state], 0);

/** `good`: nobody has to do anything, as nothing is known to be wrong, and nothing is missing. */
export function toneOf(verdict: Verdict, failure?: string): 'good' | 'bad' | 'doubt' {
  const { attention, unknown, instancesUp, complete } = verdict;
  if (failure !== undefined || attention > 0) return 'bad';
  return unknown === 0 && instancesUp > 0 && complete && allOf(verdict) > 0 ? 'good' : 'doubt';
}

/** How the jobs are, in one sentence. */
export function headlineOf(verdict: Verdict): string {
  const { attention, fine } = verdict;
  const all = allOf(verdict);
  const jobs = counted(all, 'job');
  const others = (['fine', 'running', 'unknown', 'paused', 'off'] as const)
    .filter((state) => verdict[state] > 0)
    .map((state) => `${verdict[state]} ${state === 'off' ? 'switched off' : state}`);
  if (all === 0) return 'No job is known';
  if (fine === all) return all === 1 ? 'The job is fine' : `All ${all} jobs are fine`;
  if (attention === 0) return `${jobs}: ${others.join(', ')}`;
  return [`${attention} of ${jobs} ${attention === 1 ? 'needs' : 'need'} attention`, ...others].join(', ');
}

/** How new an answer is. */
export interface Age {
  /** How old it is, ms. */
  readonly age: number;
  /** Why there is none, or no newer one. Absent: it is new enough. */
  readonly failure?: string;
  /** The store does not answer at all: it neither refuses this, nor is only slow. */
  readonly isAway?: true;
}

/** What could not be read, and is missing from an answer: one sentence each. */
export function unreadText({ instances, runs, parts }: Unreadable): string[] {
  const count = instances + runs;
  const records = `${counted(count, 'record')} cannot be read, and ${count === 1 ? 'is' : 'are'} left out: ${instances} of instances and their jobs, ${runs} of runs.`;
  return [...parts.map((reason) => `Not all can be read. ${reason}`), ...(count > 0 ? [records] : [])];
}

/** That nobody is up, and since when. @param place where none was seen */
export function nobodyText(told: readonly Member[], times: Times, place: string): string | undefined {
  const [last] = told.map(({ info }) => info).sort((one, other) => other.seenAt - one.seenAt);
  if (told.some(({ info }) => info.state === 'up')) return undefined;
  if (last === undefined)
    return `No instance has been seen in the last ${INSTANCES_KEPT / 86_400_000} days ${place}`;
  const how = last.state === 'left' ? 'was shut down' : 'gives no sign of life any more';
  return `No instance is up since ${times.said(last.seenAt)}: the last one was ${displayName(last.instance)}, and ${how}. What should run now does not.`;
}
