import { randomUUID } from 'node:crypto';
import type { LockStore } from '../../../lib/index.js';
import type { AcquireRequest } from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import type { HistoryEntry, HistoryStore } from '../../../lib/contract/history-store.js';
import { HistoryModel, idOf, KEPT, type ModelRun } from './history-model.js';
import { type HistoryStep, jobsOf, TTL } from './history-steps.js';
import { RegistryModel } from './registry-model.js';
import { same, sorted } from './same.js';
import type { StoreSubject } from './store-subjects.js';

/** Ticks of long ago, so that no clock has a say in them. */
const TICK = 1_760_000_000_000;
const STEP = 3_600_000;
/** More than there are. */
const ALL = 1_000;
/** By how much a time of the store may differ from that of the model, ms: machines stand still. */
const SLACK = 3_600_000;

interface Held {
  readonly run: ModelRun;
  readonly ref: LeaseRef;
  /** How it has ended, as somebody has told: always the same, however often. */
  told?: { readonly outcome: HistoryStep['outcome']; readonly record: object | undefined };
}

/** Plays the steps on a store and on the model. */
export class HistoryPlay {
  readonly #model: HistoryModel;
  readonly #registry = new RegistryModel();
  readonly #name = `history-${randomUUID()}`;
  /** The newest first. */
  #leases: readonly Held[] = [];
  #count = 0;
  /** Whether the end of a run was told twice. */

  constructor(private readonly subject: StoreSubject) {
    this.#model = new HistoryModel();
  }

  async step(step: HistoryStep): Promise<void> {
    const { stores, isTimed } = this.subject;
    const store = stores[step.store % stores.length] ?? stores[0];
    // On a clock that is moved by hand nothing would be newer than anything else.
    if (!isTimed) await this.subject.age(this.#name, 1);
    const { what } = step;
    if (what === 'begin') return this.#begin(store, step);
    if (what === 'end') return this.#end(store, this.#leases[0], step);
    if (what === 'end late') return this.#end(store, this.#leases[step.pick], step);
    if (what === 'die') return this.#die();
    if (what === 'interrupted') return this.#interrupted(store, this.#leases[step.pick]);
    if (what === 'miss') return this.#miss(store, step);
    if (what === 'told') return this.#told(store, step);
    if (what === 'beat') return this.#beat(store, step);
    if (what === 'instances') return this.#instances(store);
    if (what === 'age') return this.#age(step);
    return this.#look(store, step.pick);
  }

  /** At last, what is too much has to be gone. */
  async end(): Promise<void> {
    const [store] = this.subject.stores;
    await this.#look(store, 1);
    await this.#instances(store);
    await this.subject.settle();
    const completed = (await this.#entries(store)).filter(
      (entry) => entry.type === 'run' && entry.outcome === 'completed',
    );
    if (this.subject.trims && completed.length > KEPT.count)
      throw new Error(`${completed.length} runs that completed are kept`);
    await this.#look(store, 1);
  }

  async #begin(store: LockStore, { job, tick: ahead, store: index }: HistoryStep): Promise<void> {
    const { starts, isTaken, interrupted } = this.#model;
    const tick = ahead === undefined ? undefined : this.#tick(job, ahead);
    const request: AcquireRequest = {
      name: this.#name,
      token: randomUUID(),
      ttl: TTL,
      holder: `host-${index}`,
      job,
      history: true,
      ...(tick !== undefined && { tick }),
    };
    const refused = isTaken || starts.refusal(request) !== undefined;
    const answer = await store.acquire(request);
    same('acquire', answer.acquired, !refused);
    if (!answer.acquired) return;
    // A store may leave out the first one.
    const { fencingToken, attempt = tick === undefined ? undefined : 1 } = answer;
    if (interrupted !== undefined) same('interrupted', told(answer.interrupted), told(interrupted));
    starts.begin(request);
    const { token, holder } = request;
    const run: ModelRun = { token, holder, job, tick, attempt, fencingToken };
    this.#model.begin(run);
    const { history: _history, ...own } = request;
    const ref = { ...own, fencingToken, ...(attempt !== undefined && { attempt }) } as LeaseRef;
    this.#leases = [{ run, ref }, ...this.#leases];
  }

