import { formatDuration } from '../../../base/duration.js';
import { displayName } from '../../../base/lock-name.js';
import { counted, withoutSql } from '../../../base/wording.js';
import type { InLine, LockInfo } from '../../../contract/lock-info.js';
import { type Member, upSince } from '../../../insight/fleet-jobs.js';
import type { Times } from '../data/shown.js';
import { type ComponentChildren, Fragment, h } from './templates.js';
import { type Scene, Table, Time } from './parts.js';

const MAX_SHOWN = 60;
/** How many calls in one line are shown, and jobs that are switched off on an instance. */
const MOST_IN_LINE = 5;
/** From here on the difference of a clock is shown, ms: less can be the network's doing. */
const CLOCK_OFF = 1_000;

/** One line, with the table in it. It is open if there is something to say. */
function Folded(props: {
  id: string;
  text: string;
  isOpen: boolean;
  children?: ComponentChildren;
}): h.JSX.Element {
  const { id, text, isOpen, children } = props;
  return (
    <section id={id} class="region folded" data-live aria-label={id}>
      <details id={`${id}-details`} open={isOpen}>
        <summary>{text}</summary>
        {children}
      </details>
    </section>
  );
}

const clockOff = ({ info: { clockOffset = 0 } }: Member): boolean => Math.abs(clockOffset) >= CLOCK_OFF;

/** The instances: first those that are up, by name. */
export function Instances({ scene }: { scene: Scene }): h.JSX.Element {
  const { told } = scene.looked;
  const up = told.filter(({ info }) => info.state === 'up');
  const gone = told.filter(({ info }) => info.state === 'gone').length;
  const wrong = up.filter(clockOff).length;
  const shown = [
    ...up.sort((one, other) => (one.info.instance < other.info.instance ? -1 : 1)),
    ...told.filter(({ info }) => info.state !== 'up'),
  ].slice(0, MAX_SHOWN);
  const versions = new Set(up.map(({ info: { version } }) => version));
  const text = [
    `${counted(up.length, 'instance')} up`,
    ...(versions.size === 1 && !versions.has(undefined) ? [`version ${[...versions][0]}`] : []),
    ...(versions.size > 1 ? [counted(versions.size, 'version')] : []),
    ...(wrong > 0 ? [`${counted(wrong, 'clock')} off`] : []),
    ...(gone > 0 ? [`${gone} gone without a word`] : []),
    ...(told.length > MAX_SHOWN ? [`${MAX_SHOWN} are shown`] : []),
  ].join(' · ');
  const heads = [
    'Instance',
    'State',
    'Version',
    'Started',
    'Last seen',
    'Clock',
    'Leads',
    'Switched off there',
  ];
  return (
    <Folded id="instances" text={text} isOpen={up.length === 0}>
      <Table label="Instances" heads={heads} of={shown} cells={(one) => instanceCells(one, scene)} />
    </Folded>
  );
}

const STATES = { up: ['good', '● up'], gone: ['bad', '▲ gone'], left: ['plain', '○ shut down'] } as const;

function instanceCells(one: Member, { times }: Scene): ComponentChildren[] {
  const { instance, state, version = '–', application = '', seenAt, clockOffset, leads } = one.info;
  const [tone, text] = STATES[state];
  const off = one.jobs.filter(({ enabled }) => !enabled).map(({ job }) => displayName(job));
  return [
    `${displayName(instance)} ${application}`,
    <span class={`status ${tone}`}>{text}</span>,
    version,
    <Time at={upSince(one.info)} times={times} />,
    <Time at={seenAt} times={times} />,
    clockText(clockOffset),
    state === 'up' ? leads.join(', ') : '',
    off.length > 3 ? `${off.slice(0, 3).join(', ')} and ${off.length - 3} more` : off.join(', '),
  ];
}

/** How far a clock differs from the clock of the store, in words. */
function clockText(offset: number | undefined): string {
  if (offset === undefined) return 'not known yet';
  if (Math.abs(offset) < CLOCK_OFF) return 'right';
  return `${formatDuration(Math.abs(offset))} ${offset > 0 ? 'behind' : 'ahead'}`;
}

/** Whether a lock is worth showing: not if it is free, and nothing waits for it. */
const isOfInterest = ({ state, interrupted, line, queued, dead, unknown }: LockInfo): boolean =>
  state !== 'free' ||
  interrupted === true ||
  [line, queued, dead, unknown].some((each) => each !== undefined);

/** The locks of jobs that are taken, or have something waiting. */
export function Locks({ scene }: { scene: Scene }): h.JSX.Element {
  const all = [...scene.looked.locks.values()].flatMap(({ lock }) => lock ?? []);
  const told = all.filter(isOfInterest).sort((one, other) => (one.name < other.name ? -1 : 1));
  const dead = told.reduce((sum, lock) => sum + (lock.dead?.length ?? 0), 0);
  const waiting = told.filter(({ line }) => line !== undefined).length;
  const text = [
    told.length === 0
      ? `${counted(all.length, 'lock')}: none is taken, and nothing waits`
      : `${counted(told.length, 'lock')} of ${all.length} taken, or with something waiting`,
    ...(waiting > 0 ? [`a line for ${waiting}`] : []),
    ...(dead > 0 ? [counted(dead, 'dead letter')] : []),
    ...(told.length > MAX_SHOWN ? [`${MAX_SHOWN} are shown`] : []),
  ].join(' · ');
  return (
    <Folded id="locks" text={text} isOpen={waiting > 0 || dead > 0}>
      {told.length > 0 && (
        <Table
          label="Locks"
          heads={LOCK_HEADS}
          of={told.slice(0, MAX_SHOWN)}
          cells={(lock) => lockCells(lock, scene)}
        />
      )}
    </Folded>
  );
}

const LOCK_HEADS = 'Lock,State,Holder,Fencing token,Since,Free in,In line,Queued calls,Dead letters'.split(
  ',',
);
const LOCK_STATES = {
  held: ['going', '▶ held'],
  'cooling-down': ['plain', '◇ cooling down'],
  free: ['plain', '○ free'],
} as const;

function lockCells(lock: LockInfo, { times }: Scene): ComponentChildren[] {
  const {
    name,
    state,
    interrupted,
    holder,
    fencingToken,
    since,
    expiresIn,
    line = [],
    queued,
    unknown,
  } = lock;
  const [tone, text] = interrupted ? ['bad', '⚡ interrupted'] : LOCK_STATES[state];
  return [
    displayName(name),
    <span class={`status ${tone}`}>{text}</span>,
    holder === undefined ? 'not known' : displayName(holder),
    state === 'held' ? fencingToken : '',
    <Time at={since} times={times} />,
    expiresIn === undefined ? '' : formatDuration(expiresIn),
    <Waiting line={line} times={times} />,
    unknown === undefined ? queued : <abbr title={withoutSql(unknown)}>unknown</abbr>,
    <Dead lock={lock} times={times} />,
  ];
}

function Dead({ lock: { dead = [] }, times }: { lock: LockInfo; times: Times }): h.JSX.Element {
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

/** The calls in line for a lock: the first is the next to have the lock. */
export function Waiting({ line, times }: { line: readonly InLine[]; times: Times }): h.JSX.Element {
  const more = line.length - MOST_IN_LINE;
  return (
    <Fragment>
      {line.slice(0, MOST_IN_LINE).map(({ holder, since }, n) => (
        <span class="waiter" key={n}>
          {displayName(holder ?? 'not known')}, since <Time at={since} times={times} />
        </span>
      ))}
      {more > 0 && <span class="faint">and {more} more</span>}
    </Fragment>
  );
}
