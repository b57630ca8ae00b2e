import { SchedulerLockError } from '../../../lib/base/errors.js';
import type {
  AcquireRequest,
  AcquireResult,
  ExtendResult,
  LeaseRef,
} from '../../../lib/contract/lock-store.js';
import { answers, check, rejection, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, type Kit } from './kit.js';

/** More than any store takes in one statement: stores that cut a batch into pieces must put them together again. */
const LARGE = 600;
/** How many of its leases are taken at a time. */
const FEW = 20;

function checkLength(results: readonly ExtendResult[], length: number): void {
  check(
    results.length === length,
    () => `extend should answer ${length} results, but answered ${results.length}`,
  );
}

function checkStateError(error: unknown, name: string, what: string): void {
  const code = error instanceof SchedulerLockError ? error.code : undefined;
  check(
    code === 'LOCK_STATE',
    () => `${what} should fail with LockStateError, but failed with ${show(error)}`,
  );
  const { lock } = error as { lock?: unknown };
  check(
    lock === name,
    () => `the error of ${what} should name the lock ${show(name)}, but names ${show(lock)}`,
  );
}

/** Takes locks a few at a time: other cases test many attempts at once. */
async function takeAll(kit: Kit, count: number, label: string): Promise<LeaseRef[]> {
  const requests = Array.from({ length: count }, (_, i) => kit.request(kit.name(`${label}-${i}`)));
  const results: AcquireResult[] = [];
  for (let i = 0; i < count; i += FEW) results.push(...(await kit.storm(requests.slice(i, i + FEW))));
  return requests.map((request, i) => {
    const result = results[i];
    check(result?.acquired === true, () => `acquire of a free lock answered ${show(result)}`);
    return { ...request, fencingToken: result.fencingToken };
  });
}

/** Releases the leases of many attempts at once: one run has failed, one lock is to be kept. */
async function releaseAll(kit: Kit, leases: readonly LeaseRef[]): Promise<void> {
  await Promise.all(
    leases.map((lease) => {
      const { name } = lease;
      if (name === kit.name('tick')) return kit.store.release(lease, { outcome: 'failed' });
      return kit.store.release(lease, name === kit.name('kept') ? { keepFor: HOUR } : {});
    }),
  );
}

/** What the releases of many attempts at once have left behind. */
async function checkEnded(
  kit: Kit,
  { job, tick, interval }: { readonly job: string; readonly tick: number; readonly interval: number },
): Promise<void> {
  answers(
    await kit.refusal(kit.name('tick'), 'a tick that was started among others', { job, tick }),
    { reason: 'already-ran', tick, finished: true },
    'a second attempt for a tick that was started among others',
  );
  answers(
    await kit.refusal(kit.name('interval'), 'an interval that was started among others', {
      job,
      interval,
    }),
    { reason: 'already-ran' },
    'a second attempt for an interval that was started among others',
  );
  answers(
    await kit.refusal(kit.name('kept'), 'a lock that is kept after its lease'),
    { reason: 'cooling-down' },
    'an attempt at a lock that was given back among others, to be kept',
  );
}

