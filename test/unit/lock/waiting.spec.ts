import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type {
  AcquireRequest,
  AcquireResult,
  HintChannel,
  LeaseRef,
  ReleaseOptions,
  ReleaseResult,
} from '../../../lib/contract/lock-store.js';
import type { SchedulerLockEvent } from '../../../lib/contract/events/events.js';
import { StoreUnavailableError } from '../../../lib/base/errors.js';
import type { LockCall, LockSettings, RunResult } from '../../../lib/lock/lock-call.js';
import type { Lock } from '../../../lib/lock/current-lock.js';
import { LockRunner } from '../../../lib/lock/lock-runner.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { gate, SETTINGS } from './harness.js';
import { locksOnly } from '../../support/locks-only.js';
import { type EventKind, type EventOf, isEvent } from '../../support/events.js';

/** One call, whose job ends when the test says so. */
interface Call {
  readonly lock: Lock | undefined;
  readonly result: RunResult<string> | undefined;
  readonly error: unknown;
  end(): void;
}

/** Carries calls out, and can lose its answers. */
class LossyStore extends MemoryLockStore {
  /** The holder whose attempts are carried out without an answer. */
  deaf: string | undefined;

  /** The holder whose attempts fail at once. */
  cut: string | undefined;
  attempts = 0;
  /** The holder whose attempts do not even arrive. */
  away: string | undefined;
  /** The answers of this holder are on their way until then. */
  slow: { readonly holder: string; readonly until: Promise<void> } | undefined;
  /** The attempts of this holder arrive only then. */
  late: { readonly holder: string; readonly until: Promise<void> } | undefined;
  /** How many of the next releases do not arrive. */
  lostReleases = 0;
  /** The outcomes of all releases. */
  readonly released: unknown[] = [];
  /** Whether hints are lost on their way. */
  mute = false;
  /** What the attempts of this holder say of the lease that has refused them. */
  heard: { readonly holder: string; readonly notBefore: (number | undefined)[] } | undefined;

  override hints(process: string, called: (token: string) => void): HintChannel {
    return super.hints(process, (token) => void (this.mute || called(token)));
  }

  /** The connection is back. */
  readonly available = new Set<() => void>();

  onAvailable(listener: () => void): () => void {
    this.available.add(listener);
    return () => this.available.delete(listener);
  }

  override async release(lease: LeaseRef, options?: ReleaseOptions): Promise<ReleaseResult> {
    this.released.push(options?.outcome);
    if (this.lostReleases === 0) return super.release(lease, options);
    this.lostReleases -= 1;
    throw new StoreUnavailableError('broken connection', { outcome: 'unknown' });
  }

  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    this.attempts += 1;
    if (this.heard?.holder === request.holder) this.heard.notBefore.push(request.wait?.notBefore);
    if (this.cut === request.holder) throw new StoreUnavailableError('cut off', { outcome: 'not-applied' });
    if (this.away === request.holder) return new Promise(() => undefined);
    if (this.late?.holder === request.holder) await this.late.until;
    const result = await super.acquire(request);
    if (this.slow?.holder === request.holder) await this.slow.until;
    return this.deaf === request.holder ? new Promise(() => undefined) : result;
  }
}

/** A fleet on one clock and one store. */
class Fleet {
  readonly clock = new ManualClock();
  readonly store = new LossyStore({ clock: this.clock });
  readonly events: SchedulerLockEvent[] = [];
  /** The names of the calls whose jobs began, in that order. */
  readonly order: string[] = [];
  readonly #instances = new Map<string, LockRunner>();

  instance(name: string): LockRunner {
    let runner = this.#instances.get(name);
    if (runner === undefined) {
      runner = new LockRunner(this.store, name, this.clock, (event) => this.events.push(event), 2_000);
      this.#instances.set(name, runner);
    }
    return runner;
  }

  /** @param who the instance, and the name of the call behind a dash */
  async call(who: string, settings: Partial<LockSettings> = {}, more: Partial<LockCall> = {}): Promise<Call> {
    const [instance = ''] = who.split('-');
    let finish!: () => void;
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const call: { lock?: Lock; result?: RunResult<string>; error?: unknown } = {};
    const job = async (lock: Lock): Promise<string> => {
      this.order.push(who);
      call.lock = lock;
      await finished;
      return who;
    };
    const given = {
      name: 'lock',
      job: undefined,
      settings: { ...SETTINGS, ...settings },
      kind: 'by-hand' as const,
    };
    void this.instance(instance)
      .run({ ...given, ...more }, job)
      .then(
        (result) => (call.result = result),
        (error: unknown) => (call.error = error),
      );
    await this.clock.advance(0);
    return Object.assign(call, { end: finish }) as unknown as Call;
  }

