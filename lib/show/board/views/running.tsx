import { formatDuration } from '../../../base/duration.js';
import type { RunInfo } from '../../../insight/types.js';
import { displayName } from '../../../base/lock-name.js';
import { usualOf } from '../data/cost.js';
import { NOTHING_KEPT } from '../data/looked.js';
import { keyOfLease } from '../data/renewals.js';
import { h } from './templates.js';
import { each, JobLink, Nothing, Outcome, Region, type Scene, Table, Time, took } from './parts.js';

const MAX_SHOWN = 50;

/** What runs now: for how long, how long it usually takes, and whether its holder is up. */
export function Running({ scene }: { scene: Scene }): h.JSX.Element {
  const hung = scene.looked.jobs.flatMap(({ last }) => (last?.hung ? [last] : []));
  const tokens = new Set(hung.map(({ fencingToken }) => fencingToken));
  const going = [
    ...hung,
    ...scene.looked.runs.filter((run) => run.outcome === 'running' && !tokens.has(run.fencingToken)),
  ].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  return (
    <Region
      id="running"
      title="Running now"
      {...(going.length > MAX_SHOWN && { note: `${MAX_SHOWN} of ${going.length}` })}
    >
      {going.length === 0 ? (
        <Nothing>Nothing runs at the moment.</Nothing>
      ) : (
        <Table
          label="What runs now"
          heads={['Job', 'State', 'Since', 'For', 'Usually', 'Of the usual time', 'Holder', 'Its lease']}
        >
          {each(going.slice(0, MAX_SHOWN), (run) => rowOf(run, scene), 8)}
        </Table>
      )}
    </Region>
  );
}

const nameOf = ({ job, lock }: RunInfo): string => job ?? lock;

function rowOf(run: RunInfo, scene: Scene): h.JSX.Element {
  const { looked, times } = scene;
  const usual = usualOf((looked.kept.get(run.job ?? '') ?? NOTHING_KEPT).runs);
  return (
    <tr key={run.fencingToken}>
      <td>
        {run.job === undefined ? (
          <span class="name">lock {displayName(run.lock)}</span>
        ) : (
          <JobLink job={run.job} scene={scene} />
        )}
      </td>
      <td>
        <Outcome run={run} />
      </td>
      <td>
        <Time at={run.startedAt} times={times} />
      </td>
      <td class="number">{took(run, looked.now)}</td>
      <td class="number">{usual === undefined ? 'not known' : formatDuration(usual)}</td>
      <td>{usual !== undefined && <Against run={run} usual={usual} now={looked.now} />}</td>
      <td class="name">
        {displayName(run.instance)} <span class="faint">{holderOf(run, scene)}</span>
      </td>
      <td>{leaseOf(run, scene)}</td>
    </tr>
  );
}

/** The bar shows how long the run has taken, the stroke how long the job usually takes. */
function Against({ run, usual, now }: { run: RunInfo; usual: number; now: number }): h.JSX.Element {
  const taken = Math.max(0, now - run.startedAt);
  const whole = Math.max(taken, usual) * 1.1;
  const part = (value: number): string => `${((value / whole) * 100).toFixed(1)}%`;
  const times = taken / usual;
  return (
    <svg
      class="against"
      width="120"
      height="14"
      role="img"
      aria-label={`${times.toFixed(1)} times the usual time`}
    >
      <rect class="track" width="100%" height="14" rx="2" />
      <rect class={times > 2 ? 'run failed' : 'run running'} width={part(taken)} height="14" rx="2" />
      <line class="usual" x1={part(usual)} x2={part(usual)} y1="0" y2="14" />
    </svg>
  );
}

function holderOf({ instance }: RunInfo, { looked: { told } }: Scene): string {
  const found = told.find(({ info }) => info.instance === instance);
  if (found === undefined) return 'not known';
  return found.info.state === 'up'
    ? 'is up'
    : found.info.state === 'gone'
      ? 'gives no sign of life'
      : 'was shut down';
}

/** What is known of the lease. One that is long, or whose holder is dead, is held as well: only a look before can tell that it is renewed. */
function leaseOf(run: RunInfo, { looked: { locks, renewals, now } }: Scene): string {
  const lock = locks.get(run.lock)?.lock;
  if (lock === undefined) return 'not known';
  if (lock.state !== 'held' || lock.fencingToken !== run.fencingToken) return 'over';
  const left = lock.expiresIn === undefined ? '' : `, ${formatDuration(lock.expiresIn)} left`;
  const since = renewals.get(keyOfLease(run.lock, run.fencingToken));
  const renewed =
    since === undefined ? '' : `, renewed in the last ${formatDuration(Math.max(1, now - since))}`;
  return `held${left}${renewed}`;
}
