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
/** How long a list of jobs is kept, ms: longer than any instance that has it, as it is written again once a day at most. */
const LIST_KEPT = INSTANCES_KEPT + 86_400_000;

/** Rule 18: the instances that were up in the last days, and their lists of jobs, each once. */
export class Registry {
  /** The lists that were read last. A list never changes: its name is made from it. */
  #lists: ReadonlyMap<string, InstanceRecord['jobs']> = new Map();

  constructor(private readonly entries: LockEntries) {}

  /** Keeps a beat if its list of jobs is known, or comes with it. */
  async beat({ jobs, catalogue, ...told }: Beat): Promise<BeatResult> {
    const asked = { lock: LOCK, ids: [listId(catalogue)] };
    const { now: time, entries } = await this.entries.list({ ...asked, bare: true });
    const isLasting = jobs === undefined && (entries[0]?.until ?? 0) > time + INSTANCES_KEPT;
    const list = isLasting ? [] : await this.#listOf(catalogue, jobs);
    if (list === undefined) return { time, known: false };
    const id = idOf(INSTANCE, told.instance);
    // It is remembered up to the last millisecond.
    const facts = entryOf(INSTANCE, id, {
      version: listId(catalogue),
      keep: INSTANCES_KEPT + 1,
      body: asciiJson(told),
    });
    await this.entries.put([facts, ...list]);
    return { time, known: true };
  }

  /** A list of jobs, to be kept for as long once more; `undefined`: it is not known. It may replace one that somebody has damaged. */
  async #listOf(catalogue: string, jobs: Beat['jobs']): Promise<[NewEntry] | undefined> {
    const id = listId(catalogue);
    const [known] = jobs === undefined ? (await this.entries.list({ lock: LOCK, ids: [id] })).entries : [];
    const body = jobs === undefined ? known?.body : asciiJson(jobs);
    if (body === undefined) return undefined;
    return [entryOf(JOBS, id, { version: JOBS, keep: LIST_KEPT, body })];
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
    const jobs = await this.#listsOf(new Set(told.map(({ list }) => list)), onUnreadable);
    return told.map(({ list, one }) => Object.assign(one, { jobs: jobs.get(list) ?? NO_JOBS }));
  }

  /** The lists of these ids. One that is missing or unreadable is not in the answer. */
  async #listsOf(used: ReadonlySet<string>, onUnreadable?: () => void) {
    const lists = new Map([...this.#lists].filter(([id]) => used.has(id)));
    const ids = [...used].filter((id) => !lists.has(id));
    const { entries } = ids.length === 0 ? { entries: [] } : await this.entries.list({ lock: LOCK, ids });
    for (const [id, jobs] of readEach(entries, listOf, onUnreadable)) lists.set(id, jobs);
    return (this.#lists = lists);
  }
}

const NO_JOBS: InstanceRecord['jobs'] = [];

const idOf = (kind: string, name: string): string => asciiJson([kind, name]);
const listId = (catalogue: string): string => idOf(JOBS, catalogue);

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
