import type { ReleaseOutcome } from '../../../lib/index.js';
import type { NewQueuedCall } from '../../../lib/contract/queued-call-store.js';
import { byPlace, LineModel, type ModelPlace } from './line-model.js';

/** A lease: its token, and which of the leases of that token it is, from 0. */
export interface ModelLease {
  readonly token: string;
  readonly number: number;
  /** The id of the queued call that it has taken. */
  readonly queuedCall?: string;
}

/** A queued call, and how far it got. */
export interface ModelQueuedCall extends ModelPlace {
  readonly id: string;
  readonly job: string;
  readonly key: string | undefined;
  readonly redeliver: number;
  readonly args: string;
  readonly merged: number;
  readonly delivery: number;
  /** The lease that has taken it, and nobody has told of its end. */
  readonly taken?: ModelLease | undefined;
  /** Whether later calls with its key become one with it. */
  readonly open: boolean;
  /** Why it is a dead letter. */
  readonly dead?: 'failed' | 'timed-out' | 'interrupted' | undefined;
}

/** What `next` has to answer. */
export interface ModelNext {
  readonly held: boolean;
  /** The lease with a queued call. */
  readonly lease?: ModelLease;
  /** The first queued call, if a call in line stands before it. */
  readonly behind?: ModelQueuedCall;
  /** The ids of those that became dead letters. */
  readonly dead: readonly string[];
}

/** What rule 15 says of one lock, its queued calls, its holder and its line. */
export class QueueModel {
  readonly line = new LineModel();
  #calls: readonly ModelQueuedCall[] = [];
  /** The live lease. */
  holder: ModelLease | undefined;

  /** Those that wait or are run, in their order. */
  get queued(): readonly ModelQueuedCall[] {
    return this.#calls.filter(({ dead }) => dead === undefined).toSorted(byPlace);
  }

  get dead(): readonly ModelQueuedCall[] {
    return this.#calls.filter(({ dead }) => dead !== undefined);
  }

  find(id: string | undefined): ModelQueuedCall | undefined {
    return this.#calls.find((one) => one.id === id);
  }

  /** Returns the queued call that stands for it, or nothing if there is no room. */
  enqueue({ id, job, key, args, priority, max, redeliver }: NewQueuedCall): ModelQueuedCall | undefined {
    const queued = this.queued;
    const again = queued.find((one) => one.id === id);
    if (again !== undefined) return again;
    const same = queued.find((one) => key !== undefined && one.open && one.job === job && one.key === key);
    if (same !== undefined) return this.#change(same, { args, merged: same.merged + 1 });
    if (queued.length >= max) return undefined;
    const facts = { id, job, key, args, priority, redeliver };
    const one = { ...facts, order: this.line.next(), merged: 0, delivery: 0, open: true };
    this.#calls = [...this.#calls, one];
    return one;
  }

  /** A call is granted the lock, as the line has it. */
  granted(token: string): void {
    this.holder = { token, number: 0 };
  }

  next(lease: ModelLease, outcome: ReleaseOutcome | undefined, takes: readonly string[]): ModelNext {
    const { holder } = this;
    const dead: string[] = [];
    if (holder?.token === lease.token && holder.number > lease.number)
      return this.#hasRun(holder) ? { held: false, dead } : { held: true, lease: holder, dead };
    if (outcome !== undefined) this.#end(lease, outcome);
    if (holder === undefined || !isSame(holder, lease)) return { held: false, dead };
    for (const one of this.queued) {
      if (!takes.includes(one.job)) continue;
      if (one.delivery > one.redeliver) {
        this.#change(one, { dead: 'interrupted', taken: undefined });
        dead.push(one.id);
        continue;
      }
      const { first } = this.line;
      if (first !== undefined && byPlace(first, one) < 0) return { held: true, behind: one, dead };
      const next = { token: lease.token, number: lease.number + 1, queuedCall: one.id };
      this.#change(one, { taken: next, delivery: one.delivery + 1, open: false });
      this.holder = next;
      return { held: true, lease: next, dead };
    }
    return { held: true, dead };
  }

  /** Returns whether this very lease was live. */
  release(lease: ModelLease, outcome: ReleaseOutcome): boolean {
    this.#end(lease, outcome);
    if (this.holder === undefined || !isSame(this.holder, lease)) return false;
    this.holder = undefined;
    this.line.release();
    return true;
  }

  /** The holder dies. Returns whether there is one. */
  expire(): boolean {
    this.holder = undefined;
    return this.line.expire();
  }

  /** Returns how many dead letters were put back. */
  redeliver(): number {
    const all = this.dead;
    for (const one of all) this.#change(one, { dead: undefined, delivery: 0 });
    return all.length;
  }

  /** The first queued call of these jobs. Nobody is about to run it: the calls in line of this model only wait. */
  left(jobs: readonly string[]): ModelQueuedCall | undefined {
    return this.queued.find(({ job }) => jobs.includes(job));
  }

  /** Whether the run of the queued call of a lease has ended. */
  #hasRun(lease: ModelLease): boolean {
    const { taken } = this.find(lease.queuedCall) ?? {};
    return taken === undefined || !isSame(taken, lease);
  }

  #end(lease: ModelLease, outcome: ReleaseOutcome): void {
    const one = this.find(lease.queuedCall);
    if (one?.taken === undefined || !isSame(one.taken, lease)) return;
    if (outcome === 'completed') this.#calls = this.#calls.filter((other) => other !== one);
    else if (outcome === 'failed' || outcome === 'timed-out')
      this.#change(one, { dead: outcome, taken: undefined });
    else this.#change(one, { taken: undefined });
  }

  #change(one: ModelQueuedCall, to: Partial<ModelQueuedCall>): ModelQueuedCall {
    const changed = { ...one, ...to };
    this.#calls = this.#calls.map((other) => (other === one ? changed : other));
    return changed;
  }
}

const isSame = (one: ModelLease, other: ModelLease): boolean =>
  one.token === other.token && one.number === other.number;
