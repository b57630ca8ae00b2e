import type { DeadLetter, ReleaseOutcome } from '../../../lib/index.js';
import type {
  Enqueued,
  QueuedCallStore,
  LeftCalls,
  NewQueuedCall,
  NextOptions,
  NextResult,
} from '../../../lib/contract/queued-call-store.js';
import { THROUGH_PAUSE } from '../../../lib/contract/allowances.js';
import type { LeaseRef } from '../../../lib/contract/lease-ref.js';
import { LOOK_FOR_QUEUED } from '../../../lib/contract/queued-call-store.js';
import type { ReferenceStore } from './reference-store.js';

/** A queued call, and how far it got. */
export interface StoredCall extends NewQueuedCall {
  args: string;
  readonly place: number;
  merged: number;
  delivery: number;
  taken: string | undefined;
  dead: DeadLetter['reason'] | undefined;
  /** Whether a lease has ever taken it. */
  begun: boolean;
}

const NEW = { delivery: 0, taken: undefined, dead: undefined, begun: false };

/** The rule of queued calls written down once more, in small steps, so that each can be broken. */
export class ReferenceQueuedCalls implements QueuedCallStore {
  queuedCalls: StoredCall[] = [];

  constructor(protected readonly store: ReferenceStore) {}

  async enqueue(queuedCall: NewQueuedCall): Promise<Enqueued> {
    const known = this.queuedCalls.find((one) => this.isSame(one, queuedCall));
    if (known !== undefined) {
      if (known.id !== queuedCall.id) this.merge(known, queuedCall);
      return { queued: true, place: known.place, merged: known.merged };
    }
    if (!this.hasRoom(queuedCall)) return { queued: false };
    const place = this.store.newPlace(queuedCall.priority);
    this.queuedCalls.push({ ...queuedCall, place, merged: 0, ...NEW });
    return { queued: true, place, merged: 0 };
  }

  async announce(): Promise<void> {
    for (const called of this.store.listeners.values()) called(LOOK_FOR_QUEUED);
  }

  async next(lease: LeaseRef, { outcome, record, takes }: NextOptions): Promise<NextResult> {
    const { name, token } = lease;
    const dead: DeadLetter[] = [];
    const again = this.takenBefore(lease);
    if (again !== undefined) return { ...again, dead };
    if (outcome !== undefined) this.end(lease, outcome);
    if (outcome !== undefined) this.store.history.ended(lease, outcome, record);
    if (!this.isHeld(lease)) return { held: false, dead };
    for (const queuedCall of this.inOrder(name)) {
      const taker = takes.find((each) => this.canTake(each.job, queuedCall));
      if (taker === undefined) continue;
      if (this.waitsForResume(queuedCall)) continue;
      if (queuedCall.taken !== token && this.isOverLimit(queuedCall)) {
        // Its holder may come late with its end, which no longer counts.
        Object.assign(queuedCall, { dead: 'interrupted', taken: undefined });
        dead.push(this.letter(queuedCall));
        continue;
      }
      if (this.standsBehind(queuedCall)) return { held: true, place: queuedCall.place, dead };
      this.take(queuedCall, token);
      const fencingToken = this.advance(lease, taker);
      return { held: true, queuedCall: { ...queuedCall, queuedAt: 0 }, fencingToken, dead };
    }
    return { held: true, dead };
  }

  async left(jobs: readonly string[]): Promise<LeftCalls[]> {
    const names = [...new Set(this.queuedCalls.map(({ name }) => name))];
    return names.flatMap((name) => {
      const first = this.inOrder(name).find(({ job }) => jobs.includes(job));
      if (first === undefined || !this.isLeft(name, first) || this.isPaused(first)) return [];
      return [{ name, place: first.place }];
    });
  }

  async redeliver(name: string): Promise<number> {
    const dead = this.queuedCalls.filter(
      (queuedCall) => queuedCall.name === name && queuedCall.dead !== undefined,
    );
    for (const queuedCall of dead) this.putBack(queuedCall);
    return dead.length;
  }

