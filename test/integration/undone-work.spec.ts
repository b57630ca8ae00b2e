import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Observable, of } from 'rxjs';
import {
  assertLocked,
  currentLock,
  SchedulerLock,
  SchedulerLockConfigError,
  SchedulerLockService,
} from '../../lib/index.js';
import { runUnlocked } from '../../lib/testing/index.js';
import { closeApps, NotedStore, startApp } from './app.js';

afterEach(closeApps);

const OBSERVABLE =
  'the job returned an Observable, which does its work for whoever subscribes to it, without the lock. ' +
  'Return a promise of what it does: lastValueFrom(observable).';
const GENERATOR =
  'the job returned a generator, which does its work for whoever iterates over it, without the lock. ' +
  'Iterate inside of the job, and return a promise.';
const INTRO = 'nestjs-scheduler-lock is misconfigured: ';

const work = jest.fn();

async function* asyncGenerator() {
  work();
  yield 1;
}
function* generator() {
  work();
  yield 1;
}
const observable = () => new Observable((subscriber) => (work(), subscriber.complete()));
/** What TypeScript makes of an async generator for an old target. */
const downLevelled = () => ({
  next: work,
  throw: work,
  return: work,
  [Symbol.asyncIterator]() {
    return this;
  },
});
/** An Observable of another library. */
const foreign = () => ({ subscribe: work, '@@observable': () => undefined });

const undone: [string, () => unknown, string][] = [
  ['an Observable', observable, OBSERVABLE],
  ['a promise of an Observable', async () => observable(), OBSERVABLE],
  ['an Observable of another library', foreign, OBSERVABLE],
  ['an async generator', asyncGenerator, GENERATOR],
  ['a generator', generator, GENERATOR],
  ['a promise of a generator', async () => generator(), GENERATOR],
  ['a generator made by a compiler', downLevelled, GENERATOR],
];

/** Begins when somebody asks for it, as queries of Knex, Mongoose and Prisma do. */
const lazy = <T>(answer: () => T): PromiseLike<T> => ({
  // oxlint-disable-next-line unicorn/no-thenable -- just that
  then: (resolve, reject) => new Promise<T>((settle) => settle(answer())).then(resolve, reject),
});

describe('work that is still to be done', () => {
  it.each(undone)('as %s is refused at the call, and the lock given back', async (_name, job, problem) => {
    const store = new NotedStore();
    const app = await startApp([], { store });
    const locks = app.get(SchedulerLockService);
    const run = locks.run('report', job);
    await expect(run).rejects.toThrow(SchedulerLockConfigError);
    await expect(run).rejects.toThrow(`${INTRO}lock "report": ${problem}`);
    expect(store.calls.slice(-1)).toEqual(['release report failed']);
    expect(app.events.slice(-1)).toMatchObject([{ type: 'released', outcome: 'failed' }]);
    // Inside of a job as well.
    await locks.run('report', async () => {
      await expect(locks.run('report', { job: 'inner' }, job)).rejects.toThrow(`${INTRO}inner: ${problem}`);
    });
    expect(work).not.toHaveBeenCalled();
  });

  it('of a decorated method is refused, with its name, also in a unit test', async () => {
    @Injectable()
    class Jobs {
      // What the types cannot see.
      @SchedulerLock('report')
      async report(): Promise<unknown> {
        return of(1);
      }
    }
    const app = await startApp([Jobs]);
    await expect(app.get(Jobs).report()).rejects.toThrow(`${INTRO}Jobs.report: ${OBSERVABLE}`);
    await expect(runUnlocked(() => new Jobs().report())).rejects.toThrow(
      `${INTRO}Jobs.report: ${OBSERVABLE}`,
    );
  });

  it.each([
    ['clients of message brokers, which have a subscribe()', { subscribe: work }],
    ['iterators over what is there', [1, 2][Symbol.iterator]()],
    ['text', 'text'],
    ['nothing', null],
  ])('is not what %s are', async (_name, value) => {
    const app = await startApp([]);
    const result = await app.get(SchedulerLockService).run<unknown>('report', () => value);
    expect(result.ran && result.value).toBe(value);
  });

  it('that is lazy begins inside of the lock, once', async () => {
    const app = await startApp([]);
    const locks = app.get(SchedulerLockService);
    const query = jest.fn(() => {
      assertLocked();
      return currentLock().name;
    });
    expect(await locks.run('report', () => lazy(query))).toEqual({ ran: true, value: 'report' });
    const promise = Object.assign(Promise.resolve(''), lazy(query));
    expect(await locks.run('report', () => promise)).toEqual({ ran: true, value: 'report' });
    const nested = locks.run('report', () =>
      locks.run('inner', () => locks.run('report', () => lazy(query))),
    );
    expect(await nested).toMatchObject({ value: { value: { value: 'report' } } });
    expect(query).toHaveBeenCalledTimes(3);
  });

  it('that is lazy and fails, at once or later, fails the job', async () => {
    const app = await startApp([]);
    const locks = app.get(SchedulerLockService);
    const failing = (): never => {
      throw new Error('the query');
    };
    await expect(locks.run('report', () => lazy(failing))).rejects.toThrow('the query');
    // oxlint-disable-next-line unicorn/no-thenable -- a broken one of somebody else's
    await expect(locks.run('report', () => ({ then: failing }))).rejects.toThrow('the query');
    expect(app.events.filter(({ type }) => type === 'released')).toMatchObject([
      { outcome: 'failed' },
      { outcome: 'failed' },
    ]);
  });

  it('that is lazy begins inside of the lock under a leader and in a unit test, too', async () => {
    @Injectable()
    class Jobs {
      @SchedulerLock('report')
      report(): PromiseLike<string> {
        return lazy(() => currentLock().name);
      }
    }
    const app = await startApp([Jobs], { store: 'memory', leader: { name: 'main' } });
    expect(await app.get(Jobs).report()).toBe('report');
    expect(await runUnlocked(() => new Jobs().report())).toBe('Jobs.report');
  });
});
