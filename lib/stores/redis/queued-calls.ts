import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../clock.js';
import { SchedulerLockConfigError } from '../../errors.js';
import type { RunRecords } from '../../store/side/keeping.js';
import {
  LOOK_FOR_QUEUED,
  type CallOptions,
  type DeadLetter,
  type DeliveredCall,
  type Enqueued,
  type QueuedCallStore,
  type LeftCalls,
  type NewQueuedCall,
  type NextOptions,
  type NextResult,
} from '../queued-call-store.js';
import type { LeaseRef, ReleaseOutcome } from '../lock-store.js';
import type { LockInfo } from '../lock-info.js';
import {
  END_QUEUED_CALL,
  ENQUEUE,
  NEXT,
  PEEK,
  PEEKED_AT_ONCE,
  PROBE_QUEUED_CALLS,
  REDELIVER,
  SEE_QUEUED_CALLS,
} from './queued-call-scripts.js';
import { INDEX, INDEXED, INDEXED_AT_ONCE } from './queued-index-scripts.js';
import { queuedCallKeys } from './keys.js';
import type { LeaseCommands } from './lease-commands.js';
import { publish } from './hints.js';
import { LockLooks } from './lock-looks.js';
import { DENIED } from './advice.js';
import { failure, RedisReplyError, runScript } from './redis-client.js';
import { type Patience, tooLate } from './readiness.js';
import type { RedisConnection } from './redis-connection.js';
import type { Script } from './script.js';

/** How long a process waits until it notes again that a lock has queued calls, ms: shorter than notes are kept. */
const NOTED = 60_000;
/** How many locks are remembered as noted. A caller can make up a name per call. */
const MAX_NOTED = 10_000;

/** Queued calls in Redis: see queued-call-scripts.ts. */
export class RedisQueuedCalls implements QueuedCallStore {
  /** When a lock was noted to have queued calls, by its name, monotonic. */
  readonly #noted = new Map<string, number>();
  /** Locks without queued calls, as the last look has found. */
  #without: string[] = [];
  /** Where in the index the next look begins. */
  #from = 0;
  /** Of long queues: behind how many calls the next look goes on, by lock. */
  readonly #behind = new Map<string, number>();
  readonly #looks: LockLooks;

  /**
   * @param own `index`: key of the locks that may have queued calls; in a Cluster its slot differs from theirs. `channel`: the one that every
   *   process hears whose channel for hints is open. `records`: of the runs that have ended
   * @param rights the command that gives the user all rights that are needed
   */
  constructor(
    private readonly connection: RedisConnection,
    private readonly commands: LeaseCommands,
    private readonly own: { readonly index: string; readonly channel: string; readonly records: RunRecords },
    private readonly rights: () => string,
    private readonly clock: Clock = systemClock,
  ) {
    this.#looks = new LockLooks(commands, SEE_QUEUED_CALLS);
  }

