import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SchedulerLockConfigError } from '../../../lib/index.js';
import { hashTag, stateKey } from '../../../lib/stores/redis/keys.js';

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

  test('is refused for a lock key with which no state key can share a slot', () => {
    expect(() => stateKey('a}b', '')).toThrow(SchedulerLockConfigError);
    expect(() => stateKey('a}b', '')).toThrow(/"a}b" holds a brace that makes no hash tag/);
    expect(() => stateKey('b', 'a{}:')).toThrow(SchedulerLockConfigError);
    expect(() => stateKey('b', '{a:')).toThrow(SchedulerLockConfigError);
  });
});
