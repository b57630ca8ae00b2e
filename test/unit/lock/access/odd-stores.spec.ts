import { describe, expect, it } from '@jest/globals';
import { SchedulerLockConfigError } from '../../../../lib/base/errors.js';
import type { LockStore } from '../../../../lib/contract/lock-store.js';
import { LockRunner } from '../../../../lib/lock/lock-runner.js';
import type { SchedulerLockEvent } from '../../../../lib/contract/events/events.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../../lib/testing/manual-clock.js';
import { Harness, SETTINGS } from '../harness.js';
import { silence } from '../scripted-store.js';
import { locksOnly } from '../../../support/locks-only.js';
import { isEvent } from '../../../support/events.js';

/** A runner over a store of somebody's own, which does not keep to its types. */
function over(odd: Partial<Record<keyof LockStore, unknown>>) {
  const clock = new ManualClock();
  const memory = new MemoryLockStore({ clock });
  const store = {
    ...locksOnly,
    acquire: memory.acquire.bind(memory),
    extend: memory.extend.bind(memory),
    release: memory.release.bind(memory),
    ...odd,
  } as LockStore;
  const events: SchedulerLockEvent[] = [];
  const runner = new LockRunner(store, 'here', clock, (event) => events.push(event), SETTINGS.storeTimeout);
  const call = { name: 'report', job: undefined, settings: SETTINGS, kind: 'by-hand' as const };
  return { clock, events, run: () => runner.run(call, () => 'ran') };
}

describe('a store that cannot keep a name', () => {
  it.each(['skip', 'run'] as const)(
    'has the call skipped as invalid-name with onStoreError: %s, and is not away',
    async (onStoreError) => {
      const app = new Harness();
      const error = new SchedulerLockConfigError(['it is too long.']);
      app.store.acquire = () => Promise.reject(error);
      const job = await app.start('report', { onStoreError });
      expect(job.result).toEqual({ ran: false, reason: 'invalid-name', error });
      expect(job.began).toBe(false);
      expect(app.events).toMatchObject([{ type: 'skipped', reason: 'invalid-name', error }]);
      // Nor is anything taken back.
      await app.clock.advance(SETTINGS.ttl);
      expect(app.store.calls.filter(({ operation }) => operation === 'release')).toEqual([]);
    },
  );
});

describe('a store that answers', () => {
  it('by throwing instead fails the call, and neither the job nor the next beat knows of it', async () => {
    const app = new Harness();
    const job = await app.start();
    app.store.extend = () => {
      throw new Error('no renewal');
    };
    app.store.release = () => {
      throw new Error('no release');
    };
    await app.clock.advance(3_000);
    expect(app.of('renewal-failed')).toMatchObject([{ error: { message: 'no renewal' } }]);
    job.end();
    await app.clock.advance(0);
    expect(job.result).toEqual({ ran: true, value: 'done' });
    expect(app.of('released')).toMatchObject([{ confirmed: false }]);
  });
});

it('a job whose value throws when it is asked whether it is a promise has failed, and its lock is free', async () => {
  const app = new Harness();
  // As of a library that resolves what it stands for only when it is looked at.
  const odd = new Proxy(
    {},
    {
      get: () => {
        throw new Error('do not look');
      },
    },
  );
  await expect(app.runner.run(app.call(), () => odd)).rejects.toThrow('do not look');
  expect(app.of('released')).toMatchObject([{ outcome: 'failed', confirmed: true }]);
  expect((await app.start()).began).toBe(true);
});

it('a job that runs without its lock runs in the context of its own call, whoever has armed the timer', async () => {
  const app = new Harness();
  const inside: string[] = [];
  // A holds its lock, and a call of its own hangs: the limit of store calls is counted in its context.
  const a = app.runner.run(app.call('a'), async () => {
    inside.push('a');
    app.store.always('acquire', silence);
    await app.runner.run(app.call('b'), () => undefined);
    await new Promise(() => undefined);
  });
  void a;
  await app.clock.advance(0);
  // C knows nothing of A.
  const c = app.runner.run(app.call('c', { onStoreError: 'run' }), () =>
    app.runner.run(app.call('a'), () => inside.push('a, as if by itself')),
  );
  await app.clock.advance(SETTINGS.storeTimeout);
  expect(await c).toMatchObject({ ran: true, value: { ran: false, reason: 'held' } });
  expect(inside).toEqual(['a']);
});

describe('a store that rejects with something that is no error', () => {
  it.each([undefined, null, 'gone'])('has it counted as no answer to a release: %s', async (thrown) => {
    let rejections = 0;
    const memory = new MemoryLockStore();
    const { clock, events, run } = over({
      release: (...args: Parameters<LockStore['release']>) =>
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what is tested here
        (rejections += 1) > 1 ? memory.release(...args) : Promise.reject(thrown),
    });
    expect(await run()).toEqual({ ran: true, value: 'ran' });
    expect(events.find(({ type }) => type === 'released')).toMatchObject({ confirmed: false });
    expect(events.find(isEvent('outage-started'))).toBeDefined();
    // It is tried again.
    await clock.advance(SETTINGS.ttl);
    expect(rejections).toBeGreaterThan(1);
  });

  it('skips the call that asked', async () => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- what is tested here
    const { run } = over({ acquire: () => Promise.reject(undefined) });
    expect(await run()).toMatchObject({ ran: false, reason: 'store-unavailable' });
  });
});