  async #end(store: LockStore, held: Held | undefined, step: HistoryStep): Promise<void> {
    if (held === undefined || this.#model.isUnsure(idOf(held.run))) return;
    const told = (held.told ??= {
      outcome: step.outcome,
      record: step.recorded ? this.#record() : undefined,
    });
    const { outcome, record } = told;
    const keepFor = step.flag ? TTL : 0;
    const again = outcome === 'failed' && step.again;
    const expected = this.#model.release(held.run, told, keepFor > 0, again);
    const answer = await store.release(held.ref, {
      outcome,
      keepFor,
      ...(again && { retryIn: 0 }),
      ...(record && {
        record: {
          kept: KEPT,
          duration: 0,
          ...record,
        },
      }),
    });
    same('release', answer.released, expected);
    // Where records come a little later, one that is told of after this would come first.
    await historyOf(store).entries({ name: this.#name, limit: 0 });
  }

  #record(): object {
    const n = ++this.#count;
    return {
      duration: n,
      ...(n % 2 === 0 && { error: `error ${n}` }),
      ...(n % 3 === 0 && { traceId: `trace ${n}` }),
    };
  }

  async #die(): Promise<void> {
    if (!this.#model.expire()) return;
    await this.subject.expire(this.#name);
    // A clock that is moved by hand moves for all that is remembered.
    if (!this.subject.isTimed) this.#passed(TTL);
  }

  #passed(ms: number): void {
    this.#model.now += ms;
    this.#registry.now += ms;
  }

  async #interrupted(store: LockStore, held: Held | undefined): Promise<void> {
    if (held === undefined || this.#model.isLive(held.run) || this.#model.isUnsure(idOf(held.run))) return;
    this.#model.interrupt(held.run);
    const { name, fencingToken, holder, job, tick, attempt } = held.ref;
    const start = { ...(tick !== undefined && { tick }), ...(attempt !== undefined && { attempt }) };
    await historyOf(store).interrupted({ name, fencingToken, holder, job: job ?? '', ...start, kept: KEPT });
  }

  async #miss(
    store: LockStore,
    { job, tick: ahead = 1, store: index, flag: late, pick }: HistoryStep,
  ): Promise<void> {
    const tick = this.#tick(job, ahead);
    const instance = `host-${index}`;
    if (this.#model.isUnsure(`miss ${job} ${tick} ${instance}`)) return;
    const facts = { reason: 'held', count: pick + 1, ...(pick > 1 && { holder: 'other', since: TICK }) };
    const expected = this.#model.miss({ job, tick, instance, late, facts });
    const answer = await historyOf(store).miss({
      name: this.#name,
      job,
      tick,
      instance,
      kept: KEPT,
      late,
      ...facts,
    });
    same('miss: missed', answer.missed, expected.missed);
    if (answer.missed) same('miss: tick', answer.tick, tick);
  }

  async #told(store: LockStore, { job, tick: ahead = 1 }: HistoryStep): Promise<void> {
    const tick = this.#tick(job, ahead);
    const expected = this.#model.tell(job, tick);
    const answer = await historyOf(store).told({ name: this.#name, job, tick, kept: KEPT });
    if (expected !== undefined) same('told', answer, expected);
  }

  #tick(job: string, ahead: number): number {
    return (this.#model.starts.last({ job }).tick ?? TICK) + ahead * STEP;
  }

  async #beat(store: LockStore, { store: index, pick, flag: left, recorded }: HistoryStep): Promise<void> {
    const n = ++this.#count;
    const known = {
      instance: `${this.#name} ${index}`,
      startedAt: TICK,
      every: 3e4,
      leads: n % 2 === 0 ? ['main'] : [],
      catalogue: `${this.#name} list ${pick}`,
      next: [TICK + n, null],
      last: [null, TICK],
      left,
      ...(n % 3 === 0 && {
        version: `1.${n}`,
        clockOffset: -n,
      }),
    };
    const isBrief = recorded && n % 2 === 0;
    const beat = recorded ? known : { ...known, jobs: jobsOf(pick) };
    const ofFull = (): boolean | undefined => (recorded ? this.#registry.knows(beat) : true);
    const expected = isBrief ? this.#registry.knowsBeat(beat) : ofFull();
    const answer = await historyOf(store).beat(isBrief ? { ...beat, brief: true } : beat);
    if (expected !== undefined) same('beat: known', answer.known, expected);
    // Then it comes again: a brief one in full, as the next one is; else with the list.
    if (!answer.known)
      return this.#beat(store, { store: index, pick, flag: left, recorded: isBrief } as HistoryStep);
    this.#registry.beat(beat);
  }

  async #instances(store: LockStore): Promise<void> {
    const found = (await historyOf(store).instances()).filter(({ instance }) =>
      instance.startsWith(this.#name),
    );
    const expected = this.#registry.seen();
    const told = found.map(({ seenAt: _seenAt, time: _time, ...facts }) => sorted(facts)).toSorted();
    const own = expected.map(({ beat: { catalogue: _catalogue, ...facts }, jobs }) =>
      sorted({ ...facts, jobs }),
    );
    same('instances', told, own.toSorted());
    for (const { beat, ago } of expected) {
      const { seenAt = NaN, time = NaN } = found.find(({ instance }) => instance === beat.instance) ?? {};
      if (!(Math.abs(time - seenAt - ago) < SLACK))
        throw new Error(`seen ${time - seenAt} ms ago, not ${ago}`);
    }
  }

  async #age({ ms }: HistoryStep): Promise<void> {
    // Where only time as a whole can be moved, a lease is over then.
    await this.#die();
    await this.#flush();
    await this.subject.age(this.#name, ms);
    this.#passed(ms);
  }

  async #look(store: LockStore, limit: number): Promise<void> {
    const all = await this.#entries(store);
    const { entries } = this.#model;
    const expected = entries.map(({ facts }) => sorted({ ...facts, lock: this.#name }));
    const found = all.map(({ at, ...facts }) => ({ at, index: expected.indexOf(sorted(facts)), facts }));
    const wrong = found.find(
      ({ index }, i) => index < 0 || found.findIndex((one) => one.index === index) < i,
    );
    if (wrong !== undefined)
      throw new Error(`entries: ${sorted(wrong)} should not be told, only ${expected.join()}`);
    const isTold = (i: number): boolean => found.some(({ index }) => index === i);
    for (const [i, entry] of entries.entries()) {
      if (this.#model.isSure(entry) && !isTold(i)) throw new Error(`entries: ${expected[i]} is missing`);
      if (!this.#model.isPossible(entry) && isTold(i)) throw new Error(`entries: ${expected[i]} is too old`);
    }
    const times = found.map(({ at }) => at);
    same(
      'entries: at',
      times,
      times.toSorted((one, other) => other - one),
    );
    // Which of two of one millisecond came first not every store can tell.
    const order = found.toSorted((one, other) => other.at - one.at || one.index - other.index);
    const indexes = order.map(({ index }) => index);
    same(
      'entries: order',
      indexes,
      indexes.toSorted((one, other) => one - other),
    );
    const left = { run: limit, miss: limit };
    const some = all.filter(({ type }) => --left[type] >= 0);
    same(`entries: ${limit}`, await historyOf(store).entries({ name: this.#name, limit }), some);
  }

  async #entries(store: LockStore): Promise<HistoryEntry[]> {
    await this.#flush();
    return historyOf(store).entries({ name: this.#name, limit: ALL });
  }

  /** Whoever asks has his own records kept, where they come a little later. */
  async #flush(): Promise<void> {
    for (const store of this.subject.stores) await historyOf(store).entries({ name: this.#name, limit: 0 });
  }
}

const historyOf = ({ history }: LockStore): HistoryStore => {
  if (history === undefined) throw new Error('no history');
  return history;
};

/** What a grant says of the lease before. */
const told = (
  run: { readonly [K in keyof ModelRun]?: ModelRun[K] | undefined } | null | undefined,
): unknown => {
  if (run === null || run === undefined) return null;
  const { fencingToken, holder, job, tick, attempt } = run;
  return { fencingToken, holder, job, tick, attempt };
};
