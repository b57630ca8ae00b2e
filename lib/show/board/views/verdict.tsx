import { INSTANCES_KEPT } from '../../../contract/history-store.js';
import { h } from './templates.js';
import type { Scene } from './parts.js';
import { counted } from '../../../base/wording.js';

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

export function verdictOf({
  jobs,
  told,
  unreadable,
}: Pick<Scene['looked'], 'jobs' | 'told' | 'unreadable'>): Verdict {
  const attention = jobs.filter((job) => job.attention).length;
  const calm = jobs.filter((job) => !job.attention);
  const unknown = calm.filter(({ status }) => status === 'unknown').length;
  const off = calm.filter(({ status }) => status === 'off').length;
  const paused = calm.filter(({ status }) => status === 'paused').length;
  const { instances, runs, parts } = unreadable;
  return {
    attention,
    unknown,
    off,
    paused,
    fine: calm.length - unknown - off - paused,
    instancesUp: told.filter(({ info }) => info.state === 'up').length,
    complete: instances + runs + parts.length === 0,
  };
}

/** Whether nobody has to do anything: nothing is known to be wrong, and nothing is missing. */
const isCalm = ({ attention, unknown, instancesUp, complete, fine, off, paused }: Verdict): boolean =>
  attention === 0 && unknown === 0 && instancesUp > 0 && complete && fine + off + paused > 0;

/** The first line of the page. @param age of the answer, ms @param failure why there is no newer one */
export function VerdictLine(props: {
  scene: Scene;
  age: number;
  failure: string | undefined;
  store: string;
}): h.JSX.Element {
  const { scene, age, failure, store } = props;
  const verdict = verdictOf(scene.looked);
  const { times } = scene;
  const tone =
    failure !== undefined ? 'stale' : isCalm(verdict) ? 'good' : verdict.attention > 0 ? 'bad' : 'doubt';
  const up = verdict.instancesUp;
  return (
    <section
      id="verdict"
      class={`verdict ${tone}`}
      data-live="always"
      data-age={Math.round(age)}
      aria-label="Verdict"
    >
      <p class="headline">{headlineOf(verdict)}</p>
      <p class="note">
        As of <time dateTime={new Date(scene.looked.now).toISOString()}>{times.full(scene.looked.now)}</time>{' '}
        by the store's clock, <span data-since>{ageText(age)}</span> ·{' '}
        {up === 0 ? 'no instance up' : `${counted(up, 'instance')} up`} · {store}
      </p>
      {failure !== undefined && (
        <p class="problem">The store does not answer. What is shown here is old: {failure}</p>
      )}
      {missingOf(scene).map((line) => (
        <p class="problem" key={line}>
          {line}
        </p>
      ))}
    </section>
  );
}

const ageText = (age: number): string => `${Math.round(age / 1_000)} s old`;

function headlineOf({ attention, unknown, off, paused, fine }: Verdict): string {
  if (attention + unknown + off + paused + fine === 0) return 'No job is known';
  const parts = [
    attention > 0 ? `${attention} ${attention === 1 ? 'needs' : 'need'} attention` : 'None needs attention',
    `${fine} fine`,
    ...(unknown > 0 ? [`${unknown} unknown`] : []),
    ...(paused > 0 ? [`${paused} paused`] : []),
    ...(off > 0 ? [`${off} switched off`] : []),
  ];
  return parts.join(', ');
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

function nobodyUp(told: Scene['looked']['told'], times: Scene['times']): string {
  if (told.length === 0)
    return `No instance has been seen in the last ${INSTANCES_KEPT / 86_400_000} days. Is this the store, the key prefix or the table of the application?`;
  const last = told.reduce((one, other) => (other.info.seenAt > one.info.seenAt ? other : one));
  return `No instance is up since ${times.full(last.info.seenAt)}: the last one was ${last.info.instance}. What should run now does not.`;
}