  /** The run of a lease's queued call has ended. */
  end({ queuedCall: id, token }: LeaseRef, outcome: ReleaseOutcome): void {
    const queuedCall = this.queuedCalls.find((one) => one.id === id && one.taken === token);
    if (queuedCall === undefined) return;
    if (outcome === 'completed') this.remove(queuedCall);
    else if (outcome === 'failed' || outcome === 'timed-out') this.failed(queuedCall, outcome);
    else queuedCall.taken = undefined;
  }

  // The steps

  protected isSame(one: StoredCall, { id, name, job, key }: NewQueuedCall): boolean {
    if (one.id === id) return true;
    return (
      this.isWaiting(one) && key !== undefined && one.name === name && one.job === job && one.key === key
    );
  }

  protected isWaiting({ begun }: StoredCall): boolean {
    return !begun;
  }

  protected putBack(queuedCall: StoredCall): void {
    Object.assign(queuedCall, { dead: undefined, delivery: 0, taken: undefined });
  }

  protected merge(known: StoredCall, { args }: NewQueuedCall): void {
    Object.assign(known, { args, merged: known.merged + 1 });
  }

  protected hasRoom({ name, max }: NewQueuedCall): boolean {
    return this.inOrder(name).length < max;
  }

  protected inOrder(name: string): StoredCall[] {
    return this.queuedCalls
      .filter((queuedCall) => queuedCall.name === name && queuedCall.dead === undefined)
      .sort((a, b) => a.place - b.place);
  }

  protected isHeld(lease: LeaseRef): boolean {
    return this.store.lock(lease.name)?.token === lease.token && !this.isPast(lease);
  }

  /** Whether the token of the lease has a newer one. */
  protected isPast({ name, token, fencingToken }: LeaseRef): boolean {
    const state = this.store.states.get(this.store.key(name));
    return state?.token === token && state.fence > fencingToken;
  }

  /** The same is asked again. */
  protected takenBefore(lease: LeaseRef) {
    const { name, token } = lease;
    if (this.store.lock(name)?.token !== token || !this.isPast(lease)) return undefined;
    const queuedCall = this.queuedCalls.find(
      (one) => one.name === name && one.taken === token && one.dead === undefined,
    );
    const fencingToken = this.store.states.get(this.store.key(name))?.fence ?? 0;
    if (queuedCall === undefined) return { held: false } as const;
    return { held: true, queuedCall: { ...queuedCall, queuedAt: 0 }, fencingToken } as const;
  }

  protected waitsForResume(one: StoredCall): boolean {
    return this.isPaused(one);
  }

  protected isPaused({ name, priority }: StoredCall): boolean {
    return this.store.pauseOf(name) !== undefined && priority < THROUGH_PAUSE;
  }

  protected canTake(job: string, queuedCall: StoredCall): boolean {
    return queuedCall.job === job;
  }

  protected isOverLimit({ delivery, redeliver }: StoredCall): boolean {
    return delivery > redeliver;
  }

  protected standsBehind({ name, place }: StoredCall): boolean {
    const [first] = this.store.lines.get(name) ?? [];
    return first !== undefined && first.place < place;
  }

  protected take(queuedCall: StoredCall, token: string): void {
    if (queuedCall.taken !== token)
      Object.assign(queuedCall, { taken: token, delivery: queuedCall.delivery + 1, begun: true });
  }

  protected advance({ name }: LeaseRef, { job, ttl }: NextOptions['takes'][number]): number {
    const state = this.store.states.get(this.store.key(name));
    const lock = this.store.lock(name);
    if (state === undefined || lock === undefined) throw new Error('The lease is not there');
    lock.freeAt = this.store.now() + ttl;
    state.job = job;
    return (state.fence += 1);
  }

  protected remove(queuedCall: StoredCall): void {
    this.queuedCalls.splice(this.queuedCalls.indexOf(queuedCall), 1);
  }

  protected failed(queuedCall: StoredCall, outcome: 'failed' | 'timed-out'): void {
    queuedCall.dead = outcome;
  }

  protected isLeft(name: string, { place }: { readonly place: number }): boolean {
    const line = this.store.lines.get(name) ?? [];
    const isAttended = line.some((one) => one.wait.drains === true && one.place <= place);
    return this.store.lock(name) === undefined || !isAttended;
  }

  protected letter({ id, job, delivery }: StoredCall): DeadLetter {
    return { id, job, deliveries: delivery, reason: 'interrupted', at: 0 };
  }
}
