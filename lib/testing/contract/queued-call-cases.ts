import { v4 as uuid } from 'uuid';
import type {
  Enqueued,
  QueuedCallStore,
  NewQueuedCall,
  NextOptions,
  NextResult,
} from '../../stores/queued-call-store.js';
import type { LeaseRef } from '../../stores/lock-store.js';
import { answers, check, show } from './assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR, type Kit, SHORT } from './kit.js';

const TAKES = [{ job: 'job', ttl: HOUR }];

type Taken = Extract<NextResult, { readonly fencingToken: number }>;

const queuedCalls = ({ store }: Kit): QueuedCallStore => store.queuedCalls as QueuedCallStore;

const queuedCall = (name: string, fields: Partial<NewQueuedCall> = {}): NewQueuedCall =>
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

async function keep(kit: Kit, one: NewQueuedCall): Promise<Extract<Enqueued, { readonly queued: true }>> {
  const result = await queuedCalls(kit).enqueue(one);
  if (result.queued) return result;
  throw new Error(`a queued call should be kept while there is room, but got ${show(result)}`);
}

const next = (kit: Kit, lease: LeaseRef, options: Partial<NextOptions> = {}): Promise<NextResult> =>
  queuedCalls(kit).next(lease, { takes: TAKES, ...options });

