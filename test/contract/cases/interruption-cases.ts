import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import {
  begin,
  history,
  interruption,
  keepsQueuedCall,
  record,
  run,
  takesQueuedCall,
  takesOver,
  TICK,
  told,
} from './history-moves.js';
import { SHORT } from './kit.js';

/** Rule 16: runs whose lease ended by itself. Rule 9: how they look. */
export const interruptionCases: readonly CaseDefinition[] = [
  {
    rule: '16.3',
    sentence: 'a grant names the lease before it, if that one has ended by itself',
    needs: ['history'],
    async run(kit) {
      const start = { job: 'job', tick: TICK, attempt: 1 };
      const { name, fencingToken, holder } = await begin(kit, kit.name(), { ttl: SHORT, ...start });
      const { interrupted } = await takesOver(kit, name);
      answers(interrupted ?? {}, { fencingToken, holder, ...start }, 'a grant after an interrupted run');
    },
  },
  {
    rule: '16.3',
    sentence: 'a grant names no lease that was released',
    needs: ['history'],
    async run(kit) {
      const name = kit.name();
      for (const options of [{ record: record() }, { outcome: 'abandoned' }, { keepFor: SHORT }] as const) {
        await kit.store.release(await begin(kit, name), options);
        const { lease, interrupted } = await takesOver(kit, name);
        check(
          interrupted === undefined,
          () => `a grant after a release should name no lease, but names ${show(interrupted)}`,
        );
        await kit.store.release(lease);
      }
    },
  },
  {
    rule: '16.3',
    sentence: 'a grant names no lease unless the request asks for it',
    needs: ['history'],
    async run(kit) {
      const { name } = await begin(kit, kit.name(), { ttl: SHORT });
      const { interrupted } = await takesOver(kit, name, {});
      check(
        interrupted === undefined,
        () => `a grant should name no lease unasked, but names ${show(interrupted)}`,
      );
    },
  },
  {
    rule: '16.3',
    sentence: 'an interruption is kept once',
    needs: ['history'],
    async run(kit) {
      const lease = await begin(kit, kit.name(), { ttl: SHORT });
      await kit.takeExpired(lease.name, 'after the lease was lost');
      for (let i = 0; i < 2; i++) await history(kit).interrupted(interruption(lease));
      const { holder: instance, job } = lease;
      const entry = await told(kit, lease, 'the run that was interrupted');
      answers(entry, { outcome: 'interrupted', instance, job, duration: undefined }, 'entries');
    },
  },
  {
    rule: '16.3',
    sentence: 'an interruption never takes the place of the end of the run',
    needs: ['history'],
    async run(kit) {
      const lease = await run(kit, kit.name());
      await history(kit).interrupted(interruption(lease));
      await run(kit, lease.name);
      const entry = await told(kit, lease, 'the run');
      answers(entry, { outcome: 'completed', duration: 5 }, 'entries after an interruption of that run');
    },
  },
  {
    rule: '16.3',
    sentence: 'the end of a run takes the place of its interruption',
    needs: ['history'],
    async run(kit) {
      const lease = await begin(kit, kit.name(), { ttl: SHORT });
      await kit.takeExpired(lease.name, 'after the lease was lost');
      await history(kit).interrupted(interruption(lease));
      await kit.store.release(lease, { outcome: 'failed', record: record() });
      await told(
        kit,
        lease,
        'the end of a run that counted as interrupted',
        ({ outcome }) => outcome === 'failed',
      );
    },
  },
  {
    rule: '16.3',
    sentence: 'a grant names the run of a queued call that was interrupted',
    needs: ['history', 'queuedCalls'],
    async run(kit) {
      const lease = await begin(kit, kit.name());
      const { fencingToken } = await takesQueuedCall(
        kit,
        lease,
        { queuedCall: await keepsQueuedCall(kit, lease) },
        SHORT,
      );
      const { interrupted } = await takesOver(kit, lease.name);
      answers(interrupted ?? {}, { fencingToken }, 'a grant after an interrupted queued call');
    },
  },
  {
    rule: '9.1',
    sentence: 'inspect shows whose the newest lease was, and whether it has ended by itself',
    needs: ['history', 'inspects'],
    async run(kit) {
      const lease = await begin(kit, kit.name(), { ttl: SHORT, tick: TICK });
      const look = async () => (await kit.store.inspect?.([lease.name]))?.[0];
      await kit.until('the lock should be free', async () => (await look())?.state === 'free');
      answers(
        (await look()) ?? {},
        { job: 'job', interrupted: true },
        'inspect of a lock whose lease ran out',
      );
      await run(kit, lease.name);
      answers((await look()) ?? {}, { interrupted: undefined }, 'inspect of a released lock');
    },
  },
];
