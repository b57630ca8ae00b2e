import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockShutdownError } from '../../../lib/errors.js';
import { currentLock, following, outsideOfLocks, withRootScope } from '../../../lib/lease/current-lock.js';
import type { Lease } from '../../../lib/lease/lease.js';
import { LeasedLock } from '../../../lib/lease/current-lock.js';
import { gate, Harness } from './harness.js';

/** The scope of a leader: it lets leases that are taken inside abort together with it. */
function leaderScope(app: Harness): { readonly scope: Parameters<typeof withRootScope>[0]; lose(): void } {
  const followers = new Set<{ abort(reason: Error): void }>();
  const scope = {
    owner: app.runner,
    lock: new LeasedLock({ ref: { name: 'leader' } } as Lease),
    follow: (lease: { abort(reason: Error): void }) => {
      followers.add(lease);
      return () => void followers.delete(lease);
    },
  };
  return {
    scope,
    lose: () => followers.forEach((lease) => lease.abort(new LockLostError('leader', 'expired'))),
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
    const signals: AbortSignal[] = [];
    const job = withRootScope(scope, () =>
      app.runner.run(app.call(), (lock) =>
        following(async () => {
          signals.push(lock.signal);
          await end.opened;
        }, lock),
      ),
    );
    await app.clock.advance(0);
    lose();
    expect(signals[0]?.reason).toBeInstanceOf(LockLostError);
    end.open();
    await job;
    await withRootScope(scope, () =>
      app.runner.run(app.call(), async (lock) => {
        await following(() => undefined, lock);
        lose();
        signals.push(lock.signal);
        expect(lock.signal.aborted).toBe(false);
      }),
    );
    expect(signals).toHaveLength(2);
  });
});

describe('a nested call that its job did not await', () => {
  it('has the signal of the job, which aborts at its end, once for all', async () => {
    const app = new Harness();
    const end = gate();
    let nested: Promise<unknown> | undefined;
    let signal: AbortSignal | undefined;
    await app.runner.run(app.call(), () => {
      nested = app.runner.run(app.call(), async (lock) => {
        signal = lock.signal;
        await end.opened;
      });
    });
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).not.toBeInstanceOf(LockShutdownError);
    end.open();
    await nested;
  });

  it('of two, the one that has ended does not hide the other one', async () => {
    const app = new Harness();
    const end = gate();
    let signal: AbortSignal | undefined;
    await app.runner.run(app.call(), async (lock) => {
      await app.runner.run(app.call(), () => undefined);
      void app.runner.run(app.call(), () => end.opened);
      ({ signal } = lock);
    });
    expect(signal?.aborted).toBe(true);
    end.open();
  });

  it('of two, a lock that was taken inside and released does not hide the other one', async () => {
    const app = new Harness();
    const end = gate();
    let signal: AbortSignal | undefined;
    await app.runner.run(app.call(), async (lock) => {
      const inside = await app.runner.acquire(app.call());
      await inside.release();
      void app.runner.run(app.call(), () => end.opened);
      ({ signal } = lock);
    });
    expect(signal?.aborted).toBe(true);
    end.open();
  });

  it('does not abort what has been awaited', async () => {
    const app = new Harness();
    let signal: AbortSignal | undefined;
    await app.runner.run(app.call(), async (lock) => {
      ({ signal } = lock);
      await app.runner.run(app.call(), () => undefined);
    });
    expect(signal?.aborted).toBe(false);
  });
});
