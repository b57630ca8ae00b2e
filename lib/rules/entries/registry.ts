import {
  type Beat,
  type BeatResult,
  type InstanceRecord,
  INSTANCES_KEPT,
  MAX_INSTANCES,
} from '../../contract/history-store.js';
import { isInstance, isJobs, readable, readEach, withDates } from '../../contract/readable.js';
import type { Entry, EntryQuery, LockEntries, NewEntry } from './entries.js';
import { asciiJson } from '../../base/wording.js';

/** Instances belong to no lock. */
const LOCK = '';
/** Dates are most of what an instance tells, and seldom needed: they are kept beside it. */
const [INSTANCE, DATES, JOBS] = ['instance', 'dates', 'jobs'];
/** How long a list of jobs is kept, ms: longer than any instance that has it, as it has to come again once a day at least. */
const LIST_KEPT = INSTANCES_KEPT + 86_400_000;

/** Rule 18: the instances that were up in the last days, and their lists of jobs, each once. */
export class Registry {
  /** The lists that were read last. A list never changes: its name is made from it. */
  #lists: ReadonlyMap<string, InstanceRecord['jobs']> = new Map();

  constructor(private readonly entries: LockEntries) {}

  /** Keeps a beat if its list of jobs is known, or comes with it. A list that would not outlive the instance counts as unknown. */
  async beat({ jobs, catalogue, next, last, ...told }: Beat): Promise<BeatResult> {
    const id = listId(catalogue);
    const { now: time, entries } = await this.entries.list({ lock: LOCK, ids: [id], bare: true });
    const isLasting = (entries[0]?.until ?? 0) > time + INSTANCES_KEPT;
    if (jobs === undefined && !isLasting) return { time, known: false };
    // It may replace one that somebody has damaged.
    const list = { lock: LOCK, id, version: JOBS, over: 'any', kind: JOBS, keep: LIST_KEPT } as const;
    await this.entries.put([
      instanceEntry(INSTANCE, told.instance, told, id),
      instanceEntry(DATES, told.instance, { next, last }),
      ...(jobs === undefined ? [] : [{ ...list, body: asciiJson(jobs) }]),
    ]);
    return { time, known: true };
  }

  /** In the order in which they were last seen. @param isDated of which to read the dates, by their ids @default of all */
  async instances(
    onUnreadable?: () => void,
    isDated?: (instance: string) => boolean,
  ): Promise<InstanceRecord[]> {
    const { now: time, entries } = await this.entries.list(newestOf(INSTANCE));
    const told = readEach(
      entries.toReversed(),
      ({ body, version: list, at: seenAt }) => {
        const one = readable(body, isInstance);
        return one && { list, one: { ...one, seenAt, time } };
      },
      onUnreadable,
    );
    const wanted = isDated && told.map(({ one }) => one.instance).filter(isDated);
    const [jobs, dates] = await Promise.all([
      this.#listsOf(new Set(told.map(({ list }) => list)), onUnreadable),
      this.#datesOf(wanted),
    ]);
    return told.map(({ list, one }) =>
      withDates(
        Object.assign(one, { jobs: jobs.get(list) ?? [] }),
        dates.get(idOf(DATES, one.instance)) ?? '',
      ),
    );
  }

  /** The lists of these ids. One that is missing or unreadable is not in the answer. */
  async #listsOf(used: ReadonlySet<string>, onUnreadable?: () => void) {
    const lists = new Map([...this.#lists].filter(([id]) => used.has(id)));
    const ids = [...used].filter((id) => !lists.has(id));
    const { entries } = ids.length === 0 ? { entries: [] } : await this.entries.list({ lock: LOCK, ids });
    for (const [id, jobs] of readEach(entries, listOf, onUnreadable)) lists.set(id, jobs);
    return (this.#lists = lists);
  }

  /** @param instances `undefined`: all */
  async #datesOf(instances: readonly string[] | undefined): Promise<ReadonlyMap<string, string>> {
    if (instances?.length === 0) return new Map();
    const ids = instances?.map((instance) => idOf(DATES, instance));
    const { entries } = await this.entries.list(ids === undefined ? newestOf(DATES) : { lock: LOCK, ids });
    return new Map(entries.map(({ id, body }) => [id, body]));
  }
}

const idOf = (kind: string, name: string): string => asciiJson([kind, name]);
const listId = (catalogue: string): string => idOf(JOBS, catalogue);

/** What is beyond the limit, goes with its time. */
const newestOf = (kind: string): EntryQuery => ({
  lock: LOCK,
  kinds: [kind],
  newest: true,
  limit: MAX_INSTANCES,
});

/** What is kept of an instance. @param version names its list of jobs */
const instanceEntry = (kind: string, instance: string, facts: object, version: string = kind): NewEntry => ({
  lock: LOCK,
  id: idOf(kind, instance),
  version,
  over: 'any',
  kind,
  // It is remembered up to the last millisecond.
  keep: INSTANCES_KEPT + 1,
  body: asciiJson(facts),
});

/** A list with the id of its entry; `undefined` if it cannot be read. */
function listOf({ id, body }: Entry): [id: string, jobs: InstanceRecord['jobs']] | undefined {
  const jobs = readable(body, isJobs);
  return jobs && [id, jobs];
}
