import { counted } from '../../../base/wording.js';
import type { LockInfo } from '../../../contract/lock-info.js';
import { clockText, INSTANCES, LOCKS } from '../data/tables.js';
import { type Content, type Markup, markup } from './markup.js';
import { type Scene, table } from './parts.js';

const MAX_SHOWN = 60;

/** One line, with the table in it. It is open if there is something to say. */
const folded = (
  id: string,
  texts: readonly (string | false | undefined)[],
  isOpen: boolean,
  content: Content,
): Markup =>
  markup`<section id="${id}" class="region folded" data-live aria-label="${id}">
    <details id="${id}-details"${isOpen && markup` open`}><summary>${texts.filter(Boolean).join(' · ')}</summary>${content}</details>
  </section>`;

/** The instances: first those that are up, the newest of them at the top. */
export function instances({ looked: { told }, times }: Scene): Markup {
  const up = told.filter(({ info }) => info.state === 'up');
  const gone = told.filter(({ info }) => info.state === 'gone').length;
  const wrong = up.filter(clockText).length;
  const versions = [...new Set(up.map(({ info }) => info.version ?? ''))];
  const named =
    versions.length === 1 ? versions[0] && `version ${versions[0]}` : `${versions.length} versions`;
  const texts = [
    `${counted(up.length, 'instance')} up`,
    up.length > 0 && named,
    wrong > 0 && `${counted(wrong, 'clock')} off`,
    gone > 0 && `${gone} gone without a word`,
    told.length > MAX_SHOWN && `${MAX_SHOWN} are shown`,
  ];
  const shown = table('Instances', INSTANCES, told.slice(0, MAX_SHOWN), times);
  return folded('instances', texts, up.length === 0, shown);
}

/** Whether a lock is worth showing: not if it is free, and nothing waits for it. */
const isOfInterest = ({ state, interrupted, line, queued, dead, unknown }: LockInfo): boolean =>
  state !== 'free' || interrupted === true || [line, queued, dead, unknown].some((one) => one !== undefined);

/** The locks of jobs that are taken, or have something waiting. */
export function locks({ looked, times }: Scene): Markup {
  const all = [...looked.locks.values()].flatMap(({ lock }) => lock ?? []);
  const found = all.filter(isOfInterest).sort((one, other) => (one.name < other.name ? -1 : 1));
  const dead = found.reduce((sum, lock) => sum + (lock.dead?.length ?? 0), 0);
  const waiting = found.filter(({ line }) => line !== undefined).length;
  const texts = [
    found.length === 0
      ? `${counted(all.length, 'lock')}: none is taken, and nothing waits`
      : `${counted(found.length, 'lock')} of ${all.length} taken, or with something waiting`,
    waiting > 0 && `a line for ${waiting}`,
    dead > 0 && counted(dead, 'dead letter'),
    found.length > MAX_SHOWN && `${MAX_SHOWN} are shown`,
  ];
  const shown = found.length > 0 && table('Locks', LOCKS, found.slice(0, MAX_SHOWN), times);
  return folded('locks', texts, waiting > 0 || dead > 0, shown);
}
