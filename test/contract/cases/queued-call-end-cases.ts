import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { SHORT } from './kit.js';
import { queuedCalls, queuedCall, keep, next, takes, none, type Taken } from './queued-call-moves.js';

/** Rule 15: how queued calls end, and what becomes of those whose run did not complete. */
export const queuedCallEndCases: readonly CaseDefinition[] = [
  {
    rule: '15.5',
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
    rule: '15.5',
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
    rule: '15.5',
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
    rule: '15.5',
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
    rule: '15.4',
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
    rule: '15.3',
    sentence:
      'the lease of a queued call ends the one before: a late call for the earlier lease changes nothing',
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
          `next that is sent again should get the same queued call and fencing token, but got ${show(again)}`,
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
    rule: '15.3',
    sentence: 'next for a lease that a newer lease of its token has ended gets nothing, and ends no run',
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
];
