import type {
  DeadLetter,
  Enqueued,
  EventStore,
  LeaseRef,
  LeftEvents,
  NewEvent,
  NextOptions,
  NextResult,
  ReleaseOutcome,
} from '../../../lib/index.js';
import type { ReferenceStore } from './reference-store.js';

/** An event, and how far it got. */
export interface KeptEvent extends NewEvent {
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

/** The rule of events written down once more, in small steps, so that each can be broken. */
export class ReferenceEvents implements EventStore {
  readonly events: KeptEvent[] = [];

  constructor(protected readonly store: ReferenceStore) {}

  async enqueue(event: NewEvent): Promise<Enqueued> {
    const known = this.events.find((one) => this.isSame(one, event));
    if (known !== undefined) {
      if (known.id !== event.id) this.merge(known, event);
      return { queued: true, place: known.place, merged: known.merged };
    }
    if (!this.hasRoom(event)) return { queued: false };
    const place = this.store.newPlace(event.priority);
    this.events.push({ ...event, place, merged: 0, ...NEW });
    return { queued: true, place, merged: 0 };
  }

  async next(lease: LeaseRef, { outcome, record, takes }: NextOptions): Promise<NextResult> {
    const { name, token } = lease;
    const dead: DeadLetter[] = [];
    const again = this.takenBefore(lease);
    if (again !== undefined) return { ...again, dead };
    if (outcome !== undefined) this.end(lease, outcome);
    if (outcome !== undefined) this.store.history.ended(lease, outcome, record);
    if (!this.isHeld(lease)) return { held: false, dead };
    for (const event of this.inOrder(name)) {
      const taker = takes.find((each) => this.canTake(each.job, event));
      if (taker === undefined) continue;
      if (event.taken !== token && this.isOverLimit(event)) {
        event.dead = 'interrupted';
        dead.push(this.letter(event));
        continue;
      }
      if (this.standsBehind(event)) return { held: true, place: event.place, dead };
      this.take(event, token);
      const fencingToken = this.advance(lease, taker);
      return { held: true, event: { ...event, queuedAt: 0 }, fencingToken, dead };
    }
    return { held: true, dead };
  }

  async left(jobs: readonly string[]): Promise<LeftEvents[]> {
    const names = [...new Set(this.events.map(({ name }) => name))];
    return names.flatMap((name) => {
      const first = this.inOrder(name).find(({ job }) => jobs.includes(job));
      return first === undefined || !this.isLeft(name) ? [] : [{ name, place: first.place }];
    });
  }

  async redeliver(name: string): Promise<number> {
    const dead = this.events.filter((event) => event.name === name && event.dead !== undefined);
    for (const event of dead) this.putBack(event);
    return dead.length;
  }

  /** The run of a lease's event has ended. */
  end({ event: id, token }: LeaseRef, outcome: ReleaseOutcome): void {
    const event = this.events.find((one) => one.id === id && one.taken === token);
    if (event === undefined) return;
    if (outcome === 'completed') this.remove(event);
    else if (outcome === 'failed' || outcome === 'timed-out') this.failed(event, outcome);
    else event.taken = undefined;
  }

  // The steps

  protected isSame(one: KeptEvent, { id, name, job, key }: NewEvent): boolean {
    if (one.id === id) return true;
    return (
      this.isWaiting(one) && key !== undefined && one.name === name && one.job === job && one.key === key
    );
  }

  protected isWaiting({ begun }: KeptEvent): boolean {
    return !begun;
  }

  protected putBack(event: KeptEvent): void {
    Object.assign(event, { dead: undefined, delivery: 0, taken: undefined });
  }

  protected merge(known: KeptEvent, { args }: NewEvent): void {
    Object.assign(known, { args, merged: known.merged + 1 });
  }

  protected hasRoom({ name, max }: NewEvent): boolean {
    return this.inOrder(name).length < max;
  }

  protected inOrder(name: string): KeptEvent[] {
    return this.events
      .filter((event) => event.name === name && event.dead === undefined)
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
    const event = this.events.find((one) => one.name === name && one.taken === token);
    const fencingToken = this.store.states.get(this.store.key(name))?.fence ?? 0;
    if (event === undefined) return { held: false } as const;
    return { held: true, event: { ...event, queuedAt: 0 }, fencingToken } as const;
  }

  protected canTake(job: string, event: KeptEvent): boolean {
    return event.job === job;
  }

  protected isOverLimit({ delivery, redeliver }: KeptEvent): boolean {
    return delivery > redeliver;
  }

  protected standsBehind({ name, place }: KeptEvent): boolean {
    const [first] = this.store.lines.get(name) ?? [];
    return first !== undefined && first.place < place;
  }

  protected take(event: KeptEvent, token: string): void {
    if (event.taken !== token)
      Object.assign(event, { taken: token, delivery: event.delivery + 1, begun: true });
  }

  protected advance({ name }: LeaseRef, { job, ttl }: NextOptions['takes'][number]): number {
    const state = this.store.states.get(this.store.key(name));
    const lock = this.store.lock(name);
    if (state === undefined || lock === undefined) throw new Error('The lease is not there');
    lock.freeAt = this.store.now() + ttl;
    state.job = job;
    return (state.fence += 1);
  }

  protected remove(event: KeptEvent): void {
    this.events.splice(this.events.indexOf(event), 1);
  }

  protected failed(event: KeptEvent, outcome: 'failed' | 'timed-out'): void {
    event.dead = outcome;
  }

  protected isLeft(name: string): boolean {
    return this.store.lock(name) === undefined || (this.store.lines.get(name) ?? []).length === 0;
  }

  protected letter({ id, job, delivery }: KeptEvent): DeadLetter {
    return { id, job, deliveries: delivery, reason: 'interrupted', at: 0 };
  }
}
