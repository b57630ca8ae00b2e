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
/** How long a list of jobs is kept, ms: longer than any instance that has it, as it has to come again once a day at least. */
const LIST_KEPT = INSTANCES_KEPT + 86_400_000;

/** Rule 18: the instances that were up in the last days, and their lists of jobs, each once. */
export class Registry {
  constructor(private readonly entries: LockEntries) {}

  /** Keeps a beat if its list of jobs is known, or comes with it. A list that would not outlive the instance counts as unknown. */
  async beat({ jobs, catalogue, ...told }: Beat): Promise<BeatResult> {
    const list = idOf(JOBS, catalogue);
    const { now: time, entries } = await this.entries.list({ lock: LOCK, ids: [list], bare: true });
    const isLasting = (entries[0]?.until ?? 0) > time + INSTANCES_KEPT;
    if (jobs === undefined && !isLasting) return { time, known: false };
    const id = idOf(INSTANCE, told.instance);
    await this.entries.put([
      // It is remembered up to the last millisecond.
      entryOf(INSTANCE, id, { version: list, keep: INSTANCES_KEPT + 1, body: asciiJson(told) }),
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