  async end(call: Call): Promise<void> {
    call.end();
    await this.clock.advance(0);
  }

  async shutdown(): Promise<void> {
    for (const runner of this.#instances.values()) void runner.shutdown(0);
    await this.clock.advance(5_000);
  }

  of<K extends EventKind>(kind: K): EventOf<K>[] {
    return this.events.filter(isEvent(kind));
  }
}

let fleet: Fleet;
beforeEach(() => void (fleet = new Fleet()));
afterEach(() => fleet.shutdown());

const MINUTE = { wait: 60_000 };

const OF_TICK = { job: 'Jobs.tick', kind: 'fired' as const, start: { tick: 1_000 } };

/** The store grants the lock to an instance in line, which does not hear of it, nor of anything else until it is no longer `away`. */
async function grantUnheard(instance: string, holder: Call): Promise<void> {
  fleet.store.deaf = instance;
  await fleet.end(holder);
  fleet.store.deaf = undefined;
  fleet.store.away = instance;
}

const enqueue = (id: string) =>
  fleet.store.queuedCalls.enqueue({
    name: 'lock',
    id,
    job: 'other',
    args: '[]',
    priority: 0,
    max: 10,
    redeliver: 0,
  });

describe('calls that wait', () => {
  test('run one after another, in the order in which they came, with greater priorities first', async () => {
    const holder = await fleet.call('a');
    const calls = [
      await fleet.call('b-1', MINUTE),
      await fleet.call('c-1', MINUTE),
      await fleet.call('b-2', MINUTE),
      await fleet.call('c-2', { ...MINUTE, priority: 1 }),
      await fleet.call('a-2', { ...MINUTE, priority: -1 }),
    ];
    await fleet.clock.advance(5_000);
    await fleet.end(holder);
    for (let i = 0; i < calls.length; i++)
      for (const call of calls) if (call.lock !== undefined) await fleet.end(call);
    expect(fleet.order).toEqual(['a', 'c-2', 'b-1', 'c-1', 'b-2', 'a-2']);
    for (const call of calls) expect(call.result).toMatchObject({ ran: true });
  });

  test('are told apart by events, and know how long they have waited', async () => {
    const holder = await fleet.call('a');
    const waiting = await fleet.call('b', { ...MINUTE, priority: 3 });
    expect(fleet.of('waiting')).toEqual([
      expect.objectContaining({
        lock: 'lock',
        instance: 'b',
        ahead: 0,
        wait: 60_000,
        priority: 3,
        holder: 'a',
      }),
    ]);
    await fleet.clock.advance(7_000);
    await fleet.end(holder);
    expect(waiting.lock?.waited).toBe(7_000);
    expect(fleet.of('acquired').map(({ waited }) => waited)).toEqual([undefined, 7_000]);
    await fleet.end(waiting);
  });

  test('of elections, for queued calls, or of which nobody wants to hear are not told of', async () => {
    const holder = await fleet.call('a');
    const call = { name: 'lock', job: undefined, settings: { ...SETTINGS, wait: 1_000 } };
    const election = fleet.instance('b').acquire({ ...call, kind: 'election' });
    const drainer = { jobs: new Map(), asks: () => undefined, standsBehind: () => undefined };
    const drained = fleet.instance('c').drain({ ...call, kind: 'drain' }, drainer);
    const deaf = new LockRunner(
      fleet.store,
      'd',
      fleet.clock,
      (event) => fleet.events.push(event),
      2_000,
      () => false,
    );
    const unheard = deaf.run({ ...call, kind: 'by-hand' }, () => 'never');
    await Promise.all([
      expect(election).rejects.toMatchObject({ reason: 'held' }),
      fleet.clock.advance(1_100),
    ]);
    for (const result of [drained, unheard])
      expect(await result).toMatchObject({ ran: false, reason: 'held', waited: 1_000 });
    expect(fleet.of('waiting')).toEqual([]);
    await fleet.end(holder);
  });

  test('have their turn without a hint, although another call of their process goes before them now', async () => {
    const holder = await fleet.call('a');
    const called = await fleet.call('b-1', MINUTE);
    fleet.store.mute = true;
    await fleet.end(holder);
    const before = await fleet.call('b-2', { ...MINUTE, priority: 1 });
    await fleet.clock.advance(1_100);
    expect(called.lock).toBeDefined();
    await fleet.end(called);
    await fleet.clock.advance(1_100);
    expect(before.lock).toBeDefined();
    await fleet.end(before);
  });

  test('have their turn at once, without a hint, when the call of their process before them gives up', async () => {
    const holder = await fleet.call('a');
    const aborting = new AbortController();
    await fleet.call('b-1', MINUTE, { signal: aborting.signal });
    const next = await fleet.call('b-2', MINUTE);
    await fleet.clock.advance(5_200);
    fleet.store.mute = true;
    await fleet.end(holder);
    aborting.abort();
    await fleet.clock.advance(0);
    expect(next.lock).toBeDefined();
    await fleet.end(next);
  });

  test('have their turn within a second when its hint comes before the answer that they stand in line', async () => {
    const holder = await fleet.call('a');
    // Its process listens for hints from the first wait on.
    await fleet.call('b', { wait: 1 });
    await fleet.clock.advance(1);
    let arrives!: () => void;
    fleet.store.slow = { holder: 'b', until: new Promise((resolve) => (arrives = resolve)) };
    const waiting = await fleet.call('b', MINUTE);
    await fleet.end(holder);
    arrives();
    await fleet.clock.advance(1_000);
    expect(waiting.lock).toBeDefined();
    await fleet.end(waiting);
  });

  test('are the run of their lock in their process once they have their turn', async () => {
    const holder = await fleet.call('a');
    const waiting = await fleet.call('b', MINUTE, { job: 'Jobs.waits' });
    expect(fleet.instance('b').runs).toEqual([]);
    await fleet.end(holder);
    expect(fleet.instance('b').runs).toMatchObject([{ lock: 'lock', job: 'Jobs.waits' }]);
    const before = fleet.store.attempts;
    expect((await fleet.call('b')).result).toEqual({ ran: false, reason: 'held', holder: 'b' });
    expect(fleet.store.attempts).toBe(before);
    await fleet.end(waiting);
    expect(fleet.instance('b').runs).toEqual([]);
  });

  test('take a free lock at once, without a line', async () => {
    const call = await fleet.call('a', MINUTE);
    expect(call.lock?.waited).toBe(0);
    expect(fleet.of('waiting')).toEqual([]);
    await fleet.end(call);
  });

  test('are not overtaken by a call that does not wait', async () => {
    const holder = await fleet.call('a');
    const waiting = await fleet.call('b', MINUTE);
    // At the very moment of the release.
    holder.end();
    const barging = await fleet.call('c');
    await fleet.clock.advance(0);
    expect(barging.result).toMatchObject({ ran: false, reason: 'held' });
    expect(waiting.lock).toBeDefined();
    await fleet.end(waiting);
  });

  test('are skipped as held when their time is over, and leave the line', async () => {
    const holder = await fleet.call('a');
    const waiting = await fleet.call('b', { wait: 3_000 });
    const patient = await fleet.call('c', MINUTE);
    await fleet.clock.advance(3_000);
    expect(waiting.result).toEqual({
      ran: false,
      reason: 'held',
      holder: 'a',
      expiresIn: expect.any(Number),
      waited: 3_000,
    });
    expect(fleet.of('skipped')).toEqual([expect.objectContaining({ instance: 'b', waited: 3_000 })]);
    await fleet.end(holder);
    expect(patient.lock).toBeDefined();
    await fleet.end(patient);
  });

  test('keep the start of a tick that ran, though its first ask and its release were lost', async () => {
    const tick = { job: 'Reports.nightly', start: { tick: 1 }, kind: 'fired' as const };
    fleet.store.away = 'a';
    const ran = await fleet.call('a', MINUTE, tick);
    fleet.store.away = undefined;
    await fleet.clock.advance(2_000);
    expect(ran.lock).toBeDefined();
    fleet.store.lostReleases = 1;
    await fleet.end(ran);
    await fleet.clock.advance(30_000);
    const other = await fleet.call('b', {}, tick);
    expect(other.result).toMatchObject({ ran: false, reason: 'already-ran' });
  });

  test('give back what a lost first ask may take, also in a shutdown in which the release fails', async () => {
    fleet.store.away = 'a';
    const ran = await fleet.call('a', MINUTE, { job: 'Reports.nightly', start: { tick: 1 }, kind: 'fired' });
    fleet.store.away = undefined;
    await fleet.clock.advance(2_000);
    fleet.store.lostReleases = 2;
    await fleet.end(ran);
    await fleet.shutdown();
    expect(fleet.store.released).toEqual(['completed', 'completed', 'abandoned']);
  });

  test('end with the reason of their signal, and leave the line', async () => {
    const holder = await fleet.call('a');
    const [abort, abortLater] = [new AbortController(), new AbortController()];
    const waiting = await fleet.call('b', MINUTE, { signal: abort.signal });
    const patient = await fleet.call('c', MINUTE, { signal: abortLater.signal });
    abort.abort(new Error('changed my mind'));
    await fleet.clock.advance(0);
    expect(waiting.error).toEqual(new Error('changed my mind'));
    await fleet.end(holder);
    expect(patient.lock).toBeDefined();
    // It ends the wait only.
    abortLater.abort();
    await fleet.end(patient);
    expect(patient.result).toEqual({ ran: true, value: 'c' });
    const never = await fleet.call('b', MINUTE, { signal: AbortSignal.abort('too late') });
    expect(never.error).toBe('too late');
    expect(fleet.order).toEqual(['a', 'c']);
  });

  test.each([
    ['in line', true],
    ['at their first ask', false],
  ])(
    'that give up while a grant is on its way run nothing, %s, and the next one is called',
    async (_, inLine) => {
      const gaveUp = new Error('gave up');
      const aborting = new AbortController();
      const holder = inLine ? await fleet.call('a') : undefined;
      const call = { signal: aborting.signal };
      let waiting = inLine ? await fleet.call('b', MINUTE, call) : undefined;
      let arrives!: () => void;
      fleet.store.slow = { holder: 'b', until: new Promise((resolve) => (arrives = resolve)) };
      waiting ??= await fleet.call('b', MINUTE, call);
      if (holder !== undefined) await fleet.end(holder);
      const next = await fleet.call('c', MINUTE);
      aborting.abort(gaveUp);
      arrives();
      await fleet.clock.advance(0);
      expect(waiting.error).toBe(gaveUp);
      expect(fleet.order).not.toContain('b');
      expect(next.lock).toBeDefined();
      await fleet.end(next);
    },
  );

  test('that give up while an ask is on its way are over with its answer, although the store is back meanwhile', async () => {
    const holder = await fleet.call('a');
    const aborting = new AbortController();
    const waiting = await fleet.call('b', MINUTE, { signal: aborting.signal });
    const answer = gate();
    fleet.store.slow = { holder: 'b', until: answer.opened };
    await fleet.clock.advance(1_000);
    const gaveUp = new Error('gave up');
    aborting.abort(gaveUp);
    for (const listener of fleet.store.available) listener();
    answer.open();
    await fleet.clock.advance(0);
    expect(waiting.error).toBe(gaveUp);
    await fleet.end(holder);
  });

  test('of a tick end one limit of a call after their time at the latest, though nothing is answered', async () => {
    for (const wait of [2_000, 2_300, 2_600, 2_900]) {
      const holder = await fleet.call('a');
      const waiting = await fleet.call('b', { wait }, OF_TICK);
      fleet.store.away = 'b';
      await fleet.clock.advance(wait + SETTINGS.storeTimeout);
      expect(waiting.result).toMatchObject({ ran: false, reason: 'held' });
      fleet.store.away = undefined;
      await fleet.end(holder);
    }
  });

  test('take over from a holder that has died, within its ttl', async () => {
    await fleet.call('a', { heartbeat: false });
    const waiting = await fleet.call('b', MINUTE);
    await fleet.clock.advance(9_900);
    expect(waiting.lock).toBeUndefined();
    await fleet.clock.advance(200);
    expect(waiting.lock).toBeDefined();
    await fleet.end(waiting);
  });

  test('ask again when the lease that has refused them is over, and not a second later', async () => {
    await fleet.store.acquire({ name: 'lock', token: 'theirs', ttl: 300, holder: 'died' });
    const waiting = await fleet.call('b', MINUTE);
    await fleet.clock.advance(299);
    expect(waiting.lock).toBeUndefined();
    await fleet.clock.advance(11);
    expect(waiting.lock).toBeDefined();
    await fleet.end(waiting);
  });

  test('for several locks ask together if they are due within 100 ms, and else each in its time', async () => {
    for (const name of ['one', 'two', 'three'])
      await fleet.store.acquire({ name, token: name, ttl: 60_000, holder: 'died' });
    await fleet.call('b-1', MINUTE, { name: 'one' });
    await fleet.clock.advance(100);
    await fleet.call('b-2', MINUTE, { name: 'two' });
    await fleet.clock.advance(1);
    await fleet.call('b-3', MINUTE, { name: 'three' });
    const before = fleet.store.attempts;
    await fleet.clock.advance(898);
    expect(fleet.store.attempts - before).toBe(0);
    await fleet.clock.advance(1);
    expect(fleet.store.attempts - before).toBe(2);
    await fleet.clock.advance(100);
    expect(fleet.store.attempts - before).toBe(2);
    await fleet.clock.advance(1);
    expect(fleet.store.attempts - before).toBe(3);
  });

  test('have no turn while a run of their process goes on that has lost the lock, or never had it', async () => {
    const lost = await fleet.call('b-lost', { heartbeat: false });
    await fleet.clock.advance(SETTINGS.ttl - 100);
    const behindLost = await fleet.call('b-1', MINUTE);
    fleet.store.cut = 'c';
    const without = await fleet.call('c-without', { onStoreError: 'run' }, { name: 'other' });
    fleet.store.cut = undefined;
    const behindOther = await fleet.call('c-1', MINUTE, { name: 'other' });
    await fleet.clock.advance(SETTINGS.ttl);
    expect(fleet.order).toEqual(['b-lost', 'c-without']);
    for (const call of [lost, without]) await fleet.end(call);
    await fleet.clock.advance(1_100);
    expect(fleet.order.slice(2).toSorted()).toEqual(['b-1', 'c-1']);
    for (const call of [behindLost, behindOther]) await fleet.end(call);
  });

  test('end as shutting-down with their instance, and the next one is called', async () => {
    const holder = await fleet.call('a');
    const first = await fleet.call('b', MINUTE);
    const second = await fleet.call('c', MINUTE);
    void fleet.instance('b').shutdown(0);
    await fleet.clock.advance(0);
    expect(first.result).toMatchObject({ ran: false, reason: 'shutting-down' });
    await fleet.end(holder);
    expect(second.lock).toBeDefined();
    await fleet.end(second);
  });

  test('end as shutting-down if their first answer comes after the shutdown has begun', async () => {
    const holder = await fleet.call('a');
    const answer = gate();
    fleet.store.slow = { holder: 'b', until: answer.opened };
    const call = await fleet.call('b', MINUTE);
    void fleet.instance('b').shutdown(0);
    answer.open();
    await fleet.clock.advance(0);
    expect(call.result).toMatchObject({ ran: false, reason: 'shutting-down' });
    await fleet.end(holder);
  });

  test('tell once why no hints come', async () => {
    fleet.store.hints = () => ({ open: false, problem: 'no channel', close: () => undefined });
    const holder = await fleet.call('a');
    const calls = [await fleet.call('b-1', MINUTE), await fleet.call('b-2', MINUTE)];
    const told = fleet.of('waiting').map(({ problem }) => problem);
    expect(told.length).toBeGreaterThan(1);
    expect(told.filter(Boolean)).toEqual(['no channel']);
    await fleet.end(holder);
    for (let n = 0; n < 2; n++) {
      await fleet.clock.advance(1_000);
      await fleet.end(calls[n] as Call);
    }
  });

  test('keep their place when an answer is lost, and take a lock that they were granted by it', async () => {
    const holder = await fleet.call('a');
    const [first, second] = [await fleet.call('b', MINUTE), await fleet.call('c', MINUTE)];
    fleet.store.deaf = 'b';
    await fleet.end(holder);
    await fleet.clock.advance(1_500);
    expect([first.lock, second.lock]).toEqual([undefined, undefined]);
    fleet.store.deaf = undefined;
    await fleet.clock.advance(3_000);
    expect(first.lock).toBeDefined();
    expect(second.lock).toBeUndefined();
    await fleet.end(first);
    expect(second.lock).toBeDefined();
    await fleet.end(second);
    expect(fleet.order).toEqual(['a', 'b', 'c']);
  });

  test('of a tick run it although the store has granted it before, and the answer was lost for longer than a ttl', async () => {
    const holder = await fleet.call('a');
    const waiting = await fleet.call('b', MINUTE, OF_TICK);
    await grantUnheard('b', holder);
    await fleet.clock.advance(15_000);
    fleet.store.away = undefined;
    await fleet.clock.advance(5_000);
    expect(waiting.lock).toMatchObject({ tick: 1_000, attempt: 1 });
    await fleet.end(waiting);
  });

  test('whose tick the store has started already come back to their place in line', async () => {
    const holder = await fleet.call('a');
    const first = await fleet.call('b', MINUTE, OF_TICK);
    const second = await fleet.call('c', MINUTE);
    await grantUnheard('b', holder);
    await fleet.clock.advance(15_000);
    expect(second.lock).toBeDefined();
    const third = await fleet.call('d', MINUTE);
    fleet.store.away = undefined;
    await fleet.clock.advance(5_000);
    await fleet.end(second);
    expect([first.lock?.tick, third.lock]).toEqual([1_000, undefined]);
    await fleet.end(first);
    expect(third.lock).toBeDefined();
    await fleet.end(third);
  });

  test('whose tick another instance runs when they have come back learn so at once', async () => {
    const holder = await fleet.call('a');
    const waiting = await fleet.call('b', MINUTE, OF_TICK);
    await grantUnheard('b', holder);
    await fleet.clock.advance(15_000);
    fleet.store.away = undefined;
    const { job, start } = OF_TICK;
    const other = { name: 'lock', token: 'theirs', ttl: 60_000, holder: 'd', job, ...start };
    // As soon as the start is taken back, and before the call asks again.
    for (let tries = 0; !(await fleet.store.acquire(other)).acquired; tries++) {
      expect(tries).toBeLessThan(1_000);
      await fleet.clock.advance(10);
    }
    expect(waiting.result).toBeUndefined();
    await fleet.clock.advance(2_000);
    expect(waiting.result).toMatchObject({ ran: false, reason: 'already-ran', tick: 1_000 });
  });

  test('that give up when the answer with their grant is lost give it back, and the next one is called', async () => {
    const holder = await fleet.call('a');
    const aborting = new AbortController();
    const waiting = await fleet.call('b', MINUTE, { signal: aborting.signal });
    const next = await fleet.call('c', MINUTE);
    await grantUnheard('b', holder);
    await fleet.clock.advance(2_000);
    const gaveUp = new Error('gave up');
    aborting.abort(gaveUp);
    await fleet.clock.advance(0);
    expect(waiting.error).toBe(gaveUp);
    expect(next.lock).toBeDefined();
    await fleet.end(next);
  });

  test('tell the store for how long the lease that has refused them can be live', async () => {
    await fleet.call('a', { heartbeat: false });
    await fleet.clock.advance(2_500);
    fleet.store.heard = { holder: 'b', notBefore: [] };
    const waiting = await fleet.call('b', MINUTE);
    await fleet.clock.advance(2_000);
    expect(fleet.store.heard.notBefore).toEqual([undefined, 6_500, 5_500]);
    await fleet.clock.advance(6_000);
    expect(waiting.lock).toBeDefined();
    await fleet.end(waiting);
  });

  test('ask a store that fails at once four times a second at most', async () => {
    await fleet.call('a', { heartbeat: false });
    // Told that the lock is free in a moment.
    await fleet.clock.advance(9_970);
    const waiting = await fleet.call('b', MINUTE);
    fleet.store.cut = 'b';
    const before = fleet.store.attempts;
    await fleet.clock.advance(20_000);
    expect(fleet.store.attempts - before).toBeLessThanOrEqual(80);
    fleet.store.cut = undefined;
    await fleet.clock.advance(1_000);
    expect(waiting.lock).toBeDefined();
    await fleet.end(waiting);
  });

  test('do not ask for a lock that their process could not give back', async () => {
    const error = new StoreUnavailableError('cut off', { outcome: 'not-applied' });
    fleet.store.release = () => Promise.reject(error);
    await fleet.end(await fleet.call('a'));
    const before = fleet.store.attempts;
    const waiting = await fleet.call('a', MINUTE);
    expect(waiting.result).toMatchObject({ ran: false, reason: 'store-unavailable', error });
    expect(fleet.store.attempts).toBe(before);
  });

  test('leave nothing in line when even the first answer is lost', async () => {
    const holder = await fleet.call('a');
    fleet.store.deaf = 'b';
    const lost = await fleet.call('b', MINUTE);
    await fleet.clock.advance(2_000);
    expect(lost.result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    await fleet.end(holder);
    const next = await fleet.call('c');
    expect(next.lock).toBeDefined();
    await fleet.end(next);
  });

  test('leave nothing in line when the first ask arrives after it was given up', async () => {
    const holder = await fleet.call('a');
    let arrive!: () => void;
    fleet.store.late = { holder: 'b', until: new Promise((resolve) => (arrive = resolve)) };
    const given = await fleet.call('b', MINUTE);
    await fleet.clock.advance(2_000);
    expect(given.result).toMatchObject({ ran: false, reason: 'store-unavailable' });
    arrive();
    await fleet.clock.advance(10);
    await fleet.end(holder);
    const next = await fleet.call('c');
    expect(next.lock).toBeDefined();
    await fleet.end(next);
  });

  test('of a dead process cost the others one turn, however many there are', async () => {
    const holder = await fleet.call('a');
    for (let i = 0; i < 20; i++)
      await fleet.store.acquire({
        name: 'lock',
        token: `00000000-0000-4000-8000-0000000000${10 + i}`,
        ttl: 10_000,
        holder: 'dead',
        wait: { limit: 60_000, priority: 0, process: 'dead' },
      });
    const waiting = await fleet.call('b', MINUTE);
    await fleet.end(holder);
    await fleet.clock.advance(1_900);
    expect(waiting.lock).toBeUndefined();
    await fleet.clock.advance(1_200);
    expect(waiting.lock).toBeDefined();
    await fleet.end(waiting);
    const free = await fleet.call('c');
    expect(free.lock).toBeDefined();
    await fleet.end(free);
  });

  test('of the ticks of a job: one runs, and the others learn that it did', async () => {
    const holder = await fleet.call('a');
    const start = { job: 'Jobs.tick', kind: 'fired' as const, start: { tick: 1_000 } };
    const [b, c, d] = [
      await fleet.call('b', MINUTE, start),
      await fleet.call('c', MINUTE, start),
      await fleet.call('d', MINUTE, start),
    ];
    await fleet.end(holder);
    expect(b.lock?.tick).toBe(1_000);
    await fleet.clock.advance(1_100);
    for (const other of [c, d])
      expect(other.result).toMatchObject({ ran: false, reason: 'already-ran', tick: 1_000 });
    await fleet.end(b);
    expect(fleet.order).toEqual(['a', 'b']);
  });

  test('a newer tick takes the place of an older one of its job', async () => {
    const holder = await fleet.call('a');
    const ofTick = (tick: number) => ({ job: 'Jobs.tick', kind: 'fired' as const, start: { tick } });
    const older = await fleet.call('b-1', MINUTE, ofTick(1_000));
    const other = await fleet.call('c', MINUTE);
    const newer = await fleet.call('b-2', MINUTE, ofTick(2_000));
    expect(older.result).toMatchObject({ ran: false, reason: 'held' });
    await fleet.end(holder);
    expect(newer.lock?.tick).toBe(2_000);
    await fleet.end(newer);
    expect(other.lock).toBeDefined();
    await fleet.end(other);
  });

  test('for each other’s locks end, and say what they hold', async () => {
    const wait = { wait: 2_000 };
    const results: unknown[] = [];
    const cross = (who: string, mine: string, theirs: string) =>
      fleet
        .instance(who)
        .run({ name: mine, job: undefined, settings: SETTINGS, kind: 'by-hand' as const }, async () => {
          await new Promise<void>((resolve) => fleet.clock.setTimer(resolve, 10));
          const call = {
            name: theirs,
            job: undefined,
            settings: { ...SETTINGS, ...wait },
            kind: 'by-hand' as const,
          };
          results.push(await fleet.instance(who).run(call, () => 'never'));
        });
    const both = Promise.all([cross('a', 'one', 'two'), cross('b', 'two', 'one')]);
    await fleet.clock.advance(5_000);
    await both;
    expect(results).toEqual([
      expect.objectContaining({ ran: false, reason: 'held', holder: 'b' }),
      expect.objectContaining({ ran: false, reason: 'held', holder: 'a' }),
    ]);
    expect(fleet.of('waiting').map(({ lock, holding }) => [lock, holding])).toEqual([
      ['two', ['one']],
      ['one', ['two']],
    ]);
    expect(fleet.of('skipped').map(({ holding }) => holding)).toEqual([['one'], ['two']]);
  });

  test('say nothing of a lock that their job has lost, nor of one of another application', async () => {
    await fleet.call('a', {}, { name: 'taken' });
    const settings = { ...SETTINGS, heartbeat: false as const };
    const job = { job: undefined, kind: 'by-hand' as const };
    const [there, here] = [
      new LockRunner(fleet.store, 'c', fleet.clock, () => undefined, 2_000),
      fleet.instance('b'),
    ];
    const lost = gate();
    const waits = { ...job, name: 'taken', settings: { ...SETTINGS, wait: 1_000 } };
    const inner = there.run({ ...job, name: 'theirs', settings: SETTINGS }, () =>
      here.run({ ...job, name: 'ours', settings: SETTINGS }, () =>
        here.run({ ...job, name: 'lost', settings }, async () => {
          await lost.opened;
          return here.run(waits, () => 'never');
        }),
      ),
    );
    await fleet.clock.advance(SETTINGS.ttl);
    lost.open();
    await fleet.clock.advance(1_000);
    await inner;
    expect(fleet.of('waiting')).toMatchObject([{ lock: 'taken', holding: ['ours'] }]);
  });

  test('with a store that has no lines is refused', async () => {
    const { acquire, extend, release } = fleet.store;
    const bare = { ...locksOnly, acquire, extend, release };
    const runner = new LockRunner(bare, 'a', fleet.clock, () => undefined, 2_000);
    const call = {
      name: 'lock',
      job: undefined,
      settings: { ...SETTINGS, ...MINUTE },
      kind: 'by-hand' as const,
    };
    await expect(runner.run(call, () => 1)).rejects.toThrow(/the store has no lines/);
  });

  test('for nobody, to run queued calls, never reject: what their store has done wrong is an outage', async () => {
    const hints = (): never => {
      throw new Error('broken');
    };
    const broken = Object.assign(Object.create(fleet.store) as typeof fleet.store, { hints });
    const events: string[] = [];
    const runner = new LockRunner(broken, 'a', fleet.clock, ({ type }) => void events.push(type), 2_000);
    const drainer = { jobs: new Map(), asks: () => undefined, standsBehind: () => undefined };
    await fleet.store.acquire({ name: 'lock', token: 'theirs', ttl: 60_000, holder: 'b' });
    const settings = { ...SETTINGS, ...MINUTE };
    const drained = runner.drain({ kind: 'drain', name: 'lock', job: undefined, settings }, drainer);
    await fleet.clock.advance(0);
    expect(await drained).toMatchObject({ ran: false, reason: 'store-unavailable' });
    expect(events).toEqual(['outage']);
  });

  test('for nobody, to run queued calls: a run whose lease was over when it ended is not confirmed', async () => {
    await enqueue('one');
    const job = gate();
    const settings = { ...SETTINGS, ...MINUTE };
    const queueJob = { job: 'other', lock: undefined, settings, run: () => job.opened, isGone: () => false };
    const jobs = new Map([['other', queueJob]]);
    const drainer = { jobs, asks: () => undefined, standsBehind: () => undefined };
    void fleet.instance('a').drain({ kind: 'drain', name: 'lock', job: undefined, settings }, drainer);
    await fleet.clock.advance(0);
    const [{ token = '', fencingToken = 0 } = {}] = await fleet.store.inspect(['lock']);
    const lease = { name: 'lock', token, fencingToken, ttl: 10_000, holder: 'a' };
    expect(await fleet.store.release(lease, { outcome: 'aborted' })).toEqual({ released: true });
    job.open();
    await fleet.clock.advance(0);
    expect(fleet.of('released')).toMatchObject([{ job: 'other', outcome: 'completed', confirmed: false }]);
  });
});
