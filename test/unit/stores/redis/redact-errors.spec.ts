import { describe, expect, it } from '@jest/globals';
import { withAdvice } from '../../../../lib/stores/redis/advice.js';
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

  it('is what each of several says, where the error itself says nothing', () => {
    const each = ['::1', '127.0.0.1'].map((host) => new Error(`connect ECONNREFUSED ${host}:6379`));
    expect(describeError(new AggregateError(each))).toBe(
      'connect ECONNREFUSED ::1:6379, connect ECONNREFUSED 127.0.0.1:6379',
    );
    expect(describeError(new AggregateError([]))).toBe('AggregateError');
  });
});

describe('what to do about a failure', () => {
  it.each([
    ['connect ETIMEDOUT', 'only one side uses TLS'],
    ["NOPERM User app has no permissions to run the 'evalsha' command", 'scheduler-lock acl'],
    ['ACL failure in script: error executing the script', 'scheduler-lock acl'],
    ['MOVED 12182 10.0.0.7:6379', 'give a client of the Cluster'],
    ['READONLY You can not write against a read only replica.', 'connect to the primary'],
  ])('follows %s', (message, advice) => {
    expect(withAdvice(message)).toContain(advice);
  });

  it('is nothing where nobody knows', () => {
    expect(withAdvice('LOADING')).toBe('LOADING');
  });
});
