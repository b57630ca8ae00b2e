import { describe, expect, it } from '@jest/globals';
import { nearest } from '../../lib/wording.js';

const NAMES = ['ttl', 'heartbeat', 'timeout', 'atLeast', 'name', 'password', 'host', 'path', 'db'];

describe('the name that was probably meant', () => {
  it.each([
    ['tttl', 'ttl'],
    ['tll', 'ttl'],
    ['tl', 'ttl'],
    ['TTL', 'ttl'],
    ['heartBeat', 'heartbeat'],
    ['hearbeat', 'heartbeat'],
    ['haertbeat', 'heartbeat'],
    ['timout', 'timeout'],
    ['at_least', 'atLeast'],
    ['hots', 'host'],
    ['pass', 'password'],
    ['passwd', 'password'],
  ])('by %p is %p', (given, meant) => {
    expect(nearest(given, NAMES)).toBe(meant);
  });

  it.each(['', 'x', 'lease', 'waitFor', 'url', 'toString', '__proto__'])('by %p is none', (given) => {
    expect(nearest(given, NAMES)).toBeUndefined();
  });
});
