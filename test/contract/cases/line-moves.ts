import type {
  AcquireRequest,
  AcquireResult,
  LeaseRef,
  WaitRequest,
} from '../../../lib/contract/lock-store.js';
import { check, show } from '../../../lib/testing/port/assert.js';
import { HOUR, SHORT, type Kit } from './kit.js';

/** How long a lock is reserved for the call that is called, and a little longer, ms. */
export const CALLED = 2_100;

/** An attempt that may stand in line. */
export function waits(kit: Kit, name: string, fields: Partial<WaitRequest> = {}): AcquireRequest {
  return kit.request(name, { wait: { limit: HOUR, priority: 0, process: 'one', ...fields } });
}

/** Attempts that stand in line, in this order, while another holder has the lock. */
export async function stand(kit: Kit, requests: readonly AcquireRequest[]): Promise<LeaseRef> {
  const [{ name } = { name: '' }] = requests;
  const lease = await kit.take(name);
  for (const request of requests)
    await refused(kit, request, 'an attempt that waits, while the lock is taken');
  return lease;
}

/** An attempt that stands in line for a lock whose lease has run out, and was released only then. */
export async function standAtRunOut(kit: Kit): Promise<AcquireRequest> {
  // On a busy machine the lease may have run out before the attempt came.
  for (let ttl = SHORT; ; ttl *= 2) {
    const lease = await kit.take(kit.name(), { ttl });
    const first = waits(kit, lease.name);
    const answer = await kit.store.acquire(first);
    await kit.wait(2 * ttl);
    const { released } = await kit.store.release(lease);
    check(!released, 'a lease that has run out should not be released');
    if (!answer.acquired) return first;
    // The next round takes the same lock.
    await kit.store.release({ ...first, fencingToken: answer.fencingToken });
  }
}

export async function refused(kit: Kit, request: AcquireRequest, what: string): Promise<void> {
  const result = await kit.store.acquire(request);
  check(
    !result.acquired && result.reason === 'held',
    () => `${what} should be refused as held, but got ${show(result)}`,
  );
}

export async function granted(kit: Kit, request: AcquireRequest, what: string): Promise<LeaseRef> {
  const result: AcquireResult = await kit.store.acquire(request);
  check(result.acquired, () => `${what} should be granted, but got ${show(result)}`);
  const { wait: _wait, ...rest } = request;
  return { ...rest, fencingToken: result.fencingToken };
}

export const leave = (kit: Kit, request: AcquireRequest): Promise<unknown> =>
  kit.store.release({ ...request, fencingToken: 0 }, { outcome: 'abandoned' });
