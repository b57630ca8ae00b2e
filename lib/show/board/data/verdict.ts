import { INSTANCES_KEPT } from '../../../contract/history-store.js';
import { counted } from '../../../base/wording.js';
import { displayName } from '../../../base/lock-name.js';
import type { FleetView } from '../../../insight/look.js';
import type { Times } from '../../../insight/shown.js';
import type { JobView, Unreadable } from '../../../insight/types.js';

/* How the fleet is, in sentences and numbers: page and shell have them from here. */

/** How good or bad something is, for its colour. */
export type Tone = 'good' | 'going' | 'doubt' | 'bad' | 'plain';

/** The states by which jobs are counted and filtered, those that matter most first. */
const TONES = {
  attention: 'bad',
  running: 'going',
  paused: 'doubt',
  unknown: 'doubt',
  off: 'plain',
  fine: 'good',
} as const satisfies Readonly<Record<string, Tone>>;
export type State = keyof typeof TONES;
export const STATES = Object.keys(TONES) as State[];

export function stateOf({ attention, status }: JobView): State {
  if (attention) return 'attention';
  if (status === 'overrun') return 'running';
  return STATES.find((state) => state === status) ?? 'fine';
}

export const toneOfJob = (view: JobView): Tone => (view.status === 'new' ? 'plain' : TONES[stateOf(view)]);

/** The numbers behind the headline. A job that runs is fine. */
export interface Verdict extends Readonly<Record<Exclude<State, 'running'>, number>> {
  readonly instancesUp: number;
  /** Whether nothing is missing from the answer. */
  readonly complete: boolean;
}

/** The state of a job, and how often it has failed: `failing ×20+`. */
export function statusText({ status, failures, sinceAtLeast }: JobView): string {
  const count = status === 'failing' && failures > 1 ? ` ×${failures}${sinceAtLeast ? '+' : ''}` : '';
  return `${status}${count}`;
}

type Looked = Pick<FleetView, 'jobs' | 'told' | 'unreadable'>;

export function verdictOf({ jobs, told, unreadable: { instances, runs, parts } }: Looked): Verdict {
  const counts: Record<State, number> = { attention: 0, running: 0, paused: 0, unknown: 0, off: 0, fine: 0 };
  for (const view of jobs) counts[stateOf(view)]++;
  const { running, ...others } = counts;
  const instancesUp = told.filter(({ info }) => info.state === 'up').length;
  return {
    ...others,
    fine: counts.fine + running,
    instancesUp,
    complete: instances + runs + parts.length === 0,
  };
}

/** `good`: nobody has to do anything, as nothing is known to be wrong, and nothing is missing. */
export function toneOf(verdict: Verdict, failure?: string): 'good' | 'bad' | 'doubt' {
  const { attention, unknown, instancesUp, complete, fine, off, paused } = verdict;
  if (failure !== undefined || attention > 0) return 'bad';
  return unknown === 0 && instancesUp > 0 && complete && fine + off + paused > 0 ? 'good' : 'doubt';
}

/** How the jobs are, in one sentence. */
export function headlineOf({ attention, unknown, off, paused, fine }: Verdict): string {
  const all = attention + unknown + off + paused + fine;
  const jobs = counted(all, 'job');
  const rest = [
    attention > 0 && fine > 0 && `${fine} fine`,
    unknown > 0 && `${unknown} unknown`,
    paused > 0 && `${paused} paused`,
    off > 0 && `${off} switched off`,
  ].filter(Boolean);
  if (all === 0) return 'No job is known';
  if (attention > 0)
    return [`${attention} of ${jobs} ${attention === 1 ? 'needs' : 'need'} attention`, ...rest].join(', ');
  if (rest.length === 0) return all === 1 ? 'The job is fine' : `All ${all} jobs are fine`;
  return [`${fine} of ${jobs} ${fine === 1 ? 'is' : 'are'} fine`, ...rest].join(', ');
}

/** What could not be read, and is missing from an answer: one sentence each. */
export function unreadText({ instances, runs, parts }: Unreadable): string[] {
  const count = instances + runs;
  const lines = parts.map((reason) => `Not all can be read. ${reason}`);
  if (count === 0) return lines;
  const are = count === 1 ? 'is' : 'are';
  return [
    ...lines,
    `${counted(count, 'record')} cannot be read, and ${are} left out: ${instances} of instances and their jobs, ${runs} of runs.`,
  ];
}

/** That nobody is up, and since when. @param place where none was seen */
export function nobodyText(
  all: readonly Pick<FleetView['told'][number]['info'], 'instance' | 'state' | 'seenAt'>[],
  times: Times,
  place: string,
): string | undefined {
  if (all.some(({ state }) => state === 'up')) return undefined;
  const [last] = [...all].sort((one, other) => other.seenAt - one.seenAt);
  if (last === undefined)
    return `No instance has been seen in the last ${INSTANCES_KEPT / 86_400_000} days ${place}`;
  const how = last.state === 'left' ? 'was shut down' : 'gives no sign of life any more';
  return `No instance is up since ${times.said(last.seenAt)}: the last one was ${displayName(last.instance)}, and ${how}. What should run now does not.`;
}
