import { describe, expect, it, jest } from '@jest/globals';
import { assertLocked, currentLock, type Lock } from '../../../lib/lock/current-lock.js';
import { LockLostError, LockNotHeldError } from '../../../lib/base/errors.js';
import { gate, Harness } from './harness.js';
import { answers } from './scripted-store.js';

describe('calls made by a job', () => {
  it('run inside the lease of the job if they are for the same lock', async () => {
    const app = new Harness();
    const outer = await app.runner.run(app.call(), async (lock) => {
      const inner = await app.runner.run(app.call(), (given) => [given, currentLock()]);
      return { lock, inner };
    });
    expect(outer).toMatchObject({ ran: true });
    const { lock, inner } = (outer as { value: { lock: unknown; inner: { value: unknown[] } } }).value;
    expect(inner.value[0]).toBe(lock);
    expect(inner.value[1]).toBe(lock);
    expect(app.store.of('acquire')).toHaveLength(1);
    expect(app.store.of('release')).toHaveLength(1);
  });

  it('throw for a return value that has not done its work yet', async () => {
    const app = new Harness();
    const undone = function* (): Generator<number> {
      yield 1;
    };
    const outer = app.runner.run(app.call(), () => app.runner.run(app.call(), undone));
    await expect(outer).rejects.toThrow('the job returned a generator');
  });

  it('take their own lock if they are for another one, and currentLock() is the one that was asked for last', async () => {
    const app = new Harness();
    const names: string[] = [];
    await app.runner.run(app.call('outer'), async () => {
      await app.runner.run(app.call('inner'), async () => {
        names.push(currentLock().name);
        await app.runner.run(app.call('outer'), () => names.push(currentLock().name));
      });
      names.push(currentLock().name);
    });
    expect(names).toEqual(['inner', 'outer', 'outer']);
    expect(app.store.of('acquire').map((call) => call.names)).toEqual([['outer'], ['inner']]);
  });

  it('are under the very lease of the lock that they ask for, also inside of another lock: its signal, its loss', async () => {
    const app = new Harness();
    app.store.always('extend', answers([{ held: false, reason: 'taken' }]));
    await app.runner.run(app.call('outer'), async (outer) => {
      await app.runner.run(app.call('inner', { ttl: 100_000, heartbeat: 30_000 }), async (inner) => {
        await app.runner.run(app.call('outer'), async () => {
          expect(currentLock()).toBe(outer);
          expect(assertLocked).not.toThrow();
          await app.clock.advance(3_000);
          expect(outer.signal.aborted).toBe(true);
          expect(inner.signal.aborted).toBe(false);
          expect(currentLock().signal).toBe(outer.signal);
          expect(assertLocked).toThrow(LockLostError);
        });
        expect(currentLock()).toBe(inner);
        expect(assertLocked).not.toThrow();
      });
    });
  });

  it('take the lock that is asked for by acquire(), also inside of another lock', async () => {
    const app = new Harness();
    await app.runner.run(app.call('outer'), async (outer) => {
      await app.runner.run(app.call('inner'), async () => {
        const handle = await app.runner.acquire(app.call('outer'));
        expect([handle.name, handle.fencingToken]).toEqual(['outer', outer.fencingToken]);
      });
    });
    expect(app.store.of('acquire')).toHaveLength(2);
  });

  it('are not nested if they are for a tick, which starts a run of its own: the lock is taken', async () => {
    const app = new Harness();
    const call = { ...app.call(), start: { tick: 60_000 } };
    const job = jest.fn();
    await app.runner.run(call, async () => {
      const again = await Promise.all([1, 2].map(() => app.runner.run(call, job)));
      const held = { ran: false, reason: 'held', holder: 'here' };
      expect(again).toEqual([held, held]);
      await expect(app.runner.acquire(call)).rejects.toThrow('instance here has it.');
    });
    expect(job).not.toHaveBeenCalled();
    expect(app.of('skipped')).toHaveLength(3);
  });

  it('are not nested if the scheduler fires them, whatever async context they inherited', async () => {
    const app = new Harness();
    await app.runner.run(app.call(), async () => {
      const fired = await app.runner.run(app.call('report', {}, true), () => 'ran');
      expect(fired).toEqual({ ran: false, reason: 'held', holder: 'here' });
    });
  });

  it('are not nested once the job has ended', async () => {
    const app = new Harness();
    let proceed!: () => void;
    const gate = new Promise<void>((resolve) => (proceed = resolve));
    let floating: Promise<unknown> | undefined;
    await app.runner.run(app.call(), () => {
      floating = gate.then(() => app.runner.run(app.call(), (lock) => lock.fencingToken));
    });
    proceed();
    await floating;
    expect(app.store.of('acquire')).toHaveLength(2);
  });

  it('are not nested once the lease is lost: they are skipped, since the job is still going on', async () => {
    const app = new Harness();
    app.store.next('extend', answers([{ held: false, reason: 'taken' }]));
    let nested: unknown;
    const run = app.runner.run(app.call(), async () => {
      await app.clock.advance(3_000);
      nested = await app.runner.run(app.call(), () => 'ran');
    });
    await run;
    expect(nested).toEqual({ ran: false, reason: 'held', holder: 'here' });
  });

  it('are not nested in the job of another application of this process', async () => {
    const app = new Harness();
    const other = new Harness(app, 'there');
    await app.runner.run(app.call(), async () => {
      expect(await other.runner.run(other.call(), () => 'ran')).toMatchObject({ ran: false, reason: 'held' });
    });
  });

  it('do not run if they are switched off, though they are nested', async () => {
    const app = new Harness();
    await app.runner.run(app.call(), async () => {
      const nested = await app.runner.run(app.call('report', { enabled: false }), () => 'ran');
      expect(nested).toEqual({ ran: false, reason: 'disabled' });
    });
  });

  it('pass on what they throw, and leave the lease to the job', async () => {
    const app = new Harness();
    const error = new Error('inner');
    await app.runner.run(app.call(), async (lock) => {
      const nested = app.runner.run(app.call(), () => Promise.reject(error));
      await expect(nested).rejects.toBe(error);
      expect(() => lock.assertLocked()).not.toThrow();
    });
    expect(app.of('released')).toMatchObject([{ outcome: 'completed' }]);
  });

  it('run inside a job that runs without its lock', async () => {
    const app = new Harness();
    app.store.breakDown();
    const call = app.call('report', { onStoreError: 'run' });
    const result = await app.runner.run(call, () => app.runner.run(call, (lock) => lock.fencingToken));
    expect(result).toEqual({ ran: true, value: { ran: true, value: undefined } });
    expect(app.store.of('acquire')).toHaveLength(1);
  });
});