/** Rule 8: many leases in one call, broken locks. */
export const batchCases: readonly CaseDefinition[] = [
  {
    rule: '8.1',
    sentence: 'extend judges each lease of a batch alone, and answers in their order',
    async run(kit) {
      const held = await kit.take(kit.name('held'));
      const taken = await kit.take(kit.name('taken'));
      const ended = await kit.take(kit.name('ended'));
      await kit.store.release(ended);
      const last = await kit.take(kit.name('last'));
      const longer = { ...last, ttl: 10 * HOUR };
      const batch = [ended, held, kit.stranger(taken.name), kit.stranger(held.name), ended, longer];
      const results = await kit.store.extend(batch);
      checkLength(results, batch.length);
      const expected = [
        { held: false, reason: 'expired' },
        { held: true, restored: undefined },
        { held: false, reason: 'taken', holder: taken.holder },
        { held: false, reason: 'taken', holder: held.holder },
        { held: false, reason: 'expired' },
        { held: true, restored: undefined },
      ];
      for (const [i, fields] of expected.entries())
        answers(results[i] ?? {}, fields, `lease ${i + 1} of the batch`);
      await kit.stillHeld(longer, 'the last lease of the batch');
      await kit.stillHeld(taken, "the lock of somebody else's lease");
    },
  },
  {
    rule: '8.1',
    sentence: 'extend of no leases answers no results',
    async run(kit) {
      checkLength(await kit.store.extend([]), 0);
    },
  },
  {
    rule: '8.2',
    sentence: 'extend takes any number of leases',
    async run(kit) {
      const leases = await takeAll(kit, LARGE, 'large');
      const batch = leases.map((lease, i) => {
        return i % 100 === 50 ? kit.stranger(lease.name) : { ...lease, ttl: 10 * HOUR };
      });
      const results = await kit.store.extend(batch);
      checkLength(results, LARGE);
      for (const [i, result] of results.entries()) {
        const expected =
          i % 100 === 50
            ? { held: false, reason: 'taken', holder: leases[i]?.holder }
            : { held: true, restored: undefined };
        answers(result, expected, `lease ${i + 1} of ${LARGE}`);
      }
      for (const lease of batch.filter((_, i) => i % 149 === 0))
        await kit.stillHeld(lease, 'after the batch');
    },
  },
  {
    rule: '8.1',
    sentence: 'a broken lock in a batch does not stop the others',
    needs: ['breakLock'],
    async run(kit) {
      const leases = await takeAll(kit, 5, 'batch');
      const broken = kit.name('batch-2');
      await kit.breakLock(broken);
      const batch = leases.map((lease) => ({ ...lease, ttl: 10 * HOUR }));
      const results = await kit.store.extend(batch);
      checkLength(results, batch.length);
      for (const [i, result] of results.entries()) {
        answers(result, { held: i === 2 ? null : true }, `lease ${i + 1} of the batch`);
        if (result.held === null) checkStateError(result.error, broken, 'extend of a broken lock');
      }
      for (const [i, lease] of batch.entries())
        if (i !== 2) await kit.stillHeld(lease, 'beside a broken lock');
    },
  },
  {
    rule: '8.1',
    sentence: 'attempts and releases at the same time are each judged by their own request',
    async run(kit) {
      const [job, tick, schedule, interval] = ['Contract.job', 1_760_000_000_000, '0 4 * * *', HOUR];
      const [plain, started, taken] = [kit.name('plain'), kit.name('started'), kit.name('taken')];
      await kit.store.release(await kit.take(started, { job, tick }));
      const held = await kit.take(taken);
      const asked: [name: string, fields: Partial<AcquireRequest>, answer: Partial<AcquireResult>][] = [
        [plain, {}, { acquired: true }],
        [kit.name('of-a-job'), { job }, { acquired: true }],
        [started, { job, tick, schedule }, { acquired: false, reason: 'already-ran', tick, finished: true }],
        [taken, {}, { acquired: false, reason: 'held', holder: held.holder }],
        [kit.name('tick'), { job, tick, schedule }, { acquired: true }],
        [kit.name('interval'), { job, interval }, { acquired: true }],
        [kit.name('kept'), {}, { acquired: true }],
      ];
      const requests = asked.map(([name, fields]) => kit.request(name, fields));
      // All by one instance: a store may send simultaneous calls together.
      const results = await Promise.all(requests.map((request) => kit.store.acquire(request)));
      for (const [i, [name, , answer]] of asked.entries())
        answers(results[i] ?? {}, answer, `one attempt of many at once, for ${name}`);
      const leases = requests.flatMap((request, i) => {
        const result = results[i];
        return result?.acquired ? [{ ...request, fencingToken: result.fencingToken }] : [];
      });
      await releaseAll(kit, leases);
      await kit.free(plain, 'after a release among others');
      await checkEnded(kit, { job, tick, interval });
      await kit.stillHeld(held, 'the lock that one attempt of many was refused');
    },
  },
  {
    rule: '8.1',
    sentence: 'attempts at the same time that need only the reason of a refusal are judged alike',
    async run(kit) {
      const [job, tick] = ['Contract.job', 1_760_000_000_000];
      const [started, kept] = [kit.name('started'), kit.name('kept')];
      await kit.store.release(await kit.take(started, { job, tick }));
      await kit.store.release(await kit.take(kept), { keepFor: HOUR });
      const held = await kit.take(kit.name('taken'));
      const asked: [name: string, fields: Partial<AcquireRequest>, answer: Partial<AcquireResult>][] = [
        [kit.name('plain'), {}, { acquired: true }],
        [held.name, { job, tick }, { acquired: false, reason: 'held' }],
        [kit.name('tick'), { job, tick }, { acquired: true }],
        [kept, {}, { acquired: false, reason: 'cooling-down' }],
        [started, { job, tick }, { acquired: false, reason: 'already-ran' }],
        [kit.name('another'), { job, tick }, { acquired: true }],
        [held.name, {}, { acquired: false, reason: 'held' }],
      ];
      const requests = asked.map(([name, fields]) => kit.request(name, { ...fields, brief: true }));
      const results = await Promise.all(requests.map((request) => kit.store.acquire(request)));
      for (const [i, [name, , answer]] of asked.entries())
        answers(results[i] ?? {}, answer, `one brief attempt of many at once, for ${name}`);
      for (const [i, request] of requests.entries()) {
        const result = results[i];
        if (result?.acquired)
          await kit.stillHeld({ ...request, fencingToken: result.fencingToken }, 'after a brief attempt');
      }
      await kit.stillHeld(held, 'the lock that brief attempts were refused');
    },
  },
  {
    rule: '8.1',
    sentence: 'acquire and release of a broken lock fail with an error that names it',
    needs: ['breakLock'],
    async run(kit) {
      const lease = await kit.take(kit.name('broken'));
      await kit.breakLock(lease.name);
      const acquired = await rejection(
        kit.store.acquire(kit.request(lease.name)),
        'acquire of a broken lock',
      );
      checkStateError(acquired, lease.name, 'acquire of a broken lock');
      const released = await rejection(kit.store.release(lease), 'release of a broken lock');
      checkStateError(released, lease.name, 'release of a broken lock');
      const other = await kit.take(kit.name('whole'));
      answers(await kit.extend(other), { held: true }, 'extend of another lock');
    },
  },
  {
    rule: '8.3',
    sentence: 'job, tick and attempt do not change the life of a lease',
    async run(kit) {
      const run = { job: 'Contract.job:é%s', tick: 1_760_000_000_123, attempt: 1 };
      const request = kit.request(kit.name(), run);
      const result = await kit.store.acquire(request);
      check(result.acquired, () => `acquire with job, tick and attempt answered ${show(result)}`);
      check(result.attempt === undefined || result.attempt === run.attempt, () => {
        return `the first attempt was asked for, but attempt ${String(result.attempt)} was granted`;
      });
      const lease = { ...request, fencingToken: result.fencingToken };
      await kit.stillHeld(lease, 'during the lease of a job');
      answers(await kit.extend(lease), { held: true, restored: undefined }, 'extend of the lease of a job');
      answers(await kit.store.release(lease), { released: true }, 'release of the lease of a job');
      await kit.free(lease.name, 'after the job');
    },
  },
];
