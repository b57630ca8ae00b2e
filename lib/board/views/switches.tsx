import { displayName } from '../../lock-name.js';
import type { JobView } from '../../insight/types.js';
import type { LockInfo } from '../../stores/lock-info.js';
import { lockOf } from '../looked.js';
import { type ComponentChildren, Fragment, h } from '../templates.js';
import { readPause } from '../../stores/pause.js';
import { Waiting } from './line.js';
import { Region, type Scene, Time } from './parts.js';

/** What a person can do to a job. The script sends each form to the JSON. */
export function Switches({ scene, view }: { scene: Scene; view: JobView }): h.JSX.Element {
  const { job, paused } = view;
  return (
    <Region id="switches" title="Switches" note="each is noted in the history, with who did it and why">
      <div class="switches">
        {paused === undefined ? (
          <Switch action={`jobs/${encodeURIComponent(job)}/pause`} name="Pause">
            <Reason needed /> <For />
            <Pauses scene={scene} view={view} />
          </Switch>
        ) : (
          <Switch action={`jobs/${encodeURIComponent(job)}/resume`} name="Resume">
            <span>
              Paused by {paused.actor} until <Time at={paused.until} times={scene.times} />
              {paused.reason !== undefined && `: ${paused.reason}`}
            </span>
          </Switch>
        )}
        <Switch action={`jobs/${encodeURIComponent(job)}/run`} name="Run now">
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

/** Pauses that wait until the present holder of the lock has ended. */
function Pauses({ scene, view }: { scene: Scene; view: JobView }): h.JSX.Element {
  const { line = [], holder } = lockOf(scene.looked, view)?.lock ?? {};
  const pauses = line.filter((one) => readPause(one.holder) !== undefined);
  if (pauses.length === 0) return <Fragment />;
  return (
    <span class="problem">
      Behind {displayName(holder ?? 'whoever has it')} waits <Waiting line={pauses} times={scene.times} />
    </span>
  );
}

/** The switches for the holder of the job's lock, and for dead letters. */
function OfLock({ scene, view }: { scene: Scene; view: JobView }): h.JSX.Element {
  const lock = lockOf(scene.looked, view)?.lock;
  if (lock === undefined) return <Fragment />;
  const dead = lock.dead?.length ?? 0;
  return (
    <Fragment>
      {lock.state === 'held' && view.paused === undefined && <Break lock={lock} />}
      {dead > 0 && (
        <Switch action={`locks/${encodeURIComponent(lock.name)}/redeliver`} name={`Put back ${dead} dead`}>
          <Reason />
        </Switch>
      )}
    </Fragment>
  );
}

/** Breaks the lease that the viewer has seen, and no other one. */
function Break({ lock: { name, fencingToken, holder } }: { lock: LockInfo }): h.JSX.Element {
  if (fencingToken === undefined) return <Fragment />;
  return (
    <Switch action={`locks/${encodeURIComponent(name)}/break`} name="Break its lock">
      <input type="hidden" name="fencingToken" value={fencingToken} />
      <Reason needed />
      <span class="problem">
        The job may still run on {displayName(holder ?? 'its holder')}, and again elsewhere.
      </span>
    </Switch>
  );
}

function Switch(props: { action: string; name: string; children?: ComponentChildren }): h.JSX.Element {
  const { action, name, children } = props;
  return (
    <form method="post" data-action={`api/v1/${action}`}>
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
          <option key={length} selected={length === '1d'}>
            {length}
          </option>
        ))}
      </select>
    </label>
  </Fragment>
);