describe('calls that nobody waits for, inside of a job', () => {
  it('end with the lease: the signal aborts, and assertLocked() throws, though the job has completed', async () => {
    const app = new Harness();
    const going = gate();
    let nested: Promise<unknown> | undefined;
    let signal: AbortSignal | undefined;
    await app.runner.run(app.call(), async () => {
      nested = app.runner.run(app.call(), async (lock) => {
        signal = lock.signal;
        await going.opened;
        expect(() => lock.assertLocked()).toThrow(LockNotHeldError);
        expect(currentLock().signal.aborted).toBe(true);
        return 'done';
      });
      await app.clock.advance(0);
      expect(signal?.aborted).toBe(false);
    });
    expect(signal?.reason).toBeInstanceOf(LockNotHeldError);
    expect(signal?.reason).toMatchObject({
      lock: 'report',
      message: 'Lock "report" is not held any more: its job has ended.',
    });
    expect(app.of('released')).toMatchObject([{ outcome: 'completed' }]);
    going.open();
    expect(await nested).toEqual({ ran: true, value: 'done' });
  });

  it('end with the lease if they asked for no signal before, and if the job throws', async () => {
    const app = new Harness();
    const going = gate();
    let nested: Promise<unknown> | undefined;
    const run = app.runner.run(app.call(), () => {
      nested = app.runner.run(app.call(), async (lock) => {
        await going.opened;
        return lock.signal.aborted;
      });
      throw new Error('early');
    });
    await expect(run).rejects.toThrow('early');
    going.open();
    expect(await nested).toEqual({ ran: true, value: true });
    expect(app.of('released')).toMatchObject([{ outcome: 'failed' }]);
  });

  it('end with the lease if they are handles of acquire()', async () => {
    const app = new Harness();
    let handle: Lock | undefined;
    await app.runner.run(app.call(), async () => {
      handle = await app.runner.acquire(app.call());
    });
    expect(handle?.signal.reason).toBeInstanceOf(LockNotHeldError);
  });

  it('leave the signal alone if they have ended before the job', async () => {
    const app = new Harness();
    let signal: AbortSignal | undefined;
    await app.runner.run(app.call(), async (lock) => {
      ({ signal } = lock);
      await app.runner.run(app.call(), () => app.runner.run(app.call(), () => 'innermost'));
      await app.runner.run(app.call(), () => Promise.reject(new Error('caught'))).catch(() => undefined);
      const handle = await app.runner.acquire(app.call());
      await handle.release();
    });
    expect(signal?.aborted).toBe(false);
  });
});

