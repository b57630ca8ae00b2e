import type { Member } from '../../insight/fleet-jobs.js';
import type { Change, ChangeKind } from './data/change.js';
import type { Looked } from './data/looked.js';
import { type Outage, outagesOf } from './data/outages.js';
import { releasesOf } from './releases.js';

/** How many changes of a kind are shown, the newest ones. */
const MOST_CHANGES = 40;

/** The changes since a time, newest first. */
export async function changesOf(looked: Looked, since: number): Promise<Change[]> {
  const all = [
    ...missesOf(looked, since),
    ...(await releasesOf(looked.told, since)),
    ...goneOf(looked.told),
    ...switchesOf(looked),
    ...outagesOf(looked.misses).map(changeOf),
  ].filter(({ at, to = at }) => to >= since && at <= looked.now);
  const counts = new Map<ChangeKind, number>();
  return all
    .sort((one, other) => other.at - one.at)
    .filter(({ kind }) => {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      return count <= MOST_CHANGES;
    });
}

function switchesOf({ controls }: Looked): Change[] {
  return controls.map(({ action, actor, reason, at, lock, job }) => ({
    kind: 'switch',
    at,
    text: `${job ?? lock}: ${action} by ${actor}${reason === undefined ? '' : ` (${reason})`}`,
    ...(job !== undefined && { job }),
  }));
}

/** One change for each missed tick: several instances may have noted the same tick. */
function missesOf({ misses }: Looked, since: number): Change[] {
  const seen = new Set<string>();
  return misses.flatMap(({ job, tick, reason, count }) => {
    const key = JSON.stringify([job, tick]);
    if (tick < since || seen.has(key)) return [];
    seen.add(key);
    const again = count > 1 ? `, the last of ${count} in a row` : '';
    return [{ kind: 'miss', at: tick, job, tick, text: `Nobody started ${job} (${reason}${again})` }];
  });
}

function goneOf(told: readonly Member[]): Change[] {
  return told.flatMap(({ info: { instance, state, seenAt } }) => {
    if (state === 'up') return [];
    const how = state === 'gone' ? 'gives no sign of life any more' : 'was shut down';
    return [{ kind: 'gone', at: seenAt, text: `${instance} ${how}` }];
  });
}

function changeOf({ from, to, isOver, instances, jobs }: Outage): Change {
  const text = `The store was away on ${listed(instances)}: ticks of ${listed(jobs)} were missed`;
  const open = `${text}. Nobody has told when it came back`;
  return { kind: 'outage', at: from, to, text: isOver ? text : open, ...(!isOver && { isOpen: true }) };
}

function listed(names: readonly string[]): string {
  const [first = '', ...rest] = names;
  return rest.length === 0 ? first : `${first} and ${rest.length} more`;
}
