import { randomUUID } from 'node:crypto';
import type { LockStore, ReleaseOutcome } from '../../../lib/index.js';
import type { AcquireRequest } from '../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import type { NewQueuedCall, NextResult, QueuedCallStore } from '../../../lib/contract/queued-call-store.js';
import { type ModelLease, type ModelNext, type ModelQueuedCall, QueueModel } from './queue-model.js';
import { JOBS, type QueueStep } from './queue-steps.js';
import { same } from './same.js';
import { HOUR, type StoreSubject } from './store-subjects.js';

/** How many queued calls a lock may have. */
const MAX = 4;
/** After so long, ms, the time of one that is called may be over: then a machine stood still, and the model knows nothing. */
const LATE = 1_500;
/** A lease, and how its run has ended, as somebody has told. */
interface Held {
  readonly model: ModelLease;
  readonly ref: LeaseRef;
  told?: ReleaseOutcome;
}

interface Waiter {
  readonly id: number;
  readonly token: string;
  readonly priority: number;
  readonly order?: number;
  readonly place?: number;
}

/** Plays the steps on a store and on the model. */
export class QueuePlay {
  readonly #model = new QueueModel();
  readonly #name = `queue-${randomUUID()}`;
  /** The newest first. */
  #leases: readonly Held[] = [];
  readonly #waiters = new Map<number, Waiter>();
  readonly #places = new Map<string, number>();
  #last: NewQueuedCall | undefined;
  #newest = 0;
  #count = 0;
  /** Since when one is called. */
  #calledAt: number | undefined;
  #isOver = false;

  /** @param inspects whether its `inspect` tells of queued calls */
  constructor(
    private readonly subject: StoreSubject,
    private readonly inspects = true,
  ) {}

