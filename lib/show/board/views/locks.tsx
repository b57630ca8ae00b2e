import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import { withoutSql } from '../../../base/wording.js';
import type { LockInfo } from '../../../contract/lock-info.js';
import { Fragment, h } from './templates.js';
import { Waiting } from './line.js';
import { each, Nothing, Region, type Scene, Table, Time } from './parts.js';

const MAX_SHOWN = 60;
const HEADS = [
  'Lock',
  'State',
  'Holder',
  'Fencing token',
  'Since',
  'Free in',
  'Job',
  'In line',
  'Queued calls',
  'Dead letters',
] as const;

/** Whether a lock is worth showing: not if it is free, and nothing waits for it. */
const isOfInterest = ({ state, interrupted, line, queued, dead, unknown }: LockInfo): boolean =>
  state !== 'free' ||
  interrupted === true ||
  line !== undefined ||
  queued !== undefined ||
  dead !== undefined ||
  unknown !== undefined;

/** The locks of all jobs that are taken, or have something waiting. */
export function Locks({ scene }: { scene: Scene }): h.JSX.Element {
  const all = [...scene.looked.locks.values()].flatMap(({ lock }) => lock ?? []);
  const told = all.filter(isOfInterest).sort((one, other) => (one.name < other.name ? -1 : 1));
  const free = all.length - told.length;
  const note = `${free} more are free, with nothing waiting${told.length > MAX_SHOWN ? `; ${MAX_SHOWN} of ${told.length} are shown` : ''}`;
  return (
    <Region id="locks" title="Locks of jobs" note={note}>
      {told.length === 0 ? (
        <Nothing>No lock is taken, and nothing waits for one.</Nothing>
      ) : (
        <Table label="Locks" heads={HEADS}>
          {each(told.slice(0, MAX_SHOWN), (lock) => rowOf(lock, scene), HEADS.length)}
        </Table>
      )}
    </Region>
  );
}

const STATES = {
  held: ['going', '▶ held'],
  'cooling-down': ['plain', '◇ cooling down'],
  free: ['plain', '○ free'],
} as const;

function rowOf(lock: LockInfo, { times }: Scene): h.JSX.Element {
  const [tone, text] = lock.interrupted ? ['bad', '⚡ interrupted'] : STATES[lock.state];
  return (
    <tr key={lock.name}>
      <th scope="row" class="name">
        {displayName(lock.name)}
      </th>
      <td>
        <span class={`status ${tone}`}>{text}</span>
      </td>
      <td class="name">
        {lock.holder === undefined ? <span class="faint">not known</span> : displayName(lock.holder)}
      </td>
      <td class="number">{lock.state === 'held' ? lock.fencingToken : ''}</td>
      <td>
        <Time at={lock.since} times={times} />
      </td>
      <td class="number">{lock.expiresIn === undefined ? '' : formatDuration(lock.expiresIn)}</td>
      <td class="name">{lock.job === undefined ? '' : displayName(lock.job)}</td>
      <td>
        <Waiting line={lock.line ?? []} times={times} />
      </td>
      <td class="number">
        {lock.unknown === undefined ? (
          (lock.queued ?? '')
        ) : (
          <abbr title={withoutSql(lock.unknown)}>unknown</abbr>
        )}
      </td>
      <td>
        <Dead dead={lock.dead} times={times} />
      </td>
    </tr>
  );
}

function Dead({
  dead = [],
  times,
}: {
  dead: LockInfo['dead'] | undefined;
  times: Scene['times'];
}): h.JSX.Element {
  const [newest] = dead;
  if (newest === undefined) return <Fragment />;
  return (
    <Fragment>
      <span class="status bad">
        ▲ {dead.length}, the newest {newest.reason}
      </span>{' '}
      <Time at={newest.at} times={times} />
    </Fragment>
  );
}
