import { INSTANCES_KEPT } from '../../../contract/history-store.js';
import { counted } from '../../../base/wording.js';
import { displayName } from '../../../base/lock-name.js';
import type { Times } from '../../../insight/shown.js';
import type { JobView } from '../../../insight/types.js';
import type { Looked } from '../data/looked.js';
import { type Markup, markup } from './markup.js';
import { type Scene, timeAt } from './parts.js';

/** The numbers behind the first line, which says how the fleet is. */
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

/** The states by which the table is filtered, those that matter most first. */
export const STATES = ['attention', 'running', 'paused', 'unknown', 'off', 'fine'] as const;
export type State = (typeof STATES)[number];

export function stateOf({ attention, status }: JobView): State {
  if (attention) return 'attention';
  if (status === 'overrun') return 'running';
  return STATES.find((state) => state === status) ?? 'fine';
}

export function verdictOf({ jobs, told, unreadable }: Pick<Looked, 'jobs' | 'told' | 'unreadable'>): Verdict {
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

/** How old an answer is, and why there is no newer one. */
export interface Age {
  readonly age: number;
  readonly failure?: string | undefined;
  readonly isAway?: true | undefined;
}

export const toneOf = (verdict: Verdict, failure: string | undefined): 'good' | 'bad' | 'doubt' =>
  failure !== undefined || verdict.attention > 0 ? 'bad' : isCalm(verdict) ? 'good' : 'doubt';

/** The first line of the page: one sentence. */
export function verdictLine(scene: Scene, { age, failure, isAway }: Age, store: string): Markup {
  const verdict = verdictOf(scene.looked);
  const { times, looked } = scene;
  const since = `${isAway ? `No job can start: ${store} does not answer` : `${store} has told nothing`} since ${times.said(looked.now)}`;
  const problems = [
    ...(failure === undefined ? [] : [`What is shown here is old: ${failure}`]),
    ...missingOf(scene),
  ];
  const kind = `${toneOf(verdict, failure)}${failure === undefined ? '' : ' away'}`;
  return markup`<section id="verdict" class="verdict ${kind}" data-live="always" data-age="${Math.round(age)}" aria-label="Verdict">
    <p class="headline">${failure === undefined ? headlineOf(verdict) : since}</p>
    ${problems.map((problem) => markup`<p class="problem">${problem}</p>`)}
    <p class="note">${counted(verdict.instancesUp, 'instance')} up · ${store} · ${timeAt(looked.now, times)} · <span data-since>${Math.round(age / 1_000)} s old</span></p>
  </section>`;
}

function headlineOf({ attention, unknown, off, paused, fine }: Verdict): string {
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

/** What is missing from the answer. */
function missingOf({ looked: { unreadable, told }, times }: Scene): string[] {
  const { instances, runs, parts } = unreadable;
  const count = instances + runs;
  const lines = parts.map((reason) => `Not all can be read. ${reason}`);
  if (count > 0)
    lines.push(
      `${counted(count, 'record')} cannot be read, and ${count === 1 ? 'is' : 'are'} left out: ${instances} of instances and their jobs, ${runs} of runs.`,
    );
  if (told.every(({ info }) => info.state !== 'up')) lines.push(nobodyUp(told, times));
  return lines;
}

function nobodyUp(told: Looked['told'], times: Times): string {
  if (told.length === 0)
    return `No instance has been seen in the last ${INSTANCES_KEPT / 86_400_000} days. Is this the store, the key prefix or the table of the application?`;
  const last = told.reduce((one, other) => (other.info.seenAt > one.info.seenAt ? other : one));
  return `No instance is up since ${times.said(last.info.seenAt)}: the last one was ${displayName(last.info.instance)}. What should run now does not.`;
}
