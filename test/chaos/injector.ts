import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerClock } from './server-clock.js';
import { delivererOf, headOf, holderOf } from './holder.js';
import { type FaultLine, type HistoryWriter, monotonic } from './history.js';
import { HOOK, JOBS, VOLLEY } from './jobs.js';
import type { Member } from './member.js';
import {
  type Injection,
  type InstanceFault,
  isLoss,
  isSwitch,
  type StoreFault,
  type SwitchFault,
} from './plan.js';
import type { ChaosStore } from './stores/store.js';

/** Ends a fault. */
type Cure = () => void | Promise<void>;

/** How long before a tick those faults begin that wait for one, ms. */
const LEAD = 200;
/**
 * How long after the tick answers are still lost, ms: less than STORE_TIMEOUT, or the instance would take its acquire back.
 */
const ANSWERED = 250;

const INSTANCE_FAULTS: Record<InstanceFault, (member: Member, injection: Injection) => Cure | Promise<Cure>> =
  {
    kill: async (member) => {
      await member.kill();
      return () => member.start();
    },
    pause: (member) => {
      member.pause();
      return () => member.resume();
    },
    refuse: async ({ proxy }) => {
      await proxy.refuse();
      return () => proxy.refuse(false);
    },
    'black-hole': ({ proxy }) => {
      proxy.freeze();
      return () => proxy.thaw();
    },
    'lose-replies': ({ proxy }) => {
      const fault = proxy.swallowReplies();
      return () => {
        fault.stop();
        // The client would take the next answer for that of an earlier request.
        proxy.cut();
      };
    },
    delay: (member, { delay }) => {
      member.delay(delay);
      return () => member.delay();
    },
    cut: ({ proxy }) => {
      proxy.cut();
      return () => undefined;
    },
    'lose-then-partition': async ({ proxy }) => {
      const fault = proxy.swallowReplies();
      await sleep(LEAD + ANSWERED);
      proxy.cut();
      proxy.freeze();
      fault.stop();
      return () => proxy.thaw();
    },
    'throwing-logger': (member) => {
      member.breakLogger(true);
      return () => member.breakLogger(false);
    },
  };

type StoreFaults = Record<
  Exclude<StoreFault, 'store-old-snapshot' | 'store-clock'>,
  (store: ChaosStore) => Cure | Promise<Cure>
>;

const freeze = (store: ChaosStore): Cure => {
  store.freeze();
  return () => store.thaw();
};

const STORE_FAULTS: StoreFaults = {
  'store-restart': async (store) => {
    await store.crash();
    return () => store.restart({ data: 'kept' });
  },
  'store-wipe': async (store) => {
    await store.crash();
    return () => store.restart({ data: 'lost' });
  },
  'store-freeze': freeze,
  'store-long-freeze': freeze,
  'store-flush': async (store) => {
    await store.flush();
    return () => undefined;
  },
  'forget-scripts': async (store) => {
    await store.forgetScripts();
    return () => undefined;
  },
};

/** How long a fault waits at most for the run that it is to hit, and how often it looks, ms. */
const AIMS = 2_000;
const LOOKS = 5;

/** How long it takes until all can know that a lock is resumed, ms. */
const RESUMED = 1_000;

/** Injects the faults of a plan into a fleet and its store, and records them. */
export class Injector {
  /** How often each fault was injected, by its name, without those that found no target. */
  readonly counts = new Map<string, number>();
  #storeBusy = false;

  constructor(
    private readonly members: readonly Member[],
    private readonly store: ChaosStore,
    private readonly history: HistoryWriter,
    /** The clock of the store, if it is not the true one. */
    private readonly clock?: ServerClock,
  ) {}

  /** Resolves when the fault is over. */
  async inject(injection: Injection): Promise<void> {
    const { fault } = injection;
    if (fault === 'rolling-restart') return this.#rollingRestart(injection);
    if (fault === 'blackout') return this.#blackout(injection);
    if (fault === 'store-old-snapshot') return this.#oldSnapshot(injection);
    if (fault === 'store-clock' || fault in STORE_FAULTS)
      return this.#onStore(injection, fault as Exclude<StoreFault, 'store-old-snapshot'>);
    if (isSwitch(fault)) return this.#onSwitch(injection, fault);
    return this.#onMember(injection, fault as InstanceFault);
  }