describe('currentLock() and assertLocked()', () => {
  it('throw outside of a job, and say where to call them', () => {
    expect(currentLock).toThrow(LockNotHeldError);
    expect(assertLocked).toThrow(
      'currentLock() was called outside of a lock. Call it inside a method with @SchedulerLock(), inside the ' +
        'function given to SchedulerLockService.run(), or, in a unit test, inside runUnlocked().',
    );
  });

  it('know the lock of the job, over every await and timer', async () => {
    const app = new Harness();
    await app.runner.run({ ...app.call(), job: 'Jobs.report' }, async (lock) => {
      await new Promise((resolve) => setImmediate(resolve));
      expect(currentLock()).toBe(lock);
      expect(lock).toMatchObject({
        name: 'report',
        job: 'Jobs.report',
        holder: 'here',
        tick: undefined,
        attempt: 1,
      });
      expect(assertLocked).not.toThrow();
    });
  });

  it('keep apart the locks of jobs that run at the same time', async () => {
    const app = new Harness();
    const names = await Promise.all(
      ['a', 'b', 'c'].map((name) =>
        app.runner.run(app.call(name), async () => {
          await new Promise((resolve) => setImmediate(resolve));
          return currentLock().name;
        }),
      ),
    );
    expect(names).toMatchObject([{ value: 'a' }, { value: 'b' }, { value: 'c' }]);
  });
});

describe('calls without asking the store', () => {
  it('are skipped while this very process runs the same lock', async () => {
    const app = new Harness();
    await app.start();
    for (let repeat = 0; repeat < 10; repeat += 1) {
      expect((await app.start()).result).toEqual({ ran: false, reason: 'held', holder: 'here' });
    }
    expect(app.store.of('acquire')).toHaveLength(1);
    expect(app.of('skipped')).toHaveLength(10);
  });

  it('are skipped if they are switched off', async () => {
    const app = new Harness();
    expect((await app.start('report', { enabled: false })).result).toEqual({
      ran: false,
      reason: 'disabled',
    });
    expect(app.store.calls).toEqual([]);
    expect(app.of('skipped')).toMatchObject([{ lock: 'report', reason: 'disabled' }]);
  });

  it.each([
    ['', 'it is empty'],
    [' \u00a0', 'it holds nothing but blanks'],
    ['a{b}', 'it holds "{", "}" or a control character'],
    ['a\nb', 'it holds "{", "}" or a control character'],
    ['a\ud800', 'it holds half of a surrogate pair'],
    ['x'.repeat(201), 'it has 201 characters, at most 200 are allowed'],
  ])('are skipped for the name %j, with what is wrong with it', async (name, problem) => {
    const app = new Harness();
    const { result } = await app.start(name);
    expect(result).toMatchObject({ ran: false, reason: 'invalid-name' });
    expect((result as { error: Error }).error.message).toBe(
      `nestjs-scheduler-lock is misconfigured: the lock name ${JSON.stringify(name.slice(0, 80))} is not valid: ${problem}. Nothing was run.`,
    );
    expect(app.store.calls).toEqual([]);
  });

  it('run under names of 200 characters and of any script', async () => {
    const app = new Harness();
    for (const name of ['x'.repeat(200), 'Münze 💶 : * ?', ' a '])
      expect((await app.start(name)).began).toBe(true);
  });
});
