import type { AcquireRequest, AcquireResult, ExtendResult } from '../../../../lib/contract/lock-store.js';
import type { LeaseRef } from '../../../../lib/contract/lease-ref.js';
import { type LockEntry, ReferenceStore } from '../reference-store.js';
import { broken, type BrokenStore } from './broken-store.js';

class AnswersTheHeldOnesFirst extends ReferenceStore {
  override async extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    const results = await super.extend(leases);
    return results.sort((a, b) => Number(b.held) - Number(a.held));
  }
}

class AlwaysAnswersSomething extends ReferenceStore {
  override async extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return leases.length === 0 ? [{ held: true }] : super.extend(leases);
  }
}

class CutsBatches extends ReferenceStore {
  override extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    return super.extend(leases.slice(0, 500));
  }
}

class StopsAtABrokenLock extends ReferenceStore {
  override async extend(leases: readonly LeaseRef[]): Promise<ExtendResult[]> {
    let failed: ExtendResult | undefined;
    return leases.map((lease) => {
      const result = failed ?? this.extendOne(lease);
      if (result.held === null) failed = result;
      return result;
    });
  }
}

class JudgesAllAttemptsByTheFirst extends ReferenceStore {
  #first: AcquireRequest | undefined;

  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const { job, tick, interval } = (this.#first ??= request);
    await Promise.resolve().then(() => (this.#first = undefined));
    const { name, token, ttl, holder } = request;
    const start = { ...(job && { job }), ...(tick && { tick }), ...(interval && { interval }) };
    return super.acquire({ name, token, ttl, holder, ...start });
  }
}

class RefusesInBrief extends ReferenceStore {
  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    return request.brief ? { acquired: false, reason: 'held' } : super.acquire(request);
  }
}

class TakesBrokenForFree extends ReferenceStore {
  override lock(name: string): LockEntry | undefined {
    return this.locks.get(name) === 'broken' ? undefined : super.lock(name);
  }
}

class CountsAttemptsTwice extends ReferenceStore {
  override async acquire(request: AcquireRequest): Promise<AcquireResult> {
    const result = await super.acquire(request);
    return result.acquired ? { ...result, attempt: (request.attempt ?? 0) + 1 } : result;
  }
}

export const brokenBatches: readonly BrokenStore[] = [
  broken(
    'extend judges each lease of a batch alone, and answers in their order',
    "lease 1 of the batch should answer {'held':false,'reason':'expired'}, but answered {'held':true}",
    AnswersTheHeldOnesFirst,
  ),
  broken(
    'extend of no leases answers no results',
    'extend should answer 0 results, but answered 1',
    AlwaysAnswersSomething,
  ),
  broken(
    'extend takes any number of leases',
    'extend should answer 600 results, but answered 500',
    CutsBatches,
  ),
  broken(
    'a broken lock in a batch does not stop the others',
    "lease 4 of the batch should answer {'held':true}, but answered {'held':null,'error':'LockStateError: Lock \\'batch-2\\': broken on purpose'}",
    StopsAtABrokenLock,
  ),
  broken(
    'attempts and releases at the same time are each judged by their own request',
    "one attempt of many at once, for started should answer {'acquired':false,'reason':'already-ran','tick':1760000000000,'finished':true}, but answered {'acquired':true,'fencingToken':1767225600000001}",
    JudgesAllAttemptsByTheFirst,
  ),
  broken(
    'attempts at the same time that need only the reason of a refusal are judged alike',
    "one brief attempt of many at once, for plain should answer {'acquired':true}, but answered {'acquired':false,'reason':'held'}",
    RefusesInBrief,
  ),
  broken(
    'acquire and release of a broken lock fail with an error that names it',
    "acquire of a broken lock should reject, but answered {'acquired':true,'fencingToken':1767225600000001}",
    TakesBrokenForFree,
  ),
  broken(
    'job, tick and attempt do not change the life of a lease',
    'the first attempt was asked for, but attempt 2 was granted',
    CountsAttemptsTwice,
  ),
];
