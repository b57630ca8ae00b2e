import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { currentLock, SchedulerLock } from '../../lib/index.js';
import { closeApps, startApp } from './app.js';

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

  it('rejects with what it throws, and nothing runs', async () => {
    const app = await startApp([Jobs]);
    await expect(app.get(Jobs).throwing()).rejects.toThrow('no tenant');
    expect(app.events).toEqual([]);
  });
});