/** Takes the next queued call, which has to be this one. Returns the lease with it. */
async function takes(
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

async function none(
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

/** Rule 15: calls that are kept until their lock is free. */
export const queuedCallCases: readonly CaseDefinition[] = [
  {
    rule: 15,
    sentence:
      'a queued call is delivered as it was kept, with a greater fencing token, and leaves when its run has completed',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const one = queuedCall(lease.name, { key: 'k', args: '[{"é":"\\n"}]' });
      await keep(kit, one);
      const result = await next(kit, lease);
      const { job, key, args, delivery, merged } = result.queuedCall ?? {};
      check(
        show([job, key, args, delivery, merged]) === show(['job', 'k', one.args, 1, 0]),
        () =>
          `the queued call should be delivered as it was kept, but got ${show(result.queuedCall ?? result)}`,
      );
      const { fencingToken } = result as Taken;
      check(
        fencingToken > lease.fencingToken,
        () => `its fencing token should be greater than that of the lease before, but is ${fencingToken}`,
      );
      const own = { ...lease, fencingToken, queuedCall: one.id };
      await kit.stillHeld(own, 'while it runs');
      await none(kit, own, 'after it has completed', { outcome: 'completed' });
      await kit.store.release(own);
      await kit.free(lease.name, 'after the release');
    },
  },
  {
    rule: 15,
    sentence: 'queued calls are delivered by priority, then in the order in which they came',
    needs: ['queuedCalls'],
    async run(kit) {
      let lease = await kit.take(kit.name());
      const all = [0, 5, -5, 5, 0].map((priority) => queuedCall(lease.name, { priority }));
      for (const one of all) await keep(kit, one);
      const order: number[] = [];
      for (const _ of all) {
        const result = await next(kit, lease, lease.queuedCall === undefined ? {} : { outcome: 'completed' });
        order.push(all.findIndex(({ id }) => id === result.queuedCall?.id));
        const { fencingToken } = result as Taken;
        lease = { ...lease, fencingToken, queuedCall: result.queuedCall?.id ?? '' };
      }
      check(order.join() === '1,3,0,4,2', () => `the order should be 1,3,0,4,2, but is ${order.join()}`);
    },
  },
  {
    rule: 15,
    sentence:
      'a queued call with the key of one that waits becomes one with it: its arguments, the other one’s place',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const [first, other] = [queuedCall(lease.name, { key: 'k' }), queuedCall(lease.name, { key: 'other' })];
      for (const one of [first, other]) await keep(kit, one);
      const { merged } = await keep(kit, queuedCall(lease.name, { key: 'k', args: '["b"]' }));
      check(merged === 1, () => `it should stand for 1 more call, but the answer says ${merged}`);
      const result = await next(kit, lease);
      const { id, args } = result.queuedCall ?? {};
      check(
        id === first.id && args === '["b"]',
        () =>
          `the first one should be delivered, with the arguments of the last, but got ${show(result.queuedCall ?? result)}`,
      );
      const { fencingToken } = result as Taken;
      const own = await takes(kit, { ...lease, fencingToken, queuedCall: first.id }, other.id, {
        what: 'the one with another key',
        outcome: 'completed',
      });
      await none(kit, own, 'after both', { outcome: 'completed' });
    },
  },
  {
    rule: 15,
    sentence: 'queued calls without a key, and those of other jobs, stand alone',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const all = [{}, {}, { key: '' }, { key: '', job: 'second' }].map((fields) =>
        queuedCall(lease.name, fields),
      );
      for (const one of all) {
        const { merged } = await keep(kit, one);
        check(
          merged === 0,
          () =>
            `a queued call that stands alone should not become one with another, but its answer says ${merged}`,
        );
      }
    },
  },
  {
    rule: 15,
    sentence: 'a queued call that comes while the run for its key goes on is run after it, once',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const [first, second] = [queuedCall(lease.name, { key: 'k' }), queuedCall(lease.name, { key: 'k' })];
      await keep(kit, first);
      const own = await takes(kit, lease, first.id, { what: 'the first one' });
      await keep(kit, second);
      await keep(kit, queuedCall(lease.name, { key: 'k' }));
      const again = await takes(kit, own, second.id, {
        what: 'the one that came meanwhile',
        outcome: 'completed',
      });
      await none(kit, again, 'after that', { outcome: 'completed' });
    },
  },
  {
    rule: 15,
    sentence:
      'a queued call stays until its run has ended: after the death of its holder the next one runs it again, at its place',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const [first, second] = [queuedCall(lease.name), queuedCall(lease.name)];
      for (const one of [first, second]) await keep(kit, one);
      await takes(kit, lease, first.id, { what: 'the first one', takes: [{ job: 'job', ttl: SHORT }] });
      const [heir = lease] = await kit.takeExpired(lease.name, 'after the death of the holder');
      const result = await next(kit, heir);
      check(
        result.queuedCall?.id === first.id && result.queuedCall.delivery === 2,
        () =>
          `the queued call of the dead holder should be delivered a 2nd time, but got ${show(result.queuedCall ?? result)}`,
      );
    },
  },
  {
    rule: 15,
    sentence: 'a queued call that was interrupted too often becomes a dead letter, which can be put back',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const one = queuedCall(lease.name);
      await keep(kit, one);
      let own = await takes(kit, lease, one.id, { what: 'it' });
      own = await takes(kit, own, one.id, { what: 'after its first interruption it', outcome: 'aborted' });
      const result = await none(kit, own, 'after its last interruption', { outcome: 'aborted' });
      const [dead] = result.dead;
      check(
        dead?.id === one.id && dead.reason === 'interrupted' && dead.deliveries === 2,
        () => `it should be reported as a dead letter with 2 deliveries, but got ${show(result.dead)}`,
      );
      const count = await queuedCalls(kit).redeliver(lease.name);
      check(count === 1, () => `1 dead letter should be put back, but the answer is ${count}`);
      await takes(kit, own, one.id, { what: 'after it was put back it' });
    },
  },
  {
    rule: 15,
    sentence: 'a queued call that was put back takes no more calls: those that come for its key run after it',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const [first, second] = [queuedCall(lease.name, { key: 'k' }), queuedCall(lease.name, { key: 'k' })];
      await keep(kit, first);
      const own = await takes(kit, lease, first.id, { what: 'it' });
      await none(kit, own, 'after its run has failed', { outcome: 'failed' });
      await queuedCalls(kit).redeliver(lease.name);
      for (const one of [second, queuedCall(lease.name, { key: 'k' })]) await keep(kit, one);
      const again = await takes(kit, own, first.id, { what: 'after it was put back it' });
      await takes(kit, again, second.id, {
        what: 'the one that came after that',
        outcome: 'completed',
      });
    },
  },
  {
    rule: 15,
    sentence: 'a queued call whose run has failed becomes a dead letter at once',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const one = queuedCall(lease.name);
      await keep(kit, one);
      const own = await takes(kit, lease, one.id, { what: 'it' });
      await none(kit, own, 'after its run has failed', { outcome: 'failed' });
      const count = await queuedCalls(kit).redeliver(lease.name);
      check(count === 1, () => `it should be kept as a dead letter, but ${count} were put back`);
    },
  },
  {
    rule: 15,
    sentence: 'release ends the queued call of its lease',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const [first, second] = [queuedCall(lease.name), queuedCall(lease.name)];
      for (const one of [first, second]) await keep(kit, one);
      await kit.store.release(await takes(kit, lease, first.id, { what: 'the first one' }));
      await takes(kit, await kit.take(lease.name), second.id, { what: 'after the release the second one' });
    },
  },
  {
    rule: 15,
    sentence: 'no more queued calls are kept than `max`',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const first = queuedCall(lease.name, { max: 2, key: 'k' });
      for (const one of [first, queuedCall(lease.name, { max: 2 })]) await keep(kit, one);
      const result = await queuedCalls(kit).enqueue(queuedCall(lease.name, { max: 2 }));
      check(!result.queued, () => `a third queued call should not be kept, but got ${show(result)}`);
      await keep(kit, queuedCall(lease.name, { max: 2, key: 'k' }));
    },
  },
  {
    rule: 15,
    sentence:
      'only queued calls of the jobs that the caller can run are delivered, and only to a lease that is held',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const [other, own] = [queuedCall(lease.name, { job: 'other' }), queuedCall(lease.name)];
      for (const one of [other, own]) await keep(kit, one);
      await takes(kit, lease, own.id, { what: 'the one of its job' });
      const result = await next(kit, kit.stranger(lease.name));
      check(
        !result.held,
        () => `a lease that does not hold the lock should get nothing, but got ${show(result)}`,
      );
    },
  },
  {
    rule: 15,
    sentence: 'a call in line that came before a queued call goes before it',
    needs: ['queuedCalls', 'lines'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      await kit.store.acquire(
        kit.request(lease.name, { wait: { limit: HOUR, priority: 0, process: 'one' } }),
      );
      const { place } = await keep(kit, queuedCall(lease.name));
      const result = await none(kit, lease, 'while a call stands before it');
      check(
        result.held && 'place' in result && result.place === place,
        () => `the answer should be its place ${place}, but is ${show(result)}`,
      );
    },
  },
  {
    rule: 15,
    sentence: 'a queued call is kept once, and delivered once, however often the same is asked',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const one = queuedCall(lease.name);
      for (let i = 0; i < 2; i++) await keep(kit, one);
      await takes(kit, lease, one.id, { what: 'it' });
      const again = await next(kit, lease);
      check(
        again.queuedCall?.id === one.id && again.queuedCall.delivery === 1,
        () =>
          `the same lease should get the same queued call, still with delivery 1, but got ${show(again.queuedCall ?? again)}`,
      );
      const { fencingToken } = again as Taken;
      await none(kit, { ...lease, fencingToken, queuedCall: one.id }, 'after its run', {
        outcome: 'completed',
      });
    },
  },
  {
    rule: 15,
    sentence: 'the lease of a queued call ends the one before: what arrives late for that changes nothing',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const [first, second] = [queuedCall(lease.name), queuedCall(lease.name)];
      for (const one of [first, second]) await keep(kit, one);
      await kit.extend(lease);
      const own = await takes(kit, lease, first.id, { what: 'the first one' });
      const taken = { reason: 'taken', holder: lease.holder };
      answers(
        await kit.extend({ ...lease, ttl: 1 }),
        { held: false, ...taken },
        'extend of the lease before',
      );
      const released = await kit.store.release(lease);
      answers(released, { released: false, reason: 'taken' }, 'release of the lease before');
      const again = await next(kit, lease, { takes: [{ job: 'job', ttl: 1 }] });
      check(
        again.queuedCall?.id === first.id && (again as Taken).fencingToken === own.fencingToken,
        () =>
          `next that is sent again should be told the same queued call and fencing token, but got ${show(again)}`,
      );
      await kit.wait(SHORT);
      await kit.stillHeld(own, 'after late calls for the lease before');
      answers(
        await kit.extend(own),
        { held: true, restored: undefined },
        'extend of the lease of the queued call',
      );
      await takes(kit, own, second.id, { what: 'the second one', outcome: 'completed' });
    },
  },
  {
    rule: 15,
    sentence: 'next for a lease that another one of its token has ended gets nothing, and ends no run',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const one = queuedCall(lease.name);
      await keep(kit, one);
      const own = await takes(kit, lease, one.id, { what: 'it' });
      const again = await takes(kit, own, one.id, { what: 'after an interruption it', outcome: 'aborted' });
      await next(kit, own, { outcome: 'aborted' });
      await none(kit, again, 'after its run', { outcome: 'completed' });
      const result = await next(kit, lease);
      check(!result.held, () => `a lease that is over should get nothing, but got ${show(result)}`);
    },
  },
  {
    rule: 15,
    sentence:
      'queued calls are found that nobody in line may be about to work off, while their lock is held; or while it is free',
    needs: ['queuedCalls', 'lines'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const { place } = await keep(kit, queuedCall(lease.name));
      const found = async (jobs: string[]) =>
        (await queuedCalls(kit).left(jobs)).filter(({ name }) => name === lease.name);
      const left = [{ name: lease.name, place }];
      const alone = await found(['job']);
      check(
        show(alone) === show(left),
        () => `the lock should be found with its place ${place}, but got ${show(alone)}`,
      );
      const waiter = kit.request(lease.name, { wait: { limit: HOUR, priority: 0, process: 'one' } });
      await kit.store.acquire(waiter);
      const attended = await found(['job']);
      check(
        attended.length === 0,
        () => `a lock with a holder and a line should not be among them, but got ${show(attended)}`,
      );
      await kit.store.release({ ...waiter, fencingToken: 0 }, { outcome: 'abandoned' });
      await kit.store.release(lease);
      const free = await found(['job']);
      check(
        show(free) === show(left),
        () => `the free lock should be found with its place ${place}, but got ${show(free)}`,
      );
      const others = await found(['other']);
      check(others.length === 0, () => `it has no queued call of the other job, but got ${show(others)}`);
    },
  },
];
