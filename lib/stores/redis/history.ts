import { randomUUID } from 'node:crypto';
import type {
  Alarm,
  Beat,
  BeatResult,
  HistoryEntry,
  HistoryQuery,
  HistoryStore,
  InstanceRecord,
  Interruption,
  KnownJob,
  Miss,
  MissResult,
} from '../history-store.js';
import {
  ADD_ENTRY,
  BEAT,
  ENTRIES,
  FACTS,
  INSTANCES,
  MISS,
  TOLD,
  PROBE_INSTANCES,
  PROBE_RUNS,
} from './history-scripts.js';
import { instanceReader, isJobs, readable, readEach, type ToldInstance } from '../readable.js';
import { historyKeys, instanceKeys } from './keys.js';
import type { LeaseScripts } from './lease-scripts.js';
import { LockLooks } from './lock-looks.js';
import { failure } from './lease-call.js';
import { KnownHistories } from './known-histories.js';
import {
  entriesIn,
  mayHaveEnded,
  missArguments,
  newest,
  runArguments,
  type Streams,
  streamsIn,
} from './records.js';
import { DENIED } from './advice.js';
import { RedisReplyError, runScript, valuesOf } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { isYes } from './replies.js';
import type { Script } from './script.js';

/** How many entries of failed runs and of misses to read, whatever the limit: the limit counts each kind separately. */
const LOOKED_AT = 1_000;

/** Of more entries than this, those of one lock are read in a command of their own. */
const FEW = 100;

/** How many instances to read in one command: each has dates of all its jobs, and neither side does anything else meanwhile. */
const AT_ONCE = 25;
/** The same for lists of jobs. */
const LISTS = 5;

/** Histories in Redis: see history-scripts.ts. A release keeps the record of its run itself. */
export class RedisHistory implements HistoryStore {
  /** The list of jobs that the store has for each instance of this process. */
  readonly #had = new Map<string, string>();
  readonly #looks: LockLooks;
  readonly #known = new KnownHistories();

  /**
   * @param key of the instances; in a Cluster its slot differs from that of any lock
   * @param rights the command that gives the user all rights that are needed
   */
  constructor(
    private readonly connection: RedisConnection,
    private readonly scripts: LeaseScripts,
    private readonly key: string,
    private readonly rights: () => string,
  ) {
    this.#looks = new LockLooks(scripts, ENTRIES);
  }

