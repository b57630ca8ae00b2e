import { INSTANCES_KEPT } from '../../../contract/history-store.js';
import { counted } from '../../../base/wording.js';
import { displayName } from '../../../base/lock-name.js';
import type { FleetView } from '../../../insight/look.js';
import type { Times } from '../../../insight/shown.js';
import type { JobView, Unreadable } from '../../../insight/types.js';

/* How the fleet is, in sentences and numbers: page and shell have them from here. */

/** The numbers behind the headline. */
export interface Verdict {
  readonly attention: number;
  readonly unknown: number;
  readonly off: number;
  readonly paused: number;
  readonly fine: number;
  readonly instancesUp: number;
  /** Whether nothing is missing from the answer. */
  readonly complete: boolean;
}

/** The states by which jobs are counted and filtered, those that matter most first. */
export const STATES = ['attention', 'running', 'paused', 'unknown', 'off', 'fine'] as const;
export type State = (typeof STATES)[number];

export function stateOf({ attention, status }: JobView): State {
  if (attention) return 'attention';
  if (status === 'overrun') return 'running';
  return STATES.find((state) => state === status) ?? 'fine';
}

/** How good or bad something is, for its colour. */
export type Tone = 'good' | 'going' | 'doubt' | 'bad' | 'plain';

const TONES: Readonly<Record<State, Tone>> = {
  attention: 'bad',
  running: 'going',
  paused: 'doubt',
  unknown: 'doubt',
  off: 'plain',
  fine: 'good',
};

export const toneOfJob = (view: JobView): Tone => (view.status === 'new' ? 'plain' : TONES[stateOf(view)]);

/** The state of a job, and how often it has failed: `failing ×20+`. */
export function statusText({ status, failures, sinceAtLeast }: JobView): string {
  const count = status === 'failing' && failures > 1 ? ` ×${failures}${sinceAtLeast ? '+' : ''}` : '';
  return `${status}${count}`;
}

export function verdictOf({
  jobs,
  told,
  unreadable,
}: Pick<FleetView, 'jobs' | 'told' | 'unreadable'>): Verdict {
  const count = (...states: State[]): number => jobs.filter((view) => states.includes(stateOf(view))).length;
  const { instances, runs, parts } = unreadable;
  return {
    attention: count('attention'),
    unknown: count('unknown'),
    off: count('off'),
    paused: count('paused'),
    fine: count('fine', 'running'),
    instancesUp: told.filter(({ info }) => info.state === 'up').length,
    complete: instances + runs + parts.length === 0,
  };
}

/** Whether nobody has to do anything: nothing is known to be wrong, and nothing is missing. */
const isCalm = ({ attention, unknown, instancesUp, complete, fine, off, paused }: Verdict): boolean =>
  attention === 0 && unknown === 0 && instancesUp > 0 && complete && fine + off + paused > 0;

export const toneOf = (verdict: Verdict, failure?: string): 'good' | 'bad' | 'doubt' =>
  failure !== undefined || verdict.attention > 0 ? 'bad' : isCalm(verdict) ? 'good' : 'doubt';

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
