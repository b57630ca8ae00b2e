import { randomUUID as uuid } from 'node:crypto';
import type {
  Enqueued,
  QueuedCallStore,
  NewQueuedCall,
  NextOptions,
  NextResult,
} from '../../../lib/contract/queued-call-store.js';
import type { LeaseRef } from '../../../lib/contract/lock-store.js';
import { check, show } from '../../../lib/testing/port/assert.js';
import { HOUR, type Kit } from './kit.js';

export const TAKES = [{ job: 'job', ttl: HOUR }];

export type Taken = Extract<NextResult, { readonly fencingToken: number }>;

export const queuedCalls = ({ store }: Kit): QueuedCallStore => store.queuedCalls;

export const queuedCall = (name: string, fields: Partial<NewQueuedCall> = {}): NewQueuedCall =>
  Object.freeze({
    name,
    id: uuid(),
    job: 'job',
    args: '["a"]',
    priority: 0,
    max: 10,
    redeliver: 1,
    ...fields,
  });

export async function keep(
  kit: Kit,
  one: NewQueuedCall,
): Promise<Extract<Enqueued, { readonly queued: true }>> {
  const result = await queuedCalls(kit).enqueue(one);
  if (result.queued) return result;
  throw new Error(`a queued call should be kept while there is room, but got ${show(result)}`);
}

export const next = (kit: Kit, lease: LeaseRef, options: Partial<NextOptions> = {}): Promise<NextResult> =>
  queuedCalls(kit).next(lease, { takes: TAKES, ...options });

/** Takes the next queued call, which has to be this one. Returns the lease with it. */
export async function takes(
  kit: Kit,
  lease: LeaseRef,
  id: string,
  { what, ...options }: Partial<NextOptions> & { readonly what: string },
): Promise<LeaseRef & Pick<Taken, never>> {
  const result = await next(kit, lease, options);
  check(
    result.queuedCall?.id === id,
    () => `${what} should be the queued call of the next run, but got ${show(result.queuedCall ?? result)}`,
  );
  return { ...lease, fencingToken: (result as Taken).fencingToken, queuedCall: id };
}

export async function none(
  kit: Kit,
  lease: LeaseRef,
  what: string,
  options: Partial<NextOptions> = {},
): Promise<NextResult> {
  const result = await next(kit, lease, options);
  check(
    result.queuedCall === undefined,
    () => `${what}: there should be no queued call to run, but got ${show(result.queuedCall)}`,
  );
  return result;
}
