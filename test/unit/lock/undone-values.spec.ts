import { describe, expect, it, jest } from '@jest/globals';
import { SchedulerLockConfigError } from '../../../lib/base/errors.js';
import { invoke } from '../../../lib/lock/current-lock.js';
import { refuseUndone } from '../../../lib/lock/job.js';

describe('invoke()', () => {
  it('starts lazy work at once, and only once', async () => {
    const then = jest.fn((resolve: (value: string) => void) => resolve('rows'));
    // oxlint-disable-next-line unicorn/no-thenable -- what query builders are
    const work = invoke(() => ({ then }) as unknown as PromiseLike<string>, undefined);
    expect(then).toHaveBeenCalledTimes(1);
    expect(work).toBeInstanceOf(Promise);
    expect(await work).toBe('rows');
    expect(then).toHaveBeenCalledTimes(1);
  });

  it('passes a promise and a value on as they are', () => {
    const promise = Promise.resolve();
    expect(invoke(() => promise, undefined)).toBe(promise);
    expect(invoke((given) => given, 'a value')).toBe('a value');
    expect(invoke(() => null, undefined)).toBeNull();
  });
});

describe('refuseUndone()', () => {
  const call = { name: 'report', job: undefined };
  const observable: unique symbol = Symbol('observable');
  const nothing = (): void => undefined;
  const generator = (function* (): Generator<number> {
    yield 1;
  })();

  it.each<[string, unknown]>([
    ['an Observable of RxJS', { subscribe: nothing, lift: nothing }],
    ['an Observable of another library', { subscribe: nothing, '@@observable': nothing }],
    ['a generator', generator],
    ['an async generator', { next: nothing, throw: nothing, [Symbol.asyncIterator]: nothing }],
    ['a generator of a compiler', { next: nothing, throw: nothing, [Symbol.iterator]: nothing }],
  ])('refuses %s', (_, value) => {
    expect(() => refuseUndone(value, call)).toThrow(SchedulerLockConfigError);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'subscribe'],
    ['a client of a message broker', { subscribe: nothing, [observable]: nothing }],
    ['what only has a name of RxJS', { lift: nothing }],
    ['an iterator', { next: nothing, [Symbol.iterator]: nothing }],
    ['a cursor', { next: nothing, throw: nothing }],
    ['an array', [1, 2]],
    ['what can throw', { throw: nothing, [Symbol.iterator]: nothing }],
  ])('takes %s', (_, value) => {
    expect(() => refuseUndone(value, call)).not.toThrow();
  });
});
