import { isRun } from '../../../lib/insight/controls.js';
import type { LockInfo, LockStore } from 'nestjs-scheduler-lock';
import type { HistoryEntry } from '../../../lib/contract/history-store.js';
import { RedisLockStore } from 'nestjs-scheduler-lock/redis';
import { monotonic, type StoredLine } from '../history.js';
import { MOST_KEPT } from '../jobs.js';
import type { StoreConnection } from './store.js';
import { storeOptions } from './worker-options.js';

/** How many locks are asked for at the same time. */
const AT_ONCE = 20;

/** What a store has kept of these locks. */
export async function readKept(connection: StoreConnection, locks: readonly string[]): Promise<StoredLine[]> {
  const { host, port } = connection;
  const { store: given } = storeOptions(connection);
  const store = typeof given === 'object' ? given : new RedisLockStore(`redis://${host}:${port}`);
  await store.init?.();
  try {
    const kept: StoredLine[] = [];
    for (let from = 0; from < locks.length; from += AT_ONCE)
      kept.push(...(await readSome(store, locks.slice(from, from + AT_ONCE))));
    return kept;
  } finally {
    await store.close?.();
  }
}

async function readSome(store: LockStore, names: readonly string[]): Promise<StoredLine[]> {
  const infos = new Map((await store.inspect?.(names))?.map((info) => [info.name, info]));
  return Promise.all(
    names.map(async (name) => {
      const entries = (await store.history?.entries({ name, limit: MOST_KEPT })) ?? [];
      return storedLine(name, entries, infos.get(name));
    }),
  );
}

function storedLine(lock: string, entries: readonly HistoryEntry[], info: LockInfo | undefined): StoredLine {
  const goesOn = info?.state === 'held' || info?.interrupted === true;
  return {
    k: 'stored',
    m: monotonic(),
    lock,
    runs: entries.flatMap((entry) =>
      entry.type === 'run' && isRun(entry) ? [{ ...entry, token: entry.fencingToken }] : [],
    ),
    misses: entries.filter((entry) => entry.type === 'miss'),
    ...(goesOn && info.fencingToken !== undefined && { unended: info.fencingToken }),
  };
}
