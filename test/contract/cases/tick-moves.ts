import type { AcquireRequest, AcquireResult, LeaseRef } from '../../../lib/contract/lock-store.js';
import { check, show } from '../../../lib/testing/port/assert.js';
import type { Kit } from './kit.js';

/** A tick long ago, so that no clock matters. */
export const TICK = 1_760_000_000_000;
export const JOB = 'Contract.job';
export const OTHER = 'Contract.other';

/** One attempt for a tick, which may be refused. */
export async function attempt(
  kit: Kit,
  name: string,
  fields: Partial<AcquireRequest>,
): Promise<[AcquireResult, LeaseRef]> {
  const request = kit.request(name, { job: JOB, tick: TICK, ...fields });
  const result = await kit.store.acquire(request);
  return [result, { ...request, fencingToken: result.acquired ? result.fencingToken : 0 }];
}

/** Starts a tick and ends it. */
export async function start(
  kit: Kit,
  name: string,
  fields: Partial<AcquireRequest> = {},
  options?: Parameters<Kit['store']['release']>[1],
): Promise<AcquireResult> {
  const [result, lease] = await attempt(kit, name, fields);
  check(result.acquired, () => `a tick that may start was refused: ${show(result)}`);
  await kit.store.release(lease, options);
  return result;
}
