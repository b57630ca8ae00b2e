import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SchedulerLockConfigError } from '../../../../lib/base/errors.js';
import {
  hashTag,
  isStateKey,
  lockKeys,
  OF_HISTORY,
  OF_QUEUE,
  stateKey,
} from '../../../../lib/stores/redis/keys.js';

describe('the part of a key that decides its Cluster slot', () => {
  test.each([
    ['scheduler:refresh:lock', undefined],
    ['{app}:refresh:lock', 'app'],
    ['a{b}c{d}', 'b'],
    ['a{{b}c', '{b'],
    ['a{}b{c}', undefined],
    ['a{b', undefined],
    ['a}b{c}', 'c'],
  ])('of "%s" is %s', (key, tag) => {
    expect(hashTag(key)).toBe(tag);
  });
});

describe('the key of the state', () => {
  test.each([
    ['scheduler:refresh:lock', '', '{scheduler:refresh:lock}:state'],
    ['{app}:refresh:lock', '', '{app}:refresh:lock:state'],
    ['refresh:lock', 'app:', '{app:refresh:lock}:state'],
    ['refresh:lock', '{app}:', 'refresh:lock:state'],
  ])('of lock "%s" under the client prefix "%s" is "%s"', (lock, prefix, state) => {
    expect(stateKey(lock, prefix)).toBe(state);
  });

  test('shares the slot of its lock, under every prefix', () => {
    const part = fc.string({ unit: fc.constantFrom('a', 'b', ':', '{', '}'), minLength: 1 });
    const slotOf = (key: string): string => hashTag(key) ?? key;
    fc.assert(
      fc.property(part, part, (prefix, lock) => {
        let state: string;
        try {
          state = stateKey(lock, prefix);
        } catch (error) {
          // An untagged key with a brace that would end or begin the tag at the wrong place.
          return error instanceof SchedulerLockConfigError && /[{}]/.test(prefix + lock);
        }
        return slotOf(prefix + state) === slotOf(prefix + lock);
      }),
    );
  });

  test('is never that of a lock, whatever their keys and the prefix', () => {
    const part = fc
      .array(fc.constantFrom('a', ':', '{', '}', '{a}', ':state', '}:state'), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join(''));
    const taken = (lock: string, prefix: string): string | undefined => {
      try {
        return stateKey(lock, prefix);
      } catch {
        return undefined;
      }
    };
    const prefixes = fc.constantFrom('', 'a', 'a:', '{a}:');
    fc.assert(
      fc.property(part, prefixes, (lock, prefix) => {
        const state = taken(lock, prefix);
        // No lock can be taken with this key.
        return state === undefined || taken(state, prefix) === undefined;
      }),
    );
  });

  test.each([
    ['{jobs}:import:state', '', '{jobs}:import'],
    ['{jobs:import}:state', '', '{jobs:import}'],
    ['{app:import}:state', 'app:', 'app:{app:import}'],
    ['import:state', '{app}:', '{app}:import'],
  ])('is no key of a lock: "%s" under the client prefix "%s"', (lock, prefix, other) => {
    expect(() => stateKey(lock, prefix)).toThrow(SchedulerLockConfigError);
    expect(() => stateKey(lock, prefix)).toThrow(
      `the Redis key "${prefix}${lock}" is where the state of a lock with the key "${other}" is kept. Let \`key\` end`,
    );
  });

  test.each([
    ['import:state', ''],
    ['import:state', 'app:'],
    ['{jobs}:import:state:lock', ''],
  ])('has nothing to do with the lock "%s" under the client prefix "%s"', (lock, prefix) => {
    expect(stateKey(lock, prefix)).toMatch(/:state$/);
  });

  test.each(['scheduler:refresh:lock', '{app}:refresh'])(
    'is known as one, and so are those of line, queue and history beside %s',
    (lock) => {
      const keys = lockKeys(lock, '');
      const beside = [...keys.slice(1), ...OF_QUEUE.of(keys), ...OF_HISTORY.of(keys)];
      expect(beside).toHaveLength(7);
      expect(beside.filter(isStateKey)).toEqual(beside);
      expect(new Set(beside.map(hashTag)).size).toBe(1);
    },
  );

  test('is refused for a lock key with which no state key can share a slot', () => {
    expect(() => stateKey('a}b', '')).toThrow(SchedulerLockConfigError);
    expect(() => stateKey('a}b', '')).toThrow(/"a}b" holds a brace that makes no hash tag/);
    expect(() => stateKey('b', 'a{}:')).toThrow(SchedulerLockConfigError);
    expect(() => stateKey('b', '{a:')).toThrow(SchedulerLockConfigError);
  });
});
