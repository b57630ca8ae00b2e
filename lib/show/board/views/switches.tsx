import { displayName } from '../../../base/lock-name.js';
import type { JobView } from '../../../insight/types.js';
import type { LockInfo } from '../../../contract/lock-info.js';
import type { DeadLetter } from '../../../contract/queued-call-store.js';
import { lockOf } from '../data/looked.js';
import { type ComponentChildren, Fragment, h } from './templates.js';
import { Region, type Scene, Time } from './parts.js';

/** What a person can do to a job. The script sends each form to the JSON. */
export function Switches({ scene, view }: { scene: Scene; view: JobView }): h.JSX.Element {
  const { job, paused } = view;
  return (
    <Region id="switches" title="Switches" note="each is noted in the history, with who did it and why">
      <div class="switches">
        {paused === undefined ? (
          <Switch {...toJob(job, 'pause')} name="Pause">
            <Reason needed /> <For />
          </Switch>
        ) : (
          <Switch {...toJob(job, 'resume')} name="Resume">
            <span>
              Paused by {paused.actor} until <Time at={paused.until} times={scene.times} />
              {paused.reason !== undefined && `: ${paused.reason}`}
            </span>
            <Reason />
          </Switch>
        )}
        <Switch {...toJob(job, 'run')} name="Run now">
          <Reason />
          {paused !== undefined && (
            <label>
              <input type="checkbox" name="throughPause" /> through the pause
            </label>
          )}
        </Switch>
        <OfLock scene={scene} view={view} />
      </div>
      <noscript>
        <p class="note">Switches need the script of this page; the shell has them, too.</p>
      </noscript>
    </Region>
  );
}

/** The switches for the holder of the job's lock, and for dead letters. */
function OfLock({ scene, view }: { scene: Scene; view: JobView }): h.JSX.Element {
  const lock = lockOf(scene.looked, view)?.lock;
  if (lock === undefined) return <Fragment />;
  const { dead = [] } = lock;
  return (
    <Fragment>
      {lock.state === 'held' && <Break lock={lock} />}
      {dead.length > 0 && <Dead lock={lock.name} dead={dead} scene={scene} />}
    </Fragment>
  );
}

/** How many dead letters have a switch of their own, the newest ones. */
const MOST_DEAD = 10;

/** Puts all dead letters back, or one. */
function Dead({
  lock,
  dead,
  scene,
}: {
  lock: string;
  dead: readonly DeadLetter[];
  scene: Scene;
}): h.JSX.Element {
  const more = dead.length - MOST_DEAD;
  return (
    <Fragment>
      <Switch {...toLock(lock, 'redeliver')} name={`Put back all ${dead.length} dead`}>
        <Reason />
      </Switch>
      <details id="dead-letters">
        <summary>One dead letter</summary>
        {dead.slice(0, MOST_DEAD).map(({ id, job, reason, at, deliveries, key }) => (
          <Switch key={id} {...toLock(lock, 'redeliver')} name="Put it back">
            <input type="hidden" name="id" value={id} />
            <span>
              {displayName(job)}
              {key !== undefined && ` (${displayName(key)})`}: {reason}, delivery {deliveries},{' '}
              <Time at={at} times={scene.times} />
            </span>
            <Reason />
          </Switch>
        ))}
        {more > 0 && (
          <p class="note">
            And {more} more: <code>npx nestjs-scheduler-lock locks --json</code> lists them.
          </p>
        )}
      </details>
    </Fragment>
  );
}

/** Breaks the lease that the viewer has seen, and no other one. */
function Break({ lock: { name, fencingToken, holder } }: { lock: LockInfo }): h.JSX.Element {
  if (fencingToken === undefined) return <Fragment />;
  return (
    <Switch {...toLock(name, 'break')} name="Break its lock">
      <input type="hidden" name="fencingToken" value={fencingToken} />
      <Reason needed />
      <span class="problem">
        The job may still run on {displayName(holder ?? 'its holder')}, and again elsewhere.
      </span>
    </Switch>
  );
}

/** The name is in the body: in a path, some routers take no long ones. */
const toJob = (name: string, action: string): To => ({ action: `jobs/${action}`, of: { job: name } });
const toLock = (name: string, action: string): To => ({ action: `locks/${action}`, of: { lock: name } });

interface To {
  readonly action: string;
  readonly of: Readonly<Record<string, string>>;
}

function Switch(props: To & { name: string; children?: ComponentChildren }): h.JSX.Element {
  const { action, of, name, children } = props;
  return (
    <form method="post" data-action={`api/v1/${action}`}>
      {Object.entries(of).map(([key, value]) => (
        <input key={key} type="hidden" name={key} value={value} />
      ))}
      <button type="submit">{name}</button> {children}
    </form>
  );
}

const Reason = ({ needed = false }: { needed?: boolean }): h.JSX.Element => (
  <label>
    Reason <input name="reason" maxLength={200} required={needed} />
  </label>
);

const For = (): h.JSX.Element => (
  <Fragment>
    <label>
      for{' '}
      <select name="for">
        {['1h', '4h', '1d', '7d', '30d'].map((length) => (
          <option key={length} selected={length === '7d'}>
            {length}
          </option>
        ))}
      </select>
    </label>
  </Fragment>
);
