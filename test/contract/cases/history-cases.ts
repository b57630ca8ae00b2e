import { randomUUID as uuid } from 'node:crypto';
import type { Retention } from '../../../lib/contract/history-store.js';
import type { LeaseRef } from '../../../lib/contract/lock-store.js';
import { answers, check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import {
  begin,
  entries,
  history,
  interruption,
  keepsQueuedCall,
  KEPT,
  missOf,
  record,
  run,
  takesQueuedCall,
  takesOver,
  TICK,
  told,
} from './history-moves.js';
import { HOUR, type Kit, SHORT } from './kit.js';

/** What most bounds come to. A store may keep some more: so many runs let any store let go of some. */
const FEW: Retention = { ...KEPT, count: 2 };
const ROUNDS = [10, 40, 100, 150];

/** A text that quoting, formatting or folding could change. */
const HARD = 'it’s "100%" \\ \'é\'\n$1 🔒 %s';

/** Completes runs until the store no longer shows all of them. */
async function letsGo(kit: Kit, name: string): Promise<void> {
  let made = 0;
  for (const runs of ROUNDS) {
    for (let i = 1; i < runs; i++)
      await kit.store.release(await begin(kit, name), { record: record({ kept: FEW }) });
    await run(kit, name, { record: record({ kept: FEW }) });
    made += runs;
    await kit.tidy();
    const completed = (await entries(kit, name)).filter(
      (entry) => entry.type === 'run' && entry.outcome === 'completed',
    );
    if (completed.length < made) return;
  }
  throw new Error(`of ${made} runs the oldest should not be kept any more: the count is ${FEW.count}`);
}

/** The history shows the run of this lease, and nothing else. */
async function onlyOne(kit: Kit, { name, fencingToken }: LeaseRef, what: string): Promise<void> {
  const found = await entries(kit, name);
  const isOnly = found.length === 1 && found[0]?.type === 'run' && found[0].fencingToken === fencingToken;
  check(isOnly, () => `${what} should not be listed, but got ${show(found)}`);
}

/** Rule 16: who ran what. */
export const historyCases: readonly CaseDefinition[] = [
  {
    rule: '16.1',
    sentence: 'a release keeps who ran what, when, for how long, and how it ended',
    needs: ['history'],
    async run(kit) {
      const start = { job: 'job', tick: TICK, attempt: 1 };
      const lease = await begin(kit, kit.name(), start);
      const how = { duration: 1_234, error: 'no route to host', traceId: uuid() };
      await kit.store.release(lease, { outcome: 'failed', record: record(how) });
      const entry = await told(kit, lease, 'the run');
      const { name: lock, holder: instance } = lease;
      answers(entry, { lock, instance, ...start, outcome: 'failed', ...how }, 'entries');
      const since = entry.at - lease.fencingToken / 1_000;
      check(
        Math.abs(since) < HOUR,
        () => `the run should have ended soon after its start, but did after ${since} ms`,
      );
    },
  },
  {
    rule: '16.1',
    sentence: 'fields that a run does not have are absent from its entry',
    needs: ['history'],
    async run(kit) {
      const lease = await kit.take(kit.name(), { history: true });
      await kit.store.release(lease, { record: record({ duration: 0 }) });
      const absent = { job: undefined, tick: undefined, attempt: undefined };
      const entry = await told(kit, lease, 'the run');
      answers(entry, { ...absent, duration: 0, error: undefined, traceId: undefined }, 'entries');
    },
  },
  {
    rule: '16.2',
    sentence: 'a release that is sent again keeps no second record, even if another lease had the lock since',
    needs: ['history'],
    async run(kit) {
      const lease = await begin(kit, kit.name());
      const release = (): Promise<unknown> =>
        kit.store.release(lease, { outcome: 'failed', record: record() });
      for (let i = 0; i < 2; i++) await release();
      const next = await begin(kit, lease.name);
      await release();
      await kit.store.release(next, { record: record() });
      await release();
      await run(kit, lease.name);
      answers(await told(kit, lease, 'the run'), { outcome: 'failed' }, 'entries');
    },
  },
  {
    rule: '16.2',
    sentence: 'a run whose lease was lost keeps its record, which does not change the answer of its release',
    needs: ['history'],
    async run(kit) {
      const lost = await begin(kit, kit.name(), { ttl: SHORT });
      const [next = lost] = await kit.takeExpired(lost.name, 'after the lease was lost');
      const result = await kit.store.release(lost, { outcome: 'aborted', record: record() });
      answers(result, { released: false, reason: 'taken' }, 'release of a lost lease with a record');
      const entry = await told(kit, lost, 'the run whose lease was lost');
      answers(entry, { outcome: 'aborted', instance: lost.holder }, 'entries');
      await kit.stillHeld(next, 'after that');
    },
  },
  {
    rule: '16.2',
    sentence: 'of two records of a run, that of the release which ended the lease counts',
    needs: ['history'],
    async run(kit) {
      const stop = record({ by: { action: 'break', actor: 'ann' } });
      const end = { outcome: 'completed', record: record() } as const;
      const broken = { outcome: 'aborted', record: stop } as const;
      for (const [first, second] of [
        [end, broken],
        [broken, end],
      ] as const) {
        const lease = await begin(kit, kit.name(first.outcome));
        await kit.store.release(lease, first);
        // The second instance asks for the history, so that its record does not wait for others.
        await kit.atOnce([undefined, second], async (store, how) => {
          if (how === undefined) return;
          await store.release(lease, how);
          await store.history?.entries({ name: lease.name, limit: 1 });
        });
        const { outcome, by } = await told(kit, lease, 'the run that was released twice');
        const counts = { outcome: first.outcome, actor: first.record.by?.actor };
        answers({ outcome, actor: by?.actor }, counts, 'entries after two releases of a lease');
      }
    },
  },
  {
    rule: '16.1',
    sentence: 'no record waits once the store has flushed',
    needs: ['history'],
    async run(kit) {
      const lease = await begin(kit, kit.name());
      await kit.store.release(lease, { record: record() });
      await history(kit).flush?.();
      // The first instance would write what waits for an answer of its own.
      const [, found = []] = await kit.atOnce([undefined, lease.name], async (store, name) =>
        name === undefined ? [] : store.history?.entries({ name, limit: 9 }),
      );
      check(found.length === 1, () => `another instance should find the run, but got ${show(found)}`);
    },
  },
  {
    rule: '16.2',
    sentence: 'nothing is kept of an abandoned lease',
    needs: ['history'],
    async run(kit) {
      const lease = await begin(kit, kit.name());
      await kit.store.release(lease, { outcome: 'abandoned', record: record() });
      await onlyOne(kit, await run(kit, lease.name), 'an abandoned lease');
    },
  },
  {
    rule: '16.1',
    sentence: 'nothing is kept of a release without a record',
    needs: ['history'],
    async run(kit) {
      const lease = await begin(kit, kit.name());
      await kit.store.release(lease, { outcome: 'failed' });
      await onlyOne(kit, await run(kit, lease.name), 'a release without a record');
    },
  },
  {
    rule: '16.4',
    sentence: 'old runs give way to new ones',
    needs: ['history'],
    async run(kit) {
      const name = kit.name();
      await letsGo(kit, name);
      await run(kit, name, { record: record({ kept: FEW }) });
    },
  },
  {
    rule: '16.4',
    sentence: 'runs that completed do not push out those that went wrong',
    needs: ['history'],
    async run(kit) {
      const name = kit.name();
      const failed = await run(kit, name, { outcome: 'failed', record: record({ kept: FEW }) });
      const lost = await begin(kit, name, { ttl: SHORT });
      await kit.store.release((await takesOver(kit, name)).lease);
      await history(kit).interrupted({ ...interruption(lost), kept: FEW });
      await letsGo(kit, name);
      const left = (await entries(kit, name)).flatMap((entry) =>
        entry.type === 'run' && entry.outcome !== 'completed' ? [entry.fencingToken] : [],
      );
      const expected = show([lost.fencingToken, failed.fencingToken]);
      check(
        show(left) === expected,
        () => `the ${FEW.count} runs that went wrong should be listed still, but got ${show(left)}`,
      );
    },
  },
  {
    rule: '16.4',
    sentence: 'the newest entries come first, with no more runs and misses than asked for',
    needs: ['history'],
    async run(kit) {
      const name = kit.name();
      const runs: LeaseRef[] = [];
      await kit.store.release(await begin(kit, name, { tick: TICK }));
      for (const outcome of ['completed', 'failed', 'completed'] as const) {
        await history(kit).miss(missOf(name, { tick: TICK + runs.length + 1 }));
        runs.push(await run(kit, name, { outcome }));
      }
      const found = (await entries(kit, name, 2)).map((entry) =>
        entry.type === 'run'
          ? runs.findIndex(({ fencingToken }) => fencingToken === entry.fencingToken)
          : `missed ${entry.tick - TICK - 1}`,
      );
      check(
        show(found) === show([2, 'missed 2', 1, 'missed 1']),
        () => `the last two runs and misses should be listed, the newest first, but got ${show(found)}`,
      );
    },
  },
  {
    rule: '16.1',
    sentence: 'the entries of each lock stay apart, and keep every text as it was',
    needs: ['history'],
    async run(kit) {
      const base = kit.name('n');
      const short = ['e', 'é', "'", '"', '%', '_', '\\', '🔒', 'a', 'A'].map((suffix) => base + suffix);
      const names = [...short, ...['1', '2'].map((end) => base.padEnd(199, 'x') + end)];
      const leases: LeaseRef[] = [];
      for (const name of names) {
        const lease = await begin(kit, name, { job: HARD, holder: HARD });
        await kit.store.release(lease, { outcome: 'failed', record: record({ error: HARD + name }) });
        leases.push(lease);
      }
      for (const lease of leases) {
        const entry = await told(kit, lease, `the run of ${show(lease.name)}`);
        answers(entry, { lock: lease.name, job: HARD, instance: HARD, error: HARD + lease.name }, 'entries');
        await onlyOne(kit, lease, `what is not of ${show(lease.name)}`);
      }
    },
  },
  {
    rule: '16.1',
    sentence: '`next` keeps how the run has ended, with its fencing token',
    needs: ['history', 'queuedCalls'],
    async run(kit) {
      const lease = await begin(kit, kit.name());
      const [first, second] = [await keepsQueuedCall(kit, lease), await keepsQueuedCall(kit, lease)];
      const one = await takesQueuedCall(kit, lease, { queuedCall: first });
      const two = await takesQueuedCall(kit, one, {
        queuedCall: second,
        outcome: 'failed',
        record: record(),
      });
      await kit.store.release(two, { record: record({ duration: 6 }) });
      answers(
        await told(kit, one, 'the run of the first queued call'),
        { outcome: 'failed', duration: 5 },
        'entries',
      );
      answers(
        await told(kit, two, 'the run of the second queued call'),
        { outcome: 'completed', duration: 6 },
        'entries',
      );
    },
  },
];