  async step(step: QueueStep): Promise<void> {
    if (this.#isOver) return;
    const { stores } = this.subject;
    await this.subject.tick?.();
    const began = Date.now();
    try {
      await this.#do(step, stores[step.store % stores.length] ?? stores[0]);
    } catch (error) {
      if (!this.#isLate()) throw error;
    }
    // The time of the one that is called may have passed in this step, or passes before the next.
    this.#isOver = this.#isLate();
    this.#calledAt = this.#model.line.called === undefined ? undefined : (this.#calledAt ?? began);
  }

  #isLate(): boolean {
    return this.subject.isTimed && this.#calledAt !== undefined && Date.now() - this.#calledAt > LATE;
  }

  async #do(step: QueueStep, store: LockStore): Promise<void> {
    const { what } = step;
    if (what === 'queue') return this.#queue(store, this.#newCall(step));
    if (what === 'queue again') return this.#queueAgain(store);
    if (what === 'take') return this.#take(store);
    if (what === 'next') return this.#next(store, this.#current(), step);
    if (what === 'next late') return this.#next(store, this.#leases[step.pick], step);
    if (what === 'release') return this.#release(store, this.#current(), step);
    if (what === 'release late') return this.#release(store, this.#leases[step.pick], step);
    if (what === 'die') return this.#model.expire() ? this.subject.expire(this.#name) : undefined;
    if (what === 'redeliver')
      return same('redeliver', await queueOf(store).redeliver(this.#name), this.#model.redeliver());
    if (what === 'look') return this.#look(store);
    if (what === 'leave') return this.#leave(store, step);
    return this.#wait(store, step);
  }

  #newCall({ job, key, priority, redeliver }: QueueStep): NewQueuedCall {
    const args = JSON.stringify([++this.#count]);
    const call = {
      name: this.#name,
      id: randomUUID(),
      job: JOBS[job] ?? '',
      args,
      priority,
      max: MAX,
      redeliver,
    };
    return key === undefined ? call : { ...call, key };
  }

  async #queue(store: LockStore, call: NewQueuedCall): Promise<void> {
    this.#last = call;
    const expected = this.#model.enqueue(call);
    const answer = await queueOf(store).enqueue(call);
    same('enqueue', answer.queued, expected !== undefined);
    if (!answer.queued || expected === undefined) return;
    same('enqueue: merged', answer.merged, expected.merged);
    same('enqueue: place', answer.place, this.#places.get(expected.id) ?? answer.place);
    this.#places.set(expected.id, answer.place);
    const places = this.#model.queued.map(({ id }) => this.#places.get(id) ?? NaN);
    same(
      'enqueue: places',
      places,
      places.toSorted((one, other) => one - other),
    );
  }

  /** Not one that became one with another: nobody knows its id. */
  async #queueAgain(store: LockStore): Promise<void> {
    const call = this.#last;
    if (call !== undefined && this.#model.queued.some(({ id }) => id === call.id))
      await this.#queue(store, call);
  }

  async #take(store: LockStore): Promise<void> {
    const request = this.#request(randomUUID());
    const expected = this.#model.line.askOnce();
    const answer = await store.acquire(request);
    same('acquire', answer.acquired, expected);
    if (answer.acquired) this.#granted(request, answer.fencingToken);
  }

  #granted({ wait: _wait, ...request }: AcquireRequest, fencingToken: number): void {
    this.#model.granted(request.token);
    this.#keep({ token: request.token, number: 0 }, { ...request, fencingToken });
  }

  #keep(model: ModelLease, ref: LeaseRef): void {
    if (ref.fencingToken <= this.#newest) throw new Error('the fencing token does not grow');
    this.#newest = ref.fencingToken;
    this.#leases = [{ model, ref }, ...this.#leases];
  }

  #current(): Held | undefined {
    const { holder } = this.#model;
    return this.#leases.find(
      ({ model: { token, number } }) => token === holder?.token && number === holder.number,
    );
  }

  async #next(store: LockStore, held: Held | undefined, { outcome, takes }: QueueStep): Promise<void> {
    if (held === undefined || (this.#hasAgain(held) && !this.#isLive(held))) return;
    const { model, ref } = held;
    const ended = this.#endOf(held, outcome);
    const expected = this.#model.next(model, ended, takes);
    const answer = await queueOf(store).next(ref, {
      ...(ended && { outcome: ended }),
      takes: takes.map((job) => ({ job, ttl: HOUR })),
    });
    this.#compare(answer, expected);
    if (answer.queuedCall === undefined || expected.lease === undefined) return;
    const { fencingToken, queuedCall } = answer;
    const known = this.#leases.find(
      ({ model: { token, number } }) => token === expected.lease?.token && number === expected.lease.number,
    );
    if (known !== undefined) return same('next again: fencing token', fencingToken, known.ref.fencingToken);
    this.#keep(expected.lease, { ...ref, fencingToken, job: queuedCall.job, queuedCall: queuedCall.id });
  }

  /** What is told of the end of a run: always the same, however often. */
  #endOf(held: Held, outcome: ReleaseOutcome): ReleaseOutcome | undefined {
    if (held.model.queuedCall === undefined) return undefined;
    return (held.told ??= outcome);
  }

  #compare(answer: NextResult, { held, lease, behind, dead }: ModelNext): void {
    same('next: held', answer.held, held);
    same('next: dead letters', answer.dead.map(({ id }) => id).toSorted(), dead.toSorted());
    const { id, job, key, args, delivery, merged } = answer.queuedCall ?? {};
    const got = id === undefined ? undefined : { id, job, key, args, delivery, merged };
    same('next: queued call', got, told(this.#model.find(lease?.queuedCall)));
    const place = 'place' in answer ? answer.place : undefined;
    same('next: place', place, behind && this.#places.get(behind.id));
  }

  async #release(store: LockStore, held: Held | undefined, { outcome }: QueueStep): Promise<void> {
    if (held === undefined || this.#hasAgain(held)) return;
    const ended = this.#endOf(held, outcome) ?? 'completed';
    const expected = this.#model.release(held.model, ended);
    same('release', (await store.release(held.ref, { outcome: ended })).released, expected);
  }

  /** Whether its token has the lock, if with another lease. */
  #isLive({ model }: Held): boolean {
    return this.#model.holder?.token === model.token;
  }

  /**
   * Whether another lease of the same token has taken the queued call once more. No holder ends the run of a lease of which it knows
   * that another one has followed, so stores need not tell the two apart.
   */
  #hasAgain({ model: { token, number, queuedCall } }: Held): boolean {
    const { taken } = this.#model.find(queuedCall) ?? {};
    return taken?.token === token && taken.number !== number;
  }

  async #look(store: LockStore): Promise<void> {
    for (const jobs of [JOBS, JOBS.slice(1)]) {
      // While one is called, stores do not agree on whether the lock is free: nobody is needed then, and nobody does harm.
      if (this.#model.line.called !== undefined) break;
      const found = (await queueOf(store).left(jobs)).filter(({ name }) => name === this.#name);
      const first = this.#model.left(jobs);
      same(
        `left: ${jobs.join()}`,
        found,
        first ? [{ name: this.#name, place: this.#places.get(first.id) }] : [],
      );
    }
    // A lock that nobody has ever had is shown nowhere.
    if (!this.inspects || this.#leases.length === 0) return;
    const [info] = (await store.inspect?.([this.#name])) ?? [];
    const { queued, dead } = this.#model;
    same('inspect: queued', info?.queued ?? 0, queued.length);
    const letters = info?.dead ?? [];
    same('inspect: dead letters', letters.map(letter).toSorted(), dead.map(letterOf).toSorted());
  }

  async #wait(store: LockStore, { what, pick, priority }: QueueStep): Promise<void> {
    const { line, queued } = this.#model;
    const at = what === 'wait' ? undefined : queued[pick % queued.length];
    // Only one call takes the place of each.
    const isTaken = [...this.#waiters.values()].some(
      ({ order }) => order !== undefined && order === at?.order,
    );
    if (what !== 'wait' && (at === undefined || isTaken)) return;
    const token = randomUUID();
    const own = at && { order: at.order, place: this.#places.get(at.id) ?? 0 };
    const who = { id: this.#count++, token, priority: at?.priority ?? priority, ...own };
    const waiter = at === undefined ? (this.#waiters.get(pick) ?? who) : who;
    const expected = line.ask(waiter);
    const request = { ...this.#request(waiter.token), wait: waitOf(waiter) };
    const answer = await store.acquire(request);
    same('acquire in line', answer.acquired ? true : answer.waiting?.ahead, expected);
    // Calls at the place of a queued one have numbers of their own.
    const slot = at === undefined ? pick : 100 + waiter.id;
    if (answer.acquired) this.#granted(request, answer.fencingToken);
    if (answer.acquired) this.#waiters.delete(slot);
    else this.#waiters.set(slot, waiter);
  }

  async #leave(store: LockStore, { pick }: QueueStep): Promise<void> {
    const all = [...this.#waiters];
    const [slot, waiter] = all[pick % all.length] ?? [];
    if (slot === undefined || waiter === undefined) return;
    this.#model.line.leave(waiter.id);
    const lease = { ...this.#request(waiter.token), wait: waitOf(waiter), fencingToken: 0 };
    await store.release(lease, { outcome: 'abandoned' });
    this.#waiters.delete(slot);
  }

  #request(token: string): AcquireRequest {
    return { name: this.#name, token, ttl: HOUR, holder: 'host' };
  }
}

const queueOf = ({ queuedCalls }: LockStore): QueuedCallStore => {
  if (queuedCalls === undefined) throw new Error('no queued calls');
  return queuedCalls;
};

const waitOf = ({ id, priority, place }: Waiter) => ({
  limit: 10_000 * HOUR,
  priority,
  process: `process ${id}`,
  ...(place === undefined ? {} : { place }),
});

/** What a holder is told of its queued call. */
const told = (call: ModelQueuedCall | undefined) => {
  if (call === undefined) return undefined;
  const { id, job, key, args, delivery, merged } = call;
  return { id, job, key, args, delivery, merged };
};

type Letter = Pick<ModelQueuedCall, 'id' | 'job'> & {
  readonly key?: string | undefined;
  readonly deliveries: number;
  readonly reason: string | undefined;
};

const letter = ({ id, job, key, deliveries, reason }: Letter): string =>
  JSON.stringify([id, job, key, deliveries, reason]);

const letterOf = (call: ModelQueuedCall): string =>
  letter({ ...call, deliveries: call.delivery, reason: call.dead });