  /** Somebody pauses a lock, or ends the lease that has it, on an instance that other faults may hit meanwhile. */
  async #onSwitch(injection: Injection, fault: SwitchFault): Promise<void> {
    const { holderOf: lock = 'long', instance = 0, lasts } = injection;
    const member = this.#victim({ id: injection.id, at: 0, lasts, fault, instance });
    if (member === undefined) return;
    this.#note(injection);
    member.switch(fault === 'switch-pause' ? 'pause' : 'break', lock, lasts);
    await sleep(lasts);
    // Whoever has paused it may be dead by now.
    if (fault === 'switch-pause')
      for (const each of this.members) if (!each.busy) each.switch('resume', lock);
    await sleep(RESUMED);
    this.#cured(injection);
  }

  async #onMember(injection: Injection, fault: InstanceFault): Promise<void> {
    await this.#tickComes(injection);
    await this.#queuedCallRuns(injection);
    const member = this.#victim(injection);
    if (member === undefined) return;
    member.busy = true;
    this.#note(injection, member);
    const cure = await INSTANCE_FAULTS[fault](member, injection);
    await sleep(injection.lasts);
    await cure();
    this.#cured(injection);
    member.busy = false;
  }

  async #onStore(injection: Injection, fault: Exclude<StoreFault, 'store-old-snapshot'>): Promise<void> {
    await this.#tickComes(injection);
    if (this.#storeBusy) return;
    this.#storeBusy = true;
    const { ahead } = injection;
    this.#note(injection, undefined, ahead === undefined ? {} : { ahead });
    const cure = fault === 'store-clock' ? this.#setClock(ahead) : await STORE_FAULTS[fault](this.store);
    await sleep(injection.lasts);
    await cure();
    this.#cured(injection);
    this.#storeBusy = false;
  }

  /** Nothing is wrong until the server is gone. */
  async #oldSnapshot(injection: Injection): Promise<void> {
    if (this.#storeBusy) return;
    this.#storeBusy = true;
    const since = monotonic();
    await this.store.snapshot?.();
    await sleep(injection.lasts);
    this.#note(injection, undefined, { since });
    await this.store.crash();
    await this.store.restart({ data: 'old' });
    this.#cured(injection);
    this.#storeBusy = false;
  }

  #setClock(ahead = 0): Cure {
    this.clock?.set(ahead);
    return () => this.clock?.set(0);
  }

  /** Resolves a moment before the first instance that is not in trouble fires the next tick of a job, or `after` that. */
  async #tickComes({ tickOf, after = -LEAD }: Injection): Promise<void> {
    if (tickOf === undefined) return;
    const { every = 1_000 } = [...Object.values(JOBS), VOLLEY].find(({ job }) => job === tickOf) ?? {};
    const ahead = (): number => this.#inOrder.find(({ busy }) => !busy)?.offset ?? 0;
    const tick = Math.ceil((Date.now() + ahead() - after) / every) * every;
    for (let left = Infinity; left > 0;) {
      left = tick + after - ahead() - Date.now();
      // In steps, as other instances may get into trouble meanwhile.
      await sleep(Math.max(0, Math.min(left, LEAD)));
    }
  }

  /** Resolves as soon as somebody runs a webhook that was kept, if the fault is to hit that: such runs are short. */
  async #queuedCallRuns({ holderOf: lock }: Injection): Promise<void> {
    if (lock !== HOOK.lock) return;
    const until = monotonic() + AIMS;
    while (monotonic() < until && delivererOf(lock, this.members) === undefined) await sleep(LOOKS);
  }

  /** The instances in the order in which they fire a tick. */
  get #inOrder(): Member[] {
    return this.members.toSorted((a, b) => b.offset - a.offset);
  }

  /** Restarts one instance after the other, as a deploy does. Skips an instance that is in trouble. */
  async #rollingRestart(injection: Injection): Promise<void> {
    this.counts.set(injection.fault, (this.counts.get(injection.fault) ?? 0) + 1);
    for (const member of this.members) {
      if (member.busy) continue;
      member.busy = true;
      await member.stop();
      await sleep(injection.lasts);
      await member.start();
      member.busy = false;
    }
  }

  /** Kills all instances at the same time, and starts them again, as after a power cut. Spares those that are in trouble. */
  async #blackout(injection: Injection): Promise<void> {
    await this.#tickComes(injection);
    const members = this.members.filter(({ busy }) => !busy);
    for (const member of members) member.busy = true;
    this.counts.set(injection.fault, (this.counts.get(injection.fault) ?? 0) + 1);
    for (const member of members) this.#write(injection, member);
    await Promise.all(members.map((member) => member.kill()));
    await sleep(injection.lasts);
    await Promise.all(members.map((member) => member.start()));
    this.#cured(injection);
    for (const member of members) member.busy = false;
  }

  #victim({ holderOf: lock, headOf: line, instance = 0, tickOf }: Injection): Member | undefined {
    if (tickOf !== undefined) return this.#inOrder.find(({ busy }) => !busy);
    const holder = lock === undefined ? undefined : holderOf(lock, this.members);
    const head = line === undefined ? undefined : headOf(line, this.members);
    const aimedAt = head ?? holder;
    const inOrder = [...this.members.slice(instance), ...this.members.slice(0, instance)];
    return [...(aimedAt === undefined ? [] : [aimedAt]), ...inOrder].find(({ busy }) => !busy);
  }

  #note(injection: Injection, member?: Member, more: Pick<FaultLine, 'since' | 'ahead'> = {}): void {
    this.counts.set(injection.fault, (this.counts.get(injection.fault) ?? 0) + 1);
    this.#write(injection, member, more);
  }

  #write({ id, fault }: Injection, member?: Member, more: Pick<FaultLine, 'since' | 'ahead'> = {}): void {
    const line = { k: 'fault', m: monotonic(), id, fault, loses: isLoss(fault), ...more } as const;
    this.history.write(
      member === undefined ? { ...line, on: 'store' } : { ...line, on: 'instance', i: member.name },
    );
  }

  #cured({ id }: Injection): void {
    this.history.write({ k: 'cured', m: monotonic(), id });
  }
}