  async init(): Promise<string | undefined> {
    // Nothing has these names, so their keys are unused.
    const unused = `probe-${randomUUID()}`;
    const { instances, seen, list } = this.#instanceKeys(`${this.key}:${unused}`);
    const probes = [this.#probe(PROBE_INSTANCES, [instances, seen, list(unused)])];
    // A `key` function of the user need not support this name.
    const streams = this.#streamsOf(unused);
    if (streams !== undefined) probes.push(this.#probe(PROBE_RUNS, streams));
    const answers = await Promise.all(probes);
    const denied = answers.flatMap((answer) => (typeof answer === 'string' ? [] : answer));
    const refusal = answers.find((answer) => typeof answer === 'string');
    if (denied.length > 0) {
      return `the Redis user may not run ${denied.join(', ')}, which histories need. Give it what it needs (docs/stores/redis.md): ${this.rights()}`;
    }
    return refusal;
  }

  async interrupted(run: Interruption): Promise<void> {
    const { bad } = this.#keys(run.name);
    await this.#run(ADD_ENTRY, [bad], runArguments(run, 'interrupted', run));
  }

  async entries({ name, limit, onUnreadable }: HistoryQuery): Promise<HistoryEntry[]> {
    // Redis answers a count of 0 with no list at all.
    let found = await this.#look(name, Math.max(limit, 1));
    if (found.isCut && mayHaveEnded(newest(found.all, limit), found.all))
      found = await this.#look(name, Math.max(limit, LOOKED_AT));
    for (let n = 0; n < found.unreadable; n++) onUnreadable?.();
    return newest(found.all, limit);
  }

  /** @param count how many completed runs to read. There may be more if the answer is cut. */
  async #look(name: string, count: number) {
    const { runs, bad } = this.#keys(name);
    const of = `${count} ${name}`;
    const known = this.#known.get(of);
    const counts = [count, Math.max(count, LOOKED_AT)].map(String);
    const args = [...counts, known?.runs.newest ?? '', known?.bad.newest ?? ''];
    const alone = (): Promise<unknown> => this.#run(ENTRIES.one, [runs, bad], args);
    const answer = (await (count > FEW ? alone() : this.#looks.at(name, args, alone))) as Streams;
    const read = streamsIn(name, answer, known);
    this.#known.set(of, read);
    let unreadable = 0;
    const all = entriesIn(read, answer, () => (unreadable += 1));
    return { all, unreadable, isCut: read.runs.entries.length >= count };
  }

  async miss(miss: Miss): Promise<MissResult> {
    const { lock, state, bad } = this.#keys(miss.name);
    const { job, tick, grace = 0, late = false } = miss;
    const args = [job, String(tick), String(grace), ...missArguments(miss), late ? '1' : ''];
    const [missed, first, due] = (await this.#run(MISS, [lock, state, bad], args)) as [
      number,
      number,
      string,
    ];
    return { missed: isYes(missed), first: isYes(first), tick: Number(due) };
  }

  async told({ name, job, tick, kept }: Alarm): Promise<boolean> {
    const args = [job, String(tick), String(kept.age)];
    return isYes(await this.#run(TOLD, [this.#keys(name).state], args));
  }

  async beat({ instance, jobs, next, last, ...facts }: Beat): Promise<BeatResult> {
    const { instances, seen, list } = this.#instanceKeys();
    const { catalogue, left } = facts;
    const old = this.#had.get(instance) ?? catalogue;
    const had = old === catalogue ? '' : JSON.stringify({ catalogue: old }).slice(1, -1);
    // The dates come last, so that the server can leave them out.
    const told = JSON.stringify({ ...facts, next, last });
    const args = [instance, told, jobs === undefined ? '' : JSON.stringify(jobs), had];
    const answer = await this.#run(BEAT, [instances, seen, list(catalogue), list(old)], args);
    if (left) this.#had.delete(instance);
    else this.#had.set(instance, catalogue);
    const [time, known] = answer as [string, number];
    return { time: Number(time), known: isYes(known) };
  }

  async instances(onUnreadable?: () => void, brief = false): Promise<InstanceRecord[]> {
    const { instances, seen, list } = this.#instanceKeys();
    const [time, ...found] = (await this.#run(INSTANCES, [seen], [])) as string[];
    const read = instanceReader();
    const told: ToldBeat[] = [];
    for (let from = 0; from < found.length; from += 2 * AT_ONCE) {
      const some = found.slice(from, from + 2 * AT_ONCE);
      const ids = some.filter((_, n) => n % 2 === 0);
      const facts = (await this.#run(FACTS, [instances], [brief ? '1' : '', ...ids])) as string[];
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

  /** The commands that the user may not run, or why the user may run none on these keys. */
  async #probe(script: Script, keys: readonly string[]): Promise<string[] | string> {
    try {
      return (await runScript(this.connection, script, keys.length, keys)) as string[];
    } catch (error) {
      if (!(error instanceof RedisReplyError) || !DENIED.test(error.message)) throw failure(error);
      return `Redis refused the scripts of histories: ${error.message}. The keys tried were "${keys.join('", "')}". Give the user what it needs (docs/stores/redis.md): ${this.rights()}`;
    }
  }

  async #run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await runScript(this.connection, script, keys.length, [...keys, ...args]);
    } catch (error) {
      if (!(error instanceof RedisReplyError) || !DENIED.test(error.message)) throw failure(error);
      // The error of Redis does not always name the command.
      throw failure(
        new RedisReplyError(
          `${error.message}. Histories need more than locks. Give the user what it needs (docs/stores/redis.md): ${this.rights()}`,
        ),
      );
    }
  }

  #keys(name: string) {
    const [lock, state] = this.scripts.keys(name);
    const [runs, bad] = historyKeys(state);
    return { lock, state, runs, bad };
  }

  #streamsOf(name: string): string[] | undefined {
    try {
      const { runs, bad } = this.#keys(name);
      return [runs, bad];
    } catch {
      return undefined;
    }
  }

  #instanceKeys(key = this.key) {
    return instanceKeys(key, this.connection.keyPrefix);
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
