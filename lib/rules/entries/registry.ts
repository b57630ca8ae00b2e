import {
  type Beat,
  type BeatResult,
  type InstanceRecord,
  INSTANCES_KEPT,
  MAX_INSTANCES,
} from '../../contract/history-store.js';
import { instanceReader, isJobs, readable, readEach } from '../../contract/readable.js';
import type { Entry, LockEntries, NewEntry } from './entries.js';
import { asciiJson } from '../../base/wording.js';

/** Instances belong to no lock. */
const LOCK = '';
const [INSTANCE, JOBS] = ['instance', 'jobs'];
/** How long a list of jobs is kept, ms: longer than any instance that has it, as it is written again once a day at most. */
const LIST_KEPT = INSTANCES_KEPT + 86_400_000;
/** How many instances one clean-up forgets at most, and each how many beats of a process there is one. */
const CLEAN_UP_SIZE = 100;
const FORGETS_EACH = 100;

/** Rule 18: the instances that were up in the last days, and their lists of jobs, each once. */
export class Registry {
  #beats = 0;

  constructor(private readonly entries: LockEntries) {}

  /** Keeps a beat if its list of jobs is known, or comes with it. */
  async beat({ jobs, catalogue, ...told }: Beat): Promise<BeatResult> {
    const asked = { lock: LOCK, ids: [listId(catalogue)] };
    const { now: time, entries } = await this.entries.list({ ...asked, bare: true });
    const isLasting = jobs === undefined && (entries[0]?.until ?? 0) > time + INSTANCES_KEPT;
    const list = isLasting ? [] : await this.#listOf(catalogue, jobs);
    if (list === undefined) return { time, known: false };
    await this.entries.put([instanceEntry({ ...told, catalogue }), ...list]);
    if (this.#beats++ % FORGETS_EACH === 0) await this.#forget();
    return { time, known: true };
  }

  /** A list of jobs, to be kept for as long once more; `undefined`: it is not known. It may replace one that somebody has damaged. */
  async #listOf(catalogue: string, jobs: Beat['jobs']): Promise<[NewEntry] | undefined> {
    const id = listId(catalogue);
    const [known] = jobs === undefined ? (await this.entries.list({ lock: LOCK, ids: [id] })).entries : [];
    const body = jobs === undefined ? known?.body : asciiJson(jobs);
    if (body === undefined) return undefined;
    return [{ lock: LOCK, id, version: JOBS, over: 'any', kind: JOBS, keep: LIST_KEPT, body }];
  }

  /** In the order in which they were last seen. */
  async instances(onUnreadable?: () => void): Promise<InstanceRecord[]> {
    const [told, lists] = await Promise.all(
      [INSTANCE, JOBS].map((kind) => this.entries.list({ lock: LOCK, kinds: [kind] })),
    );
    const seen = (told?.entries ?? []).slice(-MAX_INSTANCES);
    // Ignores lists that no instance has any more.
    const used = new Set(seen.map(({ version }) => version));
    const known = (lists?.entries ?? []).filter(({ id }) => used.has(id));
    const jobs = new Map(readEach(known, listOf, onUnreadable));
    const read = instanceReader();
    return readEach(
      seen,
      ({ body, version, at: seenAt }) => {
        const one = read(body) as InstanceRecord | undefined;
        if (typeof one?.instance !== 'string') return undefined;
        // A copy would parse the dates, which are read when somebody asks for them.
        return Object.assign(one, { seenAt, time: told?.now ?? NaN, jobs: jobs.get(version) ?? [] });
      },
      onUnreadable,
    );
  }

  /** Forgets those that were not seen for longest, beyond the limit. */
  async #forget(): Promise<void> {
    const beyond = { skip: MAX_INSTANCES, limit: CLEAN_UP_SIZE };
    const { entries } = await this.entries.list({
      lock: LOCK,
      kinds: [INSTANCE],
      newest: true,
      bare: true,
      ...beyond,
    });
    if (entries.length > 0) await this.entries.drop(entries);
  }
}

const listId = (catalogue: string): string => asciiJson([JOBS, catalogue]);

/** An instance. Its version names its list of jobs. */
function instanceEntry({ catalogue, ...told }: Omit<Beat, 'jobs'>): NewEntry {
  const id = asciiJson([INSTANCE, told.instance]);
  const body = asciiJson(told);
  // It is remembered up to the last millisecond.
  const keep = INSTANCES_KEPT + 1;
  return { lock: LOCK, id, version: listId(catalogue), over: 'any', kind: INSTANCE, keep, body };
}

/** A list with the id of its entry; `undefined` if it cannot be read. */
function listOf({ id, body }: Entry): [id: string, jobs: InstanceRecord['jobs']] | undefined {
  const jobs = readable(body, isJobs);
  return jobs && [id, jobs];
}
