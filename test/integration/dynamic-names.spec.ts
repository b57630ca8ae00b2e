import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, Interval } from '@nestjs/schedule';
import { currentLock, SchedulerLock } from '../../lib/index.js';
import { closeApps, startApp, startFailure } from './app.js';

afterEach(closeApps);

describe('the name of a lock as a function', () => {
  @Injectable()
  class Jobs {
    @SchedulerLock({ name: (tenant: string) => `report-${tenant}` })
    async report(_tenant: string) {
      return currentLock().name;
    }
    @SchedulerLock({ name: (name: unknown) => name as string })
    async any(_name: unknown) {
      return 'ran';
    }
    @SchedulerLock({ name: (name: unknown) => name as string, onSkip: 'throw' })
    async strict(_name: unknown) {
      return 'ran';
    }
    @SchedulerLock({
      name: (): string => {
        throw new Error('no tenant');
      },
    })
    async throwing() {
      return 'ran';
    }
    @SchedulerLock({
      name: 'kept',
      onHeld: 'queue',
      queue: {
        key: () => {
          throw new Error('no key');
        },
      },
    })
    async kept(_id: string) {}
  }

  it("gets the call's arguments", async () => {
    const app = await startApp([Jobs]);
    expect(await app.get(Jobs).report('acme')).toBe('report-acme');
    expect(app.events[0]).toMatchObject({ lock: 'report-acme', job: 'Jobs.report' });
  });

  it.each([
    ['', '""', 'it is empty'],
    ['a{b}', '"a{b}"', 'it holds "{", "}" or a control character'],
    [undefined, '(undefined)', 'expected a string, got undefined'],
    [null, '(null)', 'expected a string, got null'],
    [Promise.resolve('late'), '(object)', 'expected a string, got object'],
  ])('skips the call for the name %p, with an error line', async (name, shown, problem) => {
    const app = await startApp([Jobs]);
    expect(await app.get(Jobs).any(name)).toBeUndefined();
    expect(app.events).toMatchObject([
      { type: 'skipped', reason: 'invalid-name', lock: shown, job: 'Jobs.any' },
    ]);
    expect(app.logs.own.filter((line) => !line.startsWith('log'))).toEqual([
      `error: Jobs.any [${shown}]: skipped (invalid-name): nestjs-scheduler-lock is misconfigured: ` +
        `the lock name ${shown} is not valid: ${problem}. Nothing was run.`,
    ]);
    await expect(app.get(Jobs).strict(name)).rejects.toMatchObject({ reason: 'invalid-name' });
  });

  it('rejects with job and option if it throws, and nothing runs', async () => {
    const app = await startApp([Jobs]);
    await expect(app.get(Jobs).throwing()).rejects.toMatchObject({
      code: 'SCHEDULER_LOCK_CONFIG',
      message: expect.stringMatching(
        /: Jobs\.throwing: name: its function threw for a call with 0 arguments: Error: no tenant\. Nothing was run\.$/,
      ),
      cause: new Error('no tenant'),
    });
    await expect(app.get(Jobs).kept('acme')).rejects.toThrow(
      'Jobs.kept: queue.key: its function threw for a call with 1 argument: Error: no key. Nothing was run.',
    );
    expect(app.events).toEqual([]);
  });

  it('is refused for a method that the scheduler fires, as there are no arguments', async () => {
    @Injectable()
    class Scheduled {
      @Cron('0 0 1 1 *')
      @SchedulerLock({ name: (tenant: string) => `x:${tenant}` })
      async report(_tenant: string) {}

      // A person may call it for one tenant.
      @Interval(60_000)
      @SchedulerLock({ name: (tenant = 'all') => `y:${tenant}` })
      async sync(_tenant?: string) {}
    }
    expect(await startFailure(startApp([Scheduled]))).toBe(
      'nestjs-scheduler-lock is misconfigured: Scheduled.report: name: the scheduler calls the method without arguments, of which this function makes the name. ' +
        'Give a fixed name; for a lock per tenant, let this method call another one with @SchedulerLock(), or SchedulerLockService.run(), for each tenant. ' +
        'If it is called by hand too, give each parameter of the function a default value.',
    );
  });
});
