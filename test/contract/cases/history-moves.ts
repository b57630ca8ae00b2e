import { randomUUID as uuid } from 'node:crypto';
import type { NextOptions } from '../../../lib/contract/queued-call-store.js';
import type {
  HistoryEntry,
  HistoryStore,
  Retention,
  Miss,
  RunEntry,
  RunRecord,
} from '../../../lib/contract/history-store.js';
import type { AcquireRequest, LeaseRef, ReleaseOptions } from '../../../lib/contract/lock-store.js';
import { check, show } from '../../../lib/testing/port/assert.js';
import { HOUR, type Kit, MONTH } from './kit.js';

/** A tick of long ago. */
export const TICK = 1_760_000_000_000;
export const KEPT: Retention = { count: 100, age: MONTH };

export const history = ({ store }: Kit): HistoryStore => store.history;

export const entries = (kit: Kit, name: string, limit = 1_000): Promise<HistoryEntry[]> =>
  history(kit).entries({ name, limit });

export const record = (fields: Partial<RunRecord> = {}): RunRecord =>
  Object.freeze({ kept: KEPT, duration: 5, ...fields });

/** The miss of an instance that has seen nobody start a tick. */
export const missOf = (name: string, fields: Partial<Miss> = {}): Miss =>
  Object.freeze({
    name,
    job: 'job',
    instance: 'host:1:a',
    tick: TICK,
    reason: 'held',
    count: 1,
    kept: KEPT,
    ...fields,
  });

/** Takes a free lock, for a run that the store remembers. */
export const begin = (kit: Kit, name: string, fields: Partial<AcquireRequest> = {}): Promise<LeaseRef> =>
  kit.take(name, { history: true, job: 'job', ...fields });

/** The one entry of a run. A store may keep the entry a little later. */
export async function told(
  kit: Kit,
  { name, fencingToken }: LeaseRef,
  what: string,
  isIt: (entry: RunEntry) => boolean = () => true,
): Promise<RunEntry> {
  let found: RunEntry[] = [];
  await kit.until(`${what} should be listed`, async () => {
    found = (await entries(kit, name)).filter(
      (entry) => entry.type === 'run' && entry.fencingToken === fencingToken,
    ) as RunEntry[];
    return found.some(isIt);
  });
  check(found.length === 1, () => `${what} should be listed once, but got ${show(found)}`);
  return found[0] as RunEntry;
}

/** A run from its start to its end. Once its entry is there, all entries that were sent before are there, too. */
export async function run(
  kit: Kit,
  name: string,
  { record: how = record(), ...options }: ReleaseOptions = {},
): Promise<LeaseRef> {
  const lease = await begin(kit, name);
  await kit.store.release(lease, { ...options, record: how });
  await told(kit, lease, 'a run that has ended');
  return lease;
}

/** Lets time pass until the lock is free, and takes it. Also returns what the grant says about the lease before. */
export async function takesOver(
  kit: Kit,
  name: string,
  fields: Partial<AcquireRequest> = { history: true },
): Promise<{ lease: LeaseRef; interrupted: Partial<LeaseRef> | undefined }> {
  const found: Awaited<ReturnType<typeof takesOver>>[] = [];
  await kit.until('the lock should be free', async () => {
    const request = kit.request(name, fields);
    const result = await kit.store.acquire(request);
    if (!result.acquired) return false;
    const { fencingToken, interrupted } = result;
    return found.push({ lease: { ...request, fencingToken }, interrupted }) > 0;
  });
  return found[0] as (typeof found)[0];
}

/** What an instance sends about a run that was interrupted. */
export const interruption = ({ name, fencingToken, holder, job = '' }: LeaseRef) =>
  Object.freeze({ name, fencingToken, holder, job, kept: KEPT });

/** Keeps a queued call of the lock of a lease. Returns its id. */
export async function keepsQueuedCall(kit: Kit, { name, job = '' }: LeaseRef): Promise<string> {
  const id = uuid();
  await kit.store.queuedCalls?.enqueue({ name, id, job, args: '[]', priority: 0, max: 10, redeliver: 1 });
  return id;
}

/** Takes the next queued call. Returns the lease with it. */
export async function takesQueuedCall(
  kit: Kit,
  lease: LeaseRef,
  { queuedCall, ...end }: Omit<NextOptions, 'takes'> & { readonly queuedCall: string },
  ttl = HOUR,
): Promise<LeaseRef> {
  const result = await kit.store.queuedCalls?.next(lease, { ...end, takes: [{ job: 'job', ttl }] });
  if (result?.queuedCall !== undefined && result.queuedCall.id === queuedCall)
    return { ...lease, fencingToken: result.fencingToken, queuedCall };
  throw new Error(`the queued call should be delivered, but got ${show(result)}`);
}
