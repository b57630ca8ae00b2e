import { setTimeout as sleep } from 'node:timers/promises';
import { holderOf } from './holder.js';
import { type HistoryWriter, monotonic } from './history.js';
import type { Member } from './member.js';
import type { Injection, InstanceFault, StoreFault } from './plan.js';
import type { ChaosStore } from './stores/store.js';

/** Ends a fault. */
type Cure = () => void | Promise<void>;

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
        // What was asked and never answered would confuse whoever reads the next answer.
        proxy.cut();
      };
    },
    delay: ({ proxy }, { delay = 0 }) => {
      proxy.delay(delay);
      return () => proxy.delay(0);
    },
    cut: ({ proxy }) => {
      proxy.cut();
      return () => undefined;
    },
  };

const STORE_FAULTS: Record<StoreFault, (store: ChaosStore) => Cure | Promise<Cure>> = {
  'store-restart': async (store) => {
    await store.crash();
    return () => store.restart({ empty: false });
  },
  'store-wipe': async (store) => {
    await store.crash();
    return () => store.restart({ empty: true });
  },
  'store-freeze': (store) => {
    store.freeze();
    return () => store.thaw();
  },
  'store-flush': async (store) => {
    await store.flush();
    return () => undefined;
  },
  'forget-scripts': async (store) => {
    await store.forgetScripts();
    return () => undefined;
  },
};

/** Does to a fleet and its store what a plan says, and writes down what it did. */
export class Injector {
  /** Injected faults by their names; those that found nobody to hit are not among them. */
  readonly counts = new Map<string, number>();
  #storeBusy = false;

  constructor(
    private readonly members: readonly Member[],
    private readonly store: ChaosStore,
    private readonly history: HistoryWriter,
  ) {}

  /** Resolves when the fault is over. */
  async inject(injection: Injection): Promise<void> {
    const { fault } = injection;
    if (fault === 'rolling-restart') return this.#rollingRestart(injection);
    if (fault in STORE_FAULTS) return this.#onStore(injection, fault as StoreFault);
    return this.#onMember(injection, fault as InstanceFault);
  }

  async #onMember(injection: Injection, fault: InstanceFault): Promise<void> {
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

  async #onStore(injection: Injection, fault: StoreFault): Promise<void> {
    if (this.#storeBusy) return;
    this.#storeBusy = true;
    this.#note(injection);
    const cure = await STORE_FAULTS[fault](this.store);
    await sleep(injection.lasts);
    await cure();
    this.#cured(injection);
    this.#storeBusy = false;
  }

  /** One after the other, as a deploy does it. One that is in trouble anyhow is left to that. */
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

  #victim({ holderOf: lock, instance = 0 }: Injection): Member | undefined {
    const holder = lock === undefined ? undefined : holderOf(lock, this.members);
    const inOrder = [...this.members.slice(instance), ...this.members.slice(0, instance)];
    return [...(holder === undefined ? [] : [holder]), ...inOrder].find(({ busy }) => !busy);
  }

  #note({ id, fault }: Injection, member?: Member): void {
    this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
    const loses = fault === 'store-wipe' || fault === 'store-flush';
    const line = { k: 'fault', m: monotonic(), id, fault, loses } as const;
    this.history.write(
      member === undefined ? { ...line, on: 'store' } : { ...line, on: 'instance', i: member.name },
    );
  }

  #cured({ id }: Injection): void {
    this.history.write({ k: 'cured', m: monotonic(), id });
  }
}
