import { displayName } from '../../../base/lock-name.js';
import type { LockInfo } from '../../../contract/lock-info.js';
import { type Content, type Markup, markup } from './markup.js';
import type { Known } from './job.js';
import { region, type Scene, timeAt } from './parts.js';

/** What a person can do to a job. The script sends each form to the JSON; names are in the body, as some routers take no long ones in a path. */
export function switches({ times }: Scene, { view, facts: { lock }, removed }: Known): Markup {
  const { job, paused, overdue, instances } = view;
  // A run that began after the tick and completes settles it.
  const [run, why] =
    overdue === undefined
      ? ['Run now']
      : [`Run the missed tick (${times.short(overdue)})`, `the missed tick of ${times.full(overdue)}`];
  const through = markup`<label><input type="checkbox" name="throughPause"> through the pause</label>`;
  const ofLock = [
    paused === undefined
      ? form('jobs/pause', { job }, 'Pause', reason(true), FOR)
      : form(
          'jobs/resume',
          { job },
          'Resume',
          markup`<span>Paused by ${paused.actor} until ${timeAt(paused.until, times)}${paused.reason !== undefined && `: ${paused.reason}`}</span>`,
          reason(),
        ),
    form('jobs/run', { job }, run, reason(false, why), paused && through),
    lock?.state === 'held' && breakOf(lock),
    lock?.dead !== undefined && deadOf(lock, times),
  ];
  const forget = instances.length === 0 && form('jobs/forget', { job }, 'Forget it', reason(true));
  const forms = [removed === undefined && ofLock, forget];
  return region(
    'switches',
    'Switches',
    markup`<div class="switches">${forms}</div><p class="note">Each is noted in the history, with who did it and why.</p>
      <noscript><p class="note">Switches need the script of this page; the shell has them, too.</p></noscript>`,
  );
}

/** One switch. The one that starts a run looks like it. */
function form(
  action: string,
  of: Readonly<Record<string, string | number>>,
  name: string,
  ...fields: Content[]
): Markup {
  const hidden = Object.entries(of).map(
    ([key, value]) => markup`<input type="hidden" name="${key}" value="${value}">`,
  );
  return markup`<form method="post" data-action="api/v1/${action}">${hidden}<button type="submit" class="${action === 'jobs/run' && 'main'}">${name}</button>${fields}</form>`;
}

const reason = (isRequired = false, given = ''): Markup =>
  markup`<label>Reason <input name="reason" maxlength="200" value="${given}"${isRequired && markup` required`}></label>`;

const LENGTHS = ['1h', '4h', '1d', '7d', '30d'].map(
  (length) => markup`<option${length === '7d' && markup` selected`}>${length}</option>`,
);
const FOR = markup`<label>for <select name="for">${LENGTHS}</select></label>`;

/** Breaks the lease that the viewer has seen, and no other one. */
function breakOf({ name, fencingToken, holder = 'its holder' }: LockInfo): Content {
  const warning = `The job may still run on ${displayName(holder)}, and again elsewhere.`;
  return (
    fencingToken !== undefined &&
    form('locks/break', { lock: name, fencingToken }, 'Break its lock', reason(true), [
      markup`<span class="problem">${warning}</span>`,
    ])
  );
}

/** How many dead letters can be chosen, the newest ones: the shell lists them all. */
const MOST_DEAD = 20;

/** Puts all dead letters back, or one. */
function deadOf({ name, dead = [] }: LockInfo, times: Scene['times']): Content {
  const one = dead.slice(0, MOST_DEAD).map(({ id, job, reason: why, at, deliveries, key }) => {
    const which = key === undefined ? '' : ` (${displayName(key)})`;
    return markup`<option value="${id}">${displayName(job)}${which}: ${why}, delivery ${deliveries}, ${times.said(at)}</option>`;
  });
  const all = markup`<option value="">all ${dead.length}</option>`;
  const which = markup`<label>dead letters <select name="id">${all}${one}</select></label>`;
  return form('locks/redeliver', { lock: name }, 'Put back', which, reason());
}
