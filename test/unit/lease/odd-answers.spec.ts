import { describe, expect, it } from '@jest/globals';
import type { LockStore } from '../../../lib/stores/lock-store.js';
import { LockRunner } from '../../../lib/lease/lock-runner.js';
import type { SchedulerLockEvent } from '../../../lib/lease/events.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock.store.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { Harness, SETTINGS } from './harness.js';
import { silence } from './scripted-store.js';

/** A runner over a store of somebody's own, which does not keep to its types. */
function over(odd: Partial<Record<keyof LockStore, unknown>>) {
  const clock = new ManualClock();
  const memory = new MemoryLockStore({ clock });
  const store = {
    acquire: memory.acquire.bind(memory),
    extend: memory.extend.bind(memory),
    release: memory.release.bind(memory),
    ...odd,
  } as LockStore;
  const events: SchedulerLockEvent[] = [];
  const runner = new LockRunner(store, 'here', clock, (event) => events.push(event), SETTINGS.storeTimeout);
  const call = { name: 'report', job: undefined, settings: SETTINGS, scheduled: false };
  return { clock, events, run: () => runner.run(call, () => 'ran') };
}

describe('a store that answers', () => {
  it.each([
    ['an attempt with nothing', { acquire: async () => undefined }],
    ['an attempt with nothing, at once', { acquire: () => undefined }],
  ])('%s skips the call, and the next one is tried as well', async (_what, odd) => {
    const { run } = over(odd);
    expect(await run()).toMatchObject({ ran: false, reason: 'store-unavailable' });
    expect(await run()).toMatchObject({ ran: false, reason: 'store-unavailable' });
  });

  it('a release with nothing ends the run all the same', async () => {
    for (const release of [async () => undefined, () => undefined]) {
      const { run, events } = over({ release });
      expect(await run()).toEqual({ ran: true, value: 'ran' });
      expect(events.at(-1)).toMatchObject({ type: 'released', confirmed: false });
    }
  });

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
