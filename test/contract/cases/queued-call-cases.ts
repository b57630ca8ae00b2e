import { check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR } from './kit.js';
import { queuedCalls, queuedCall, keep, next, takes, none, type Taken } from './queued-call-moves.js';

/** Rule 15: how queued calls are kept, and in which order they are delivered. */
export const queuedCallCases: readonly CaseDefinition[] = [
  {
    rule: '15.2',
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
    rule: '15.1',
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
      const left = await next(kit, lease, { outcome: 'completed' });
      check(
        left.held && left.queuedCall === undefined,
        () => `the lease of the last queued call should be held, with nothing to take, but got ${show(left)}`,
      );
    },
  },
  {
    rule: '15.1',
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
    rule: '15.1',
    sentence: 'many queued calls at the same time with the key of one that waits all become one with it',
    needs: ['queuedCalls'],
    async run(kit) {
      const { name } = await kit.take(kit.name());
      await keep(kit, queuedCall(name, { key: 'k' }));
      const all = Array.from({ length: 30 }, () => queuedCall(name, { key: 'k' }));
      const begun = performance.now();
      const kept = await kit.atOnce(all, async (store, one) => store.queuedCalls?.enqueue(one));
      // A call that has lost for 800 ms counts as merged by those that came later: on a slow machine fewer are counted.
      const isFar = kit.isFar || performance.now() - begun >= 800;
      const lost = kept.filter((answer) => answer?.queued !== true).length;
      check(lost === 0, () => `all should be kept, but ${lost} were not`);
      const { merged } = await keep(kit, queuedCall(name, { key: 'k' }));
      const isCounted = isFar ? merged > 1 && merged <= 31 : merged === 31;
      check(isCounted, () => `one should stand for 31 more calls, but stands for ${merged}`);
    },
  },
  {
    rule: '15.1',
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
    rule: '15.1',
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
    rule: '15.6',
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
    rule: '15.6',
    sentence: 'simultaneous calls do not exceed `max` either',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const calls = Array.from({ length: 40 }, () => queuedCall(lease.name, { max: 3 }));
      const results = await kit.atOnce(calls, async (store, call) =>
        store.queuedCalls.enqueue(call, { limit: HOUR }),
      );
      const { length } = results.filter(({ queued }) => queued);
      check(length > 0 && length <= 3, () => `1 to 3 of 40 calls should be kept, but ${length} were`);
    },
  },
  {
    rule: '15.2',
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
    rule: '15.2',
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
    rule: '15.6',
    sentence: 'a queued call is kept once, and delivered once, however often the same request comes',
    needs: ['queuedCalls'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      // The second time there is no room, and a queued call with its key: itself.
      const one = queuedCall(lease.name, { key: 'k', max: 1 });
      await keep(kit, one);
      const { merged } = await keep(kit, one);
      check(
        merged === 0,
        () => `a queued call should not become one with itself, but its answer says ${merged}`,
      );
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
];
