import {
  type Beat,
  type BeatResult,
  type InstanceRecord,
  INSTANCES_KEPT,
  MAX_INSTANCES,
} from '../../contract/history-store.js';
import { isInstance, isJobs, readable, readEach } from '../../contract/readable.js';
import type { Entry, LockEntries, NewEntry } from './entries.js';
import { asciiJson } from '../../base/wording.js';

/** Instances belong to no lock. */
const LOCK = '';
const [INSTANCE, JOBS] = ['instance', 'jobs'];
const DAY = 86_400_000;
/** How long a list of jobs is kept, ms: a day longer than any instance that has it, though it comes again only when it is a day old. */
const LIST_KEPT = INSTANCES_KEPT + 2 * DAY;

/** Rule 18: the instances that were up in the last days, and their lists of jobs, each once. */
export class Registry {
  constructor(private readonly entries: LockEntries) {}

  /**
   * Keeps a beat if its list of jobs is known, or comes with it; a brief one if the last one of its instance had that list. A list that would
   * not outlive the instance counts as unknown.
   */
  async beat({ jobs, catalogue, brief, ...told }: Beat): Promise<BeatResult> {
    const list = idOf(JOBS, catalogue);
    const id = idOf(INSTANCE, told.instance);
    // It is remembered up to the last millisecond.
    const entry = entryOf(INSTANCE, id, { version: list, keep: INSTANCES_KEPT + 1, body: asciiJson(told) });
    if (brief) return { known: (await this.entries.put([{ ...entry, over: [list] }])).every(Boolean) };
    const { now: time, entries } = await this.entries.list({ lock: LOCK, ids: [list], bare: true });
    const isLasting = (entries[0]?.until ?? 0) > time + INSTANCES_KEPT + DAY;
    if (jobs === undefined && !isLasting) return { time, known: false };
    await this.entries.put([
      entry,
      // It may replace one that somebody has damaged.
      ...(jobs === undefined
        ? []
        : [entryOf(JOBS, list, { version: JOBS, keep: LIST_KEPT, body: asciiJson(jobs) })]),
    ]);
    return { time, known: true };
  }

  /** In the order in which they were last seen. */
  async instances(onUnreadable?: () => void): Promise<InstanceRecord[]> {
    // What is beyond the limit, goes with its time.
    const newest = { lock: LOCK, kinds: [INSTANCE], newest: true, limit: MAX_INSTANCES } as const;
    const { now: time, entries } = await this.entries.list(newest);
    const told = readEach(
      entries.toReversed(),
      ({ body, version: list, at: seenAt }) => {
        const one = readable(body, isInstance);
        return one && { list, one: { ...one, seenAt, time } };
      },
      onUnreadable,
    );
    const ids = [...new Set(told.map(({ list }) => list))];
    const lists = ids.length === 0 ? undefined : await this.entries.list({ lock: LOCK, ids });
    const jobs = new Map(readEach(lists?.entries ?? [], listOf, onUnreadable));
    return told.map(({ list, one }) => ({ ...one, jobs: jobs.get(list) ?? [] }));
  }
}

const idOf = (kind: string, name: string): string => asciiJson([kind, name]);

const entryOf = (kind: string, id: string, more: Pick<NewEntry, 'version' | 'keep' | 'body'>): NewEntry => ({
  ...more,
  lock: LOCK,
  id,
  kind,
  over: 'any',
});

/** A list with the id of its entry; `undefined` if it cannot be read. */
function listOf({ id, body }: Entry): [id: string, jobs: InstanceRecord['jobs']] | undefined {
  const jobs = readable(body, isJobs);
  return jobs && [id, jobs];
}
