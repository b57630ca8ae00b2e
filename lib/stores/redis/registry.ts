import type { Beat, BeatResult, InstanceRecord, KnownJob } from '../history-store.js';
import { instanceReader, isJobs, readable, readEach, type ToldInstance } from '../readable.js';
import { BEAT, FACTS, INSTANCES } from './history-scripts.js';
import type { instanceKeys } from './keys.js';
import { failure } from './lease-call.js';
import { type Connection, valuesOf } from './redis-client.js';
import { isYes } from './replies.js';
import type { Script } from './script.js';

/** How many instances to read in one command: each has dates of all its jobs, and neither side does anything else meanwhile. */
const AT_ONCE = 25;
/** The same for lists of jobs. */
const LISTS = 5;

/** The instances of a fleet in Redis, with the jobs that they know: see history-scripts.ts. */
export class RedisRegistry {
  /** The list of jobs that the store has for each instance of this process. */
  readonly #had = new Map<string, string>();

  constructor(
    private readonly connection: Connection,
    private readonly keys: () => ReturnType<typeof instanceKeys>,
    private readonly run: (
      script: Script,
      keys: readonly string[],
      args: readonly string[],
    ) => Promise<unknown>,
  ) {}

  async beat({ instance, jobs, next, last, ...facts }: Beat): Promise<BeatResult> {
    const { instances, seen, list } = this.keys();
    const { catalogue, left } = facts;
    const old = this.#had.get(instance) ?? catalogue;
    const had = old === catalogue ? '' : JSON.stringify({ catalogue: old }).slice(1, -1);
    // The dates come last, so that the server can leave them out.
    const told = JSON.stringify({ ...facts, next, last });
    const args = [instance, told, jobs === undefined ? '' : JSON.stringify(jobs), had];
    const answer = await this.run(BEAT, [instances, seen, list(catalogue), list(old)], args);
    if (left) this.#had.delete(instance);
    else this.#had.set(instance, catalogue);
    const [time, known] = answer as [string, number];
    return { time: Number(time), known: isYes(known) };
  }

  async instances(onUnreadable?: () => void, brief = false): Promise<InstanceRecord[]> {
    const { instances, seen, list } = this.keys();
    const [time, ...found] = (await this.run(INSTANCES, [seen], [])) as string[];
    const read = instanceReader();
    const told: ToldBeat[] = [];
    for (let from = 0; from < found.length; from += 2 * AT_ONCE) {
      const some = found.slice(from, from + 2 * AT_ONCE);
      const ids = some.filter((_, n) => n % 2 === 0);
      const facts = (await this.run(FACTS, [instances], [brief ? '1' : '', ...ids])) as string[];
      const kept = ids.flatMap((instance, n) =>
        facts[n] ? [{ instance, seenAt: Number(some[2 * n + 1]), facts: facts[n] }] : [],
      );
      told.push(...readEach(kept, (beat) => beatOf(beat, read), onUnreadable));
    }
    const catalogues = [...new Set(told.map(({ catalogue }) => catalogue))];
    const lists = await this.#lists(catalogues.map(list), onUnreadable);
    const jobsOf = new Map(catalogues.map((catalogue, i) => [catalogue, lists[i] ?? []]));
    return told.map(({ catalogue, record }) =>
      Object.assign(record, { time: Number(time), jobs: jobsOf.get(catalogue) ?? [] }),
    );
  }

  /** One list for each key: a list that is missing or unreadable is empty. */
  async #lists(keys: readonly string[], onUnreadable?: () => void): Promise<KnownJob[][]> {
    const lists: KnownJob[][] = [];
    // A few at a time: each may have hundreds of jobs, and these are parsed at a stretch.
    for (let from = 0; from < keys.length; from += LISTS) {
      const some = keys.slice(from, from + LISTS);
      const found = await valuesOf(this.connection, some).catch((error: unknown) =>
        Promise.reject(failure(error)),
      );
      for (const list of found) {
        const jobs = list === null ? [] : readable(list, isJobs);
        if (jobs === undefined) onUnreadable?.();
        lists.push(jobs ?? []);
      }
    }
    return lists;
  }
}

interface ToldBeat {
  readonly catalogue: string;
  readonly record: Omit<InstanceRecord, 'time' | 'jobs'>;
}

/** The record of an instance; `undefined` if it cannot be read. */
function beatOf(
  { instance, seenAt, facts }: { instance: string; seenAt: number; facts: string },
  read: ReturnType<typeof instanceReader>,
): ToldBeat | undefined {
  const told: (ToldInstance & { readonly catalogue?: string }) | undefined = read(facts);
  if (told === undefined) return undefined;
  const { catalogue = '' } = told;
  Reflect.deleteProperty(told, 'catalogue');
  // A copy of the object would parse its dates.
  return { catalogue, record: Object.assign(told, { instance, seenAt }) };
}
