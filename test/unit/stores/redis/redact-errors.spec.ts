import { describe, expect, it } from '@jest/globals';
import { describeError } from '../../../../lib/stores/redis/redact.js';

describe('what is told of an error of the driver', () => {
  it.each([
    'connect ECONNREFUSED redis://:hunter2@host:6379',
    'rediss://user:hunter2@host refused',
    'redis://:hunter2@a, redis://:hunter2@b',
  ])('is its message without credentials: %s', (message) => {
    expect(describeError(new Error(message))).not.toContain('hunter2');
    expect(describeError(new Error(message))).toContain('//***@');
  });

  it('is never the command that failed, which ioredis hangs on its errors', () => {
    const error = Object.assign(new Error('WRONGPASS'), { command: { name: 'auth', args: ['hunter2'] } });
    expect(describeError(error)).toBe('WRONGPASS');
  });

  it('is something even of an error without a message, and of what is no error', () => {
    expect(describeError(new TypeError())).toBe('TypeError');
    expect(describeError('gone')).toBe('gone');
  });
});
