import { StoreUnavailableError } from '../../../../../lib/base/errors.js';
import type {
  HistoryEntry,
  InstanceRecord,
  KnownJob,
  MissEntry,
  RunEntry,
} from '../../../../../lib/contract/history-store.js';
import type { LockStore } from '../../../../../lib/contract/lock-store.js';
import type { LockInfo } from '../../../../../lib/contract/lock-info.js';
import { EVERYTHING } from '../../../../../lib/contract/lock-store.js';
import { locksOnly } from '../../../../support/locks-only.js';

/** Sunday, 22 November 2026, 12:20:31 in Berlin. */
export const NOW = Date.UTC(2026, 10, 22, 11, 20, 31);
export const at = (hour: number, minute = 0, second = 0): number =>
  Date.UTC(2026, 10, 22, hour - 1, minute, second);
const MINUTE = 60_000;

/** What a store of a test tells. */
export interface Told {
  instances?: InstanceRecord[];
  entries?: HistoryEntry[];
  locks?: LockInfo[];
}

/** A store that only tells; whoever writes fails. */
export function storeOf({ instances = [], entries = [], locks = [] }: Told): LockStore {
  const refuse = (): Promise<never> => Promise.reject(new Error('the shell must not write'));
  return {
    ...locksOnly,
    label: 'Redis db:6379',
    keeps: EVERYTHING,
    acquire: refuse,
    extend: refuse,
    release: refuse,
    inspect: async (names) => locks.filter(({ name }) => names?.includes(name) ?? true),
    history: {
      interrupted: refuse,
      miss: refuse,
      told: refuse,
      beat: refuse,
      init: refuse,
      instances: async () => instances,
      entries: async ({ name }) => entries.filter(({ lock }) => lock === name),
    },
  };
}

/** A store that is away. */
export const storeAway = (
  message = 'Redis cannot be reached: connect ECONNREFUSED 10.0.0.7:6379.',
): never => {
  throw new StoreUnavailableError(message, { outcome: 'not-applied' });
};

export function job(name: string, more: Partial<KnownJob> = {}): KnownJob {
  return {
    job: name,
    lock: name,
    kind: 'cron',
    schedule: '*/10 * * * *',
    timeZone: 'Europe/Berlin',
    enabled: true,
    overdue: MINUTE,
    ...more,
  };
}

export function instance(name: string, jobs: KnownJob[], more: Partial<InstanceRecord> = {}): InstanceRecord {
  return {
    instance: name,
    startedAt: at(9),
    every: 30_000,
    version: '1.4.0',
    leads: [],
    left: false,
    seenAt: NOW - 5_000,
    time: NOW,
    jobs,
    ...more,
  };
}

export function run(name: string, startedAt: number, more: Partial<RunEntry> = {}): RunEntry {
  return {
    type: 'run',
    lock: name,
    job: name,
    fencingToken: startedAt * 1_000,
    instance: 'api-1:1:aa',
    tick: startedAt,
    attempt: 1,
    outcome: 'completed',
    at: startedAt + (more.duration ?? 12_000),
    duration: 12_000,
    ...more,
  };
}

export function miss(name: string, tick: number, more: Partial<MissEntry> = {}): MissEntry {
  return {
    type: 'miss',
    lock: name,
    job: name,
    tick,
    instance: 'api-1:1:aa',
    reason: 'not-fired',
    count: 1,
    at: tick + MINUTE,
    ...(more.reason === 'store-unavailable' && { until: more.at ?? tick + MINUTE }),
    ...more,
  };
}
