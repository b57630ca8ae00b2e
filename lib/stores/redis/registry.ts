import type { Beat, BeatResult, InstanceRecord, KnownJob } from '../../contract/history-store.js';
import { instanceReader, isJobs, readable, readEach, type ToldInstance } from '../../contract/readable.js';
import { BEAT, FACTS, INSTANCES } from './history-scripts.js';
import type { instanceKeys } from './keys.js';
import { failure, type Connection, valuesOf } from './redis-client.js';
import { isYes } from './replies.js';
import type { Script } from './script.js';

/** How many instances to read in one command: each has dates of all its jobs, and neither side does anything else meanwhile. */
const BATCH_SIZE = 25;
/** How many lists of jobs to read in one command: they are longer. */
const LISTS = 5;

/** The instances of a fleet in Redis, with the jobs that they know: see history-scripts.ts. */
export class RedisRegistry {
  /** The list of jobs that the store has for each instance of this process. */
  readonly #had = new Map<string, string>();
  /**
   * Instances as they were read last, without dates. One that was not seen since is the same, whatever else becomes of its record: most are
   * not up any more.
   */
  #known: ReadonlyMap<string, ToldBeat> = new Map();
  /** The lists that were read last. A list never changes: its name is made from it. */
  #lists: ReadonlyMap<string, KnownJob[]> = new Map();

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

  async instances(
    onUnreadable?: () => void,
    isDated: (instance: string) => boolean = () => true,
  ): Promise<InstanceRecord[]> {
    const { instances, seen, list } = this.keys();
    const [time, ...found] = (await this.run(INSTANCES, [seen], [])) as string[];
    const all: Sight[] = [];
    for (let n = 0; n < found.length; n += 2)
      all.push({ instance: found[n] ?? '', seenAt: Number(found[n + 1]) });
    const dated = await this.#read(
      instances,
      all.filter(({ instance }) => isDated(instance)),
      { onUnreadable },
    );
    const undated = new Map(all.flatMap((each) => this.#unchanged(each)));
    const others = all.filter(({ instance }) => !isDated(instance) && !undated.has(instance));
    for (const [instance, { catalogue, record }] of await this.#read(instances, others, {
      brief: true,
      onUnreadable,
    }))
      undated.set(instance, { catalogue, record: { ...record } });
    // One that was seen in this millisecond may be seen again in it.
    this.#known = new Map([...undated].filter(([, { record }]) => record.seenAt < Number(time)));
    const told = all.flatMap(({ instance }) => (isDated(instance) ? dated : undated).get(instance) ?? []);
    const lists = await this.#listsOf(new Set(told.map(({ catalogue }) => catalogue)), list, onUnreadable);
    const none: KnownJob[] = [];
    return told.map(({ catalogue, record }) => {
      const more = { time: Number(time), jobs: lists.get(catalogue) ?? none };
      // A copy parses the dates, and what has none is kept for the next look.
      return dated.has(record.instance) ? Object.assign(record, more) : { ...record, ...more };
    });
  }

  /** What is known of an instance that was not seen since: at most one. */
  #unchanged({ instance, seenAt }: Sight): [string, ToldBeat][] {
    const known = this.#known.get(instance);
    return known?.record.seenAt === seenAt ? [[instance, known]] : [];
  }

  /** The records of these instances, by their ids. */
  async #read(
    key: string,
    sights: readonly Sight[],
    {
      brief = false,
      onUnreadable,
    }: { readonly brief?: boolean; readonly onUnreadable: (() => void) | undefined },
  ): Promise<Map<string, ToldBeat>> {
    const read = instanceReader();
    const told = new Map<string, ToldBeat>();
    for (let from = 0; from < sights.length; from += BATCH_SIZE) {
      const some = sights.slice(from, from + BATCH_SIZE);
      const ids = some.map(({ instance }) => instance);
      const answers = (await this.run(FACTS, [key], [brief ? '1' : '', ...ids])) as string[];
      const kept = some.flatMap((sight, n) => (answers[n] ? [{ ...sight, facts: answers[n] }] : []));
      for (const each of readEach(kept, (beat) => beatOf(beat, read), onUnreadable))
        told.set(each.record.instance, each);
    }
    return told;
  }

  /** The lists with these names. One that is missing or unreadable is not in the answer. */
  async #listsOf(
    names: ReadonlySet<string>,
    key: (name: string) => string,
    onUnreadable: (() => void) | undefined,
  ): Promise<ReadonlyMap<string, KnownJob[]>> {
    const lists = new Map([...this.#lists].filter(([name]) => names.has(name)));
    const wanted = [...names].filter((name) => !lists.has(name));
    // A few at a time: each may have hundreds of jobs, and these are parsed at a stretch.
    for (let from = 0; from < wanted.length; from += LISTS) {
      const some = wanted.slice(from, from + LISTS);
      const found = await valuesOf(this.connection, some.map(key)).catch((error: unknown) =>
        Promise.reject(failure(error)),
      );
      for (const [n, name] of some.entries()) {
        const text = found[n] ?? null;
        const jobs = text === null ? [] : readable(text, isJobs);
        if (jobs === undefined) onUnreadable?.();
        else if (text !== null) lists.set(name, jobs);
      }
    }
    return (this.#lists = lists);
  }
}

/** An instance, and when it was seen last, epoch ms. */
interface Sight {
  readonly instance: string;
  readonly seenAt: number;
}

interface ToldBeat {
  readonly catalogue: string;
  readonly record: Omit<InstanceRecord, 'time' | 'jobs'>;
}

/** The record of an instance; `undefined` if it cannot be read. */
function beatOf(
  { instance, seenAt, facts }: Sight & { readonly facts: string },
  read: ReturnType<typeof instanceReader>,
): ToldBeat | undefined {
  const told: (ToldInstance & { readonly catalogue?: string }) | undefined = read(facts);
  if (told === undefined) return undefined;
  const { catalogue = '' } = told;
  Reflect.deleteProperty(told, 'catalogue');
  // A copy of the object would parse its dates.
  return { catalogue, record: Object.assign(told, { instance, seenAt }) };
}
