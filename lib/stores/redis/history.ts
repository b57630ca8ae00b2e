import { randomUUID } from 'node:crypto';
import { noLongerThan, systemClock } from '../../base/clock.js';
import type { RunRecords } from '../../rules/entries/keeping.js';
import type {
  Alarm,
  Beat,
  BeatResult,
  HistoryEntry,
  HistoryQuery,
  HistoryStore,
  InstanceRecord,
  Interruption,
  Miss,
  MissResult,
} from '../../contract/history-store.js';
import { ENTRIES, MISS, TOLD, PROBE_INSTANCES, PROBE_RUNS, RECORD_BAD } from './history-scripts.js';
import { historyKeys, instanceKeys } from './keys.js';
import type { LeaseCommands } from './lease-commands.js';
import { LockLooks } from './lock-looks.js';
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
import { unusedKeys } from './probe.js';
import { failure, RedisReplyError, runScript } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { RedisRegistry } from './registry.js';
import { RedisRunRecords } from './run-records.js';
import { isYes } from './replies.js';
import type { Script } from './script.js';

/** How long a shutdown waits for records, ms: a server that is frozen must not hold it up. */
const CLOSE_LIMIT = 2_000;
/** How many entries of failed runs and of misses to read, whatever the limit: the limit counts each kind separately. */
const LOOKED_AT = 1_000;

/** Of more entries than this, those of one lock are read in a command of their own. */
const FEW = 100;

/** Histories in Redis: see history-scripts.ts. */
export class RedisHistory implements HistoryStore, RunRecords {
  readonly #records: RedisRunRecords;
  readonly #looks: LockLooks;
  readonly #known = new KnownHistories();
  readonly #registry: RedisRegistry;

  /**
   * @param key of the instances; in a Cluster its slot differs from that of any lock
   * @param rights the command that gives the user all rights that are needed
   */
  constructor(
    private readonly connection: RedisConnection,
    private readonly commands: LeaseCommands,
    private readonly key: string,
    private readonly rights: () => string,
  ) {
    this.#records = new RedisRunRecords(connection, commands);
    this.#looks = new LockLooks(commands, ENTRIES);
    this.#registry = new RedisRegistry(
      connection,
      () => this.#instanceKeys(),
      (script, keys, args) => this.#run(script, keys, args),
    );
  }

  async init(): Promise<string | undefined> {
    // Nothing has this name, so its keys are unused.
    const unused = `probe-${randomUUID()}`;
    const { instances, seen, list } = this.#instanceKeys(`${this.key}:${unused}`);
    const probes = [this.#probe(PROBE_INSTANCES, [instances, seen, list(unused)])];
    const keys = unusedKeys(this.commands);
    if (keys !== undefined) probes.push(this.#probe(PROBE_RUNS, ENTRIES.keys.of(keys)));
    const answers = await Promise.all(probes);
    const denied = answers.flatMap((answer) => (typeof answer === 'string' ? [] : answer));
    const refusal = answers.find((answer) => typeof answer === 'string');
    if (denied.length > 0) {
      return `the Redis user may not run ${denied.join(', ')}, which histories need. Give it what it needs (docs/stores/redis.md): ${this.rights()}`;
    }
    return refusal;
  }

  ended(...run: Parameters<RunRecords['ended']>): void {
    this.#records.ended(...run);
  }

  flush(): Promise<void> {
    return this.#records.flush();
  }

  /** Writes the records that still wait, if the server answers. */
  async close(): Promise<void> {
    await noLongerThan(CLOSE_LIMIT, this.flush(), systemClock);
  }

  async interrupted(run: Interruption): Promise<void> {
    const { bad } = this.#keys(run.name);
    await this.#run(RECORD_BAD.one, [bad], runArguments(run, 'interrupted', run));
  }

  async entries({ name, limit, onUnreadable }: HistoryQuery): Promise<HistoryEntry[]> {
    await this.#records.flush();
    // Redis answers a count of 0 with no list at all.
    let found = await this.#look(name, Math.max(limit, 1));
    if (found.isCut && mayHaveEnded(newest(found.all, limit), found.all))
      found = await this.#look(name, Math.max(limit, LOOKED_AT));
    for (let n = 0; n < found.unreadable; n++) onUnreadable?.();
    return newest(found.all, limit).map(({ entry }) => entry);
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

  beat(beat: Beat): Promise<BeatResult> {
    return this.#registry.beat(beat);
  }

  instances(onUnreadable?: () => void, isDated?: (instance: string) => boolean): Promise<InstanceRecord[]> {
    return this.#registry.instances(onUnreadable, isDated);
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
    const [lock, state] = this.commands.keys(name);
    const [runs, bad] = historyKeys(state);
    return { lock, state, runs, bad };
  }

  #instanceKeys(key = this.key) {
    return instanceKeys(key, this.connection.keyPrefix);
  }
}
