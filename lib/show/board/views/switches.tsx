import { displayName } from '../../../base/lock-name.js';
import type { LockInfo } from '../../../contract/lock-info.js';
import type { PauseInfo } from '../../../insight/types.js';
import { type ComponentChildren, Fragment, h } from './templates.js';
import type { Known } from './job.js';
import { Region, type Scene, Time } from './parts.js';

/** What a person can do to a job. The script sends each form to the JSON; names are in the body, as some routers take no long ones in a path. */
export function Switches({ scene, known }: { scene: Scene; known: Known }): h.JSX.Element {
  const { job, paused } = known.view;
  const { lock } = known.facts;
  const through = (
    <label>
      <input type="checkbox" name="throughPause" /> through the pause
    </label>
  );
  return (
    <Region id="switches" title="Switches" note="each is noted in the history, with who did it and why">
      <div class="switches">
        {paused === undefined
          ? form('jobs/pause', { job }, 'Pause', reason(true), FOR)
          : form('jobs/resume', { job }, 'Resume', <Paused pause={paused} scene={scene} />, reason())}
        {form('jobs/run', { job }, 'Run now', reason(), paused && through)}
        {lock?.state === 'held' && breakOf(lock)}
        {lock?.dead !== undefined && <Dead lock={lock} scene={scene} />}
      </div>
      <noscript>
        <p class="note">Switches need the script of this page; the shell has them, too.</p>
      </noscript>
    </Region>
  );
}

/** One switch. The one that starts a run looks like it. */
const form = (
  action: string,
  of: Readonly<Record<string, string | number>>,
  name: string,
  ...fields: ComponentChildren[]
): h.JSX.Element =>
  h(
    'form',
    { method: 'post', 'data-action': `api/v1/${action}` },
    ...Object.entries(of).map(([key, value]) => h('input', { type: 'hidden', name: key, value })),
    h('button', { type: 'submit', class: action === 'jobs/run' ? 'main' : undefined }, name),
    ...fields,
  );

const reason = (required = false): h.JSX.Element =>
  h('label', null, 'Reason ', h('input', { name: 'reason', maxLength: 200, required }));

const LENGTHS = ['1h', '4h', '1d', '7d', '30d'].map((length) =>
  h('option', { selected: length === '7d' }, length),
);
const FOR = h('label', null, 'for ', h('select', { name: 'for' }, ...LENGTHS));

const Paused = ({ pause, scene }: { pause: PauseInfo; scene: Scene }): h.JSX.Element => (
  <span>
    Paused by {pause.actor} until <Time at={pause.until} times={scene.times} />
    {pause.reason !== undefined && `: ${pause.reason}`}
  </span>
);

/** Breaks the lease that the viewer has seen, and no other one. */
function breakOf({ name, fencingToken, holder = 'its holder' }: LockInfo): h.JSX.Element | undefined {
  if (fencingToken === undefined) return undefined;
  const warning = `The job may still run on ${displayName(holder)}, and again elsewhere.`;
  const of = { lock: name, fencingToken };
  return form('locks/break', of, 'Break its lock', reason(true), h('span', { class: 'problem' }, warning));
}

/** How many dead letters have a switch of their own, the newest ones. */
const MOST_DEAD = 10;

/** Puts all dead letters back, or one. */
function Dead({ lock: { name, dead = [] }, scene }: { lock: LockInfo; scene: Scene }): h.JSX.Element {
  const more = dead.length - MOST_DEAD;
  return (
    <Fragment>
      {form('locks/redeliver', { lock: name }, `Put back all ${dead.length} dead`, reason())}
      <details id="dead-letters">
        <summary>One dead letter</summary>
        {dead.slice(0, MOST_DEAD).map(({ id, job, reason: why, at, deliveries, key }) => {
          const which = key === undefined ? '' : ` (${displayName(key)})`;
          const about = `${displayName(job)}${which}: ${why}, delivery ${deliveries}, `;
          const said = h('span', null, about, <Time at={at} times={scene.times} />);
          return form('locks/redeliver', { lock: name, id }, 'Put it back', said, reason());
        })}
        {more > 0 && (
          <p class="note">
            And {more} more: <code>npx nestjs-scheduler-lock locks --json</code> lists them.
          </p>
        )}
      </details>
    </Fragment>
  );
}
