import { LOOK_FOR_QUEUED } from '../../../lib/contract/queued-call-store.js';
import { check, show } from '../../../lib/testing/port/assert.js';
import type { CaseDefinition } from './case.js';
import { HOUR } from './kit.js';
import { queuedCalls, queuedCall, keep } from './queued-call-moves.js';

/** Rule 15: how queued calls are found that perhaps nobody is about to run. */
export const leftCallCases: readonly CaseDefinition[] = [
  {
    rule: '15.7',
    sentence:
      'queued calls are found while their lock is free, and while it is held if nobody in line runs them in their turn',
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
      const one = { limit: HOUR, priority: 0, process: 'one', place };
      const waiter = kit.request(lease.name, { wait: { ...one, drains: true } });
      await kit.store.acquire(waiter);
      const attended = await found(['job']);
      check(
        attended.length === 0,
        () =>
          `a lock with somebody in line for that call should not be among them, but got ${show(attended)}`,
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
  {
    rule: '15.7',
    sentence: 'a queued call is found also if those in line only wait, or run queued calls of less priority',
    needs: ['queuedCalls', 'lines'],
    async run(kit) {
      const lease = await kit.take(kit.name());
      const one = { limit: HOUR, process: 'one' };
      await kit.store.acquire(kit.request(lease.name, { wait: { ...one, priority: 2 } }));
      await kit.store.acquire(kit.request(lease.name, { wait: { ...one, priority: 0, drains: true } }));
      const { place } = await keep(kit, queuedCall(lease.name, { priority: 1 }));
      const found = (await queuedCalls(kit).left(['job'])).filter(({ name }) => name === lease.name);
      check(
        show(found) === show([{ name: lease.name, place }]),
        () => `the lock should be found with the place of that call, but got ${show(found)}`,
      );
    },
  },
  {
    rule: '15.7',
    sentence: 'a queued call is found also behind many of a job that nobody runs any more',
    needs: ['queuedCalls'],
    async run(kit) {
      const { name } = await kit.take(kit.name());
      for (let i = 0; i < 101; i++) await keep(kit, queuedCall(name, { job: 'gone', max: 1_000 }));
      const { place } = await keep(kit, queuedCall(name, { max: 1_000 }));
      const found = (await queuedCalls(kit).left(['job'])).filter((left) => left.name === name);
      check(
        show(found) === show([{ name, place }]),
        () => `the lock should be found with the place of that call, but got ${show(found)}`,
      );
    },
  },
  {
    rule: '15.7',
    sentence: 'announce() sends a hint to every process that hears hints',
    needs: ['queuedCalls', 'hints'],
    async run(kit) {
      const heard = new Set<string>();
      const channels = ['one', 'two'].map((process) =>
        kit.store.hints?.(kit.name(process), (hint) => void (hint === LOOK_FOR_QUEUED && heard.add(process))),
      );
      try {
        const areOpen = async (): Promise<boolean> => channels.every((channel) => channel?.open === true);
        await kit.until('both channels for hints should be open', areOpen);
        await queuedCalls(kit).announce();
        await kit.until('both processes should have heard the hint', async () => heard.size === 2);
      } finally {
        for (const channel of channels) channel?.close();
      }
    },
  },
];
