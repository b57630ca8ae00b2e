import { describe, expect, it } from '@jest/globals';
import { LockLostError } from '../../../lib/base/errors.js';
import {
  currentLock,
  following,
  LeasedLock,
  outsideOfLocks,
  withRootScope,
} from '../../../lib/lock/current-lock.js';
import type { Lease } from '../../../lib/lock/lease.js';
import { gate, Harness } from './harness.js';

/** The scope of a leader: leases that are taken inside abort together with its own. */
function leaderScope(app: Harness): { readonly scope: Parameters<typeof withRootScope>[0]; lose(): void } {
  const controller = new AbortController();
  const lease = { ref: { name: 'leader' }, signal: controller.signal } as Lease;
  return {
    scope: { owner: app.runner, lock: new LeasedLock(lease), leads: true },
    lose: () => controller.abort(new LockLostError('leader', 'expired')),
  };
}

describe('outsideOfLocks()', () => {
  it('takes a call out of the lock under which its timer was started, and passes its result on', async () => {
    const app = new Harness();
    const inner = await app.runner.run(app.call(), () =>
      outsideOfLocks(() => app.runner.run(app.call(), () => 'ran')),
    );
    expect(inner).toMatchObject({ ran: true, value: { ran: false, reason: 'held' } });
    expect(outsideOfLocks(() => 'a result')).toBe('a result');
  });

  it('leaves it in the scope of a leader', () => {
    const { scope } = leaderScope(new Harness());
    const name = withRootScope(scope, () => outsideOfLocks(() => currentLock().name));
    expect(name).toBe('leader');
  });
});

describe('following()', () => {
  it('passes on what the job returns', async () => {
    const app = new Harness();
    const run = await app.runner.run(app.call(), (lock) => following(() => 'done', lock));
    expect(run).toEqual({ ran: true, value: 'done' });
  });

  it('aborts the job together with the leader around it, and no longer than it runs', async () => {
    const app = new Harness();
    const { scope, lose } = leaderScope(app);
    const end = gate();
    let signal: AbortSignal | undefined;
    const job = withRootScope(scope, () =>
      app.runner.run(app.call(), (lock) =>
        following(async () => {
          ({ signal } = lock);
          await end.opened;
        }, lock),
      ),
    );
    await app.clock.advance(0);
    lose();
    expect(signal?.reason).toBeInstanceOf(LockLostError);
    end.open();
    await job;
    const later = leaderScope(app);
    const aborted = await withRootScope(later.scope, () =>
      app.runner.run(app.call(), async (lock) => {
        await following(() => undefined, lock);
        later.lose();
        return lock.signal.aborted;
      }),
    );
    expect(aborted).toEqual({ ran: true, value: false });
  });
});

describe('a nested call that its job did not await', () => {
  it.each<[string, (app: Harness) => Promise<unknown>]>([
    ['a call', (app) => app.runner.run(app.call(), () => undefined)],
    ['a lock that was taken inside', async (app) => (await app.runner.acquire(app.call())).release()],
  ])('aborts the job at its end, though %s has ended before', async (_, end) => {
    const app = new Harness();
    const going = gate();
    let signal: AbortSignal | undefined;
    await app.runner.run(app.call(), async (lock) => {
      await end(app);
      void app.runner.run(app.call(), () => going.opened);
      ({ signal } = lock);
    });
    expect(signal?.aborted).toBe(true);
    going.open();
  });

  it('is what aborts it: one that was awaited does not', async () => {
    const app = new Harness();
    let signal: AbortSignal | undefined;
    await app.runner.run(app.call(), async (lock) => {
      ({ signal } = lock);
      await app.runner.run(app.call(), () => undefined);
    });
    expect(signal?.aborted).toBe(false);
  });
});
