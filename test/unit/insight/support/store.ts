import type { HistoryEntry, InstanceRecord, RunEntry } from '../../../../lib/contract/history-store.js';
import type { LockStore } from '../../../../lib/contract/lock-store.js';
import type { LockInfo } from '../../../../lib/contract/lock-info.js';
import { at, JOB } from './facts.js';

/** When the store is asked. */
export const NOW = at('03:10');

/** A run that has ended, as a store keeps it. */
export const entry = (startedAt: number, more: Partial<RunEntry> = {}): RunEntry => ({
  type: 'run',
  lock: 'invoices',
  job: JOB.job,
  fencingToken: startedAt * 1_000 + 7,
  instance: 'api-1',
  outcome: 'completed',
  at: startedAt + 12_000,
  duration: 12_000,
  ...more,
});

/** An instance that is up. */
export const instance = (name: string, more: Partial<InstanceRecord> = {}): InstanceRecord => {
  const { jobs = [JOB], ...rest } = more;
  return {
    instance: name,
    startedAt: at('12:00', 21),
    every: 30_000,
    leads: [],
    left: false,
    seenAt: NOW - 10_000,
    time: NOW,
    jobs,
    ...rest,
  };
};

export const lockInfo = (more: Partial<LockInfo> = {}): LockInfo => ({
  name: 'invoices',
  time: NOW,
  state: 'free',
  jobs: [],
  ...more,
});

/** A store that knows what it is given, and counts how often it is asked. */
export class FakeStore {
  instances: InstanceRecord[] = [instance('api-1')];
  locks: LockInfo[] = [];
  entries: HistoryEntry[] = [];
  /** Why it tells of no runs. */
  refusal: Error | undefined;
  readonly asked: string[] = [];
  /** How many calls were under way at the same time. */
  atOnce = 0;
  #underWay = 0;

  readonly store = {
    label: 'a fake',
    keeps: { histories: true },
    inspect: (names?: readonly string[]) => {
      this.asked.push(`inspect ${names === undefined ? 'all' : names.length}`);
      return Promise.resolve(this.locks.filter(({ name }) => names?.includes(name)));
    },
    history: {
      instances: () => Promise.resolve(this.instances),
      entries: async ({ name, limit }: { name: string; limit: number }) => {
        this.asked.push(`entries ${name} ${limit}`);
        this.#underWay += 1;
        this.atOnce = Math.max(this.atOnce, this.#underWay);
        await Promise.resolve();
        this.#underWay -= 1;
        if (this.refusal !== undefined) throw this.refusal;
        return this.entries.filter(({ lock }) => lock === name).slice(0, limit);
      },
    },
  } as unknown as LockStore;
}