  /** @throws SchedulerLockConfigError if a right is missing */
  async init(): Promise<void> {
    // No lock has this name, so its keys are unused.
    const { queue, calls } = this.#keys(`probe-${randomUUID()}`);
    const denied = (await this.#run(PROBE_QUEUED_CALLS, [queue, calls], [])) as string[];
    if (denied.length === 0) return;
    throw new SchedulerLockConfigError([
      `connection: the Redis user may not run ${denied.join(', ')}, which queued calls need (onHeld). Give it what it needs ` +
        `(docs/stores/redis.md): ${this.rights()}`,
    ]);
  }

  async enqueue(
    { name, id, job, key, args, priority, max, redeliver }: NewQueuedCall,
    { limit }: CallOptions = {},
  ): Promise<Enqueued> {
    const { queue, calls } = this.#keys(name);
    const asked = this.clock.monotonic();
    const deadline = limit === undefined ? undefined : asked + limit;
    // Before the queued call: the list should name a lock too many rather than one too few.
    await this.#note(name, limit);
    const given = [id, job, key === undefined ? '' : `=${key}`, args, priority, max, redeliver].map(String);
    const left = deadline === undefined ? undefined : deadline - this.clock.monotonic();
    if (left !== undefined && left <= 0) throw tooLate();
    const answer = await this.#run(ENQUEUE, [queue, calls], given, { limit: left });
    if (!Array.isArray(answer)) return { queued: false };
    const [place, merged, kept = id, only] = answer as [unknown, unknown, string?, unknown?];
    if (Number(only) === 1) await this.#noteAgain(name, asked);
    return {
      queued: true,
      place: Number(place),
      merged: Number(merged),
      ...(kept !== id && { id: kept }),
    };
  }

  async next(lease: LeaseRef, { outcome, record, takes, limit }: NextOptions): Promise<NextResult> {
    const { name, token, fencingToken, holder, queuedCall = '' } = lease;
    const { lock, state, line, queue, calls, dead } = this.#keys(name);
    const ended = outcome === undefined ? ['', ''] : [queuedCall, outcome];
    const wanted = takes.flatMap(({ job, ttl }) => [job, String(ttl)]);
    const args = [token, String(fencingToken), holder, ...ended, ...wanted];
    const keys = [lock, state, line, queue, calls, dead];
    let result: NextResult | undefined;
    try {
      const answer = await this.#run(NEXT, keys, args, { limit });
      return (result = readNext(answer, this.clock.now()));
    } finally {
      if (outcome && record) this.own.records.ended(lease, { outcome, record }, result?.held !== true);
    }
  }

  /** The lease of a queued call is released. */
  async end(
    { name, token, queuedCall = '' }: LeaseRef,
    outcome: ReleaseOutcome,
    limit?: number,
  ): Promise<void> {
    const { queue, calls, dead } = this.#keys(name);
    await this.#run(END_QUEUED_CALL, [queue, calls, dead], [queuedCall, token, outcome], { limit });
  }

  async left(jobs: readonly string[]): Promise<LeftCalls[]> {
    const from = this.#from;
    const args = [String(from), ...this.#without];
    const names = (await this.#run(INDEXED, [this.own.index], args)) as string[];
    this.#from = names.length < INDEXED_AT_ONCE ? 0 : from + INDEXED_AT_ONCE;
    const looks = await Promise.all(names.map((name) => this.#peek(name, jobs)));
    this.#without = names.filter((_, i) => looks[i] === '');
    return names.flatMap((name, i) => {
      const place = Number(looks[i]);
      return looks[i] === '' || place === 0 ? [] : [{ name, place }];
    });
  }

  async redeliver(name: string, id?: string): Promise<number> {
    const { queue, calls, dead } = this.#keys(name);
    await this.#note(name);
    return Number(await this.#run(REDELIVER, [queue, calls, dead], [id ?? '']));
  }

  announce(): Promise<void> {
    return publish(this.connection, this.own.channel, LOOK_FOR_QUEUED);
  }

  /** The queued calls and dead letters of a lock, for people. */
  async see(name: string): Promise<Pick<LockInfo, 'queued' | 'dead'>> {
    const { queue, calls, dead } = this.#keys(name);
    const alone = (): Promise<unknown> =>
      runScript(this.connection, SEE_QUEUED_CALLS.one, 3, [queue, calls, dead]).catch((error: unknown) => {
        // A user who may not queue calls need not be allowed to see them.
        if (error instanceof RedisReplyError && DENIED.test(error.message)) return [0, []];
        throw failure(error);
      });
    const [queued, letters] = (await this.#looks.at(name, [], alone)) as [
      number,
      [id: string, info: string, at: string][],
    ];
    const count = Number(queued);
    const found = letters.flatMap(([id, info, at]) => letterOf(id, info, Number(at)));
    return {
      ...(count === 0 ? undefined : { queued: count }),
      ...(found.length === 0 ? undefined : { dead: found }),
    };
  }

  async #peek(name: string, jobs: readonly string[]): Promise<unknown> {
    const { lock, line, queue, calls } = this.#keys(name);
    const from = this.#behind.get(name) ?? 0;
    const answer = await this.#run(PEEK, [lock, line, queue, calls], [String(from), ...jobs]);
    const isMore = Number(answer) === -1;
    if (isMore) this.#behind.set(name, from + PEEKED_AT_ONCE);
    else this.#behind.delete(name);
    return isMore ? 0 : answer;
  }

  /** The server may have lost its data since the lock was noted. @param since what was noted after this time is there, monotonic */
  async #noteAgain(name: string, since: number): Promise<void> {
    if ((this.#noted.get(name) ?? since) >= since) return;
    this.#noted.delete(name);
    // The call is queued: the next one notes the lock, if this fails.
    await this.#note(name).catch(() => undefined);
  }

  async #note(name: string, limit?: number): Promise<void> {
    const now = this.clock.monotonic();
    if (now - (this.#noted.get(name) ?? -Infinity) < NOTED) return;
    await this.#run(INDEX, [this.own.index], [name], { limit });
    if (this.#noted.size >= MAX_NOTED) this.#noted.clear();
    this.#noted.set(name, now);
  }

  async #run(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    patience: Patience = {},
  ): Promise<unknown> {
    try {
      return await runScript(this.connection, script, keys.length, [...keys, ...args], patience);
    } catch (error) {
      throw failure(error);
    }
  }

  #keys(name: string) {
    const [lock, state, line] = this.commands.keys(name);
    const [queue, calls, dead] = queuedCallKeys(state);
    return { lock, state, line, queue, calls, dead };
  }
}

type Buried = [id: string, delivery: string, rest: string, reason: DeadLetter['reason']];

function readNext(reply: unknown, now: number): NextResult {
  const [kind, buried, detail = '', id = '', delivery, came, merged, rest = '', args = ''] = reply as [
    number,
    Buried[],
    ...string[],
  ];
  const dead = buried.map((letter) => readDead(letter, now));
  if (Number(kind) === 0) return { held: false, dead };
  if (Number(kind) === 1)
    return detail === '' ? { held: true, dead } : { held: true, dead, place: Number(detail) };
  const queuedCall: DeliveredCall = {
    id,
    ...jobAndKey(rest),
    args,
    delivery: Number(delivery),
    queuedAt: Number(came),
    merged: Number(merged),
  };
  return { held: true, queuedCall, fencingToken: Number(detail), dead };
}

/** @param info as queued-call-scripts.ts describes it */
function letterOf(id: string, info: string, at: number): DeadLetter[] {
  const [, delivery = '', reason = '', rest = ''] = /^(\d+) \d+ \d+ \d+ (\S+) \S+ (.*)$/s.exec(info) ?? [];
  return rest === '' ? [] : [readDead([id, delivery, rest, reason as DeadLetter['reason']], at)];
}

function readDead([id, delivery, rest, reason]: Buried, at: number): DeadLetter {
  return { id, ...jobAndKey(rest), deliveries: Number(delivery), reason, at };
}

function jobAndKey(rest: string): { job: string; key?: string } {
  const end = rest.indexOf('\n');
  const [job, key] = [rest.slice(0, end), rest.slice(end + 1)];
  return key === '' ? { job } : { job, key: key.slice(1) };
}
