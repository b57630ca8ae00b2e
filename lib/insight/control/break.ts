import { given } from '../../base/shared.js';
import { starterOf } from '../controls.js';
import { leasesOf } from '../join.js';
import type { LockInfo } from '../../contract/lock-info.js';
import type { LeaseRef } from '../../contract/lock-store.js';
import { Given } from './check.js';
import { actOf, type Desk, KEPT } from './desk.js';
import type { BreakRequest, BreakResult } from './types.js';

/** Ends the lease that a person has seen, and no other one. */
export async function breakLease(desk: Desk, request: BreakRequest): Promise<BreakResult> {
  const asked = new Given('break()', request, true);
  asked.name('lock', request.lock);
  asked.fencingToken(request.fencingToken);
  asked.done();
  const { lock, fencingToken } = request;
  const info = await desk.look(lock);
  if (info?.token === undefined || info.fencingToken !== fencingToken) return gone(lock, info);
  const lease = leaseOf(info, { token: info.token, fencingToken });
  // If a person has started the run, the record of its end says so, too.
  const entries = await desk.entriesOf(lock).catch(() => []);
  const run = entries.find((entry) => entry.fencingToken === fencingToken);
  const act = actOf('break', request, run && starterOf(run));
  const record = { kept: KEPT, duration: Math.max(0, info.time - (info.since ?? info.time)), by: act };
  // With this outcome, completed runs do not push the record out of the history.
  const { released } = await desk.ask(desk.store.release(lease, { outcome: 'aborted', record }));
  if (!released) return gone(lock, await desk.look(lock));
  // The store writes the record before it answers a read of the history: the caller may end the process next.
  await desk.entriesOf(lock).catch(() => undefined);
  const { holder, job } = lease;
  desk.tell(lock, act, { fencingToken, ...given({ job }) });
  return { result: 'broken', lock, fencingToken, holder, ...given({ job }) };
}

/** The lease, with the start of the job that it records: its release marks that start as interrupted. */
function leaseOf(info: LockInfo, own: Pick<LeaseRef, 'token' | 'fencingToken'>): LeaseRef {
  const { name, holder = '', expiresIn = 1, job } = info;
  const [run] = leasesOf({ lock: info, entries: [] });
  return {
    name,
    ...own,
    ttl: Math.max(1, Math.ceil(expiresIn)),
    holder,
    ...given({ job, tick: run?.tick, attempt: run?.attempt }),
  };
}

function gone(lock: string, info: LockInfo | undefined): BreakResult {
  if (info?.state !== 'held') return { result: 'gone', lock };
  const { token, fencingToken, holder } = info;
  // A lock that another program has may still show the fencing token of our newest lease.
  const isOurs = token !== undefined && fencingToken !== undefined;
  return {
    result: 'gone',
    lock,
    held: true,
    ...given({ fencingToken: isOurs ? fencingToken : undefined, holder }),
  };
}
