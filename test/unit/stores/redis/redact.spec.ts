import { expect, test } from '@jest/globals';
import { describeError } from '../../../../lib/stores/redis/redact.js';

test.each([
  ['connect redis://user:secret@host:6379 failed', 'connect redis://***@host:6379 failed'],
  ['rediss://:secret@host/0', 'rediss://***@host/0'],
  ['a redis://u:s@one and redis://u:t@two', 'a redis://***@one and redis://***@two'],
  ['redis://user:se@cret@host', 'redis://***@host'],
  ['getaddrinfo ENOTFOUND host', 'getaddrinfo ENOTFOUND host'],
  ['Connection is closed.', 'Connection is closed'],
  [
    "READONLY You can't write against a read only replica. script: eb936a0edbe9eb1b3cabd814eaf49ff916944ac3, on @user_script:45.",
    "READONLY You can't write against a read only replica",
  ],
])('the message "%s" is told as "%s"', (message, told) => {
  expect(describeError(new Error(message))).toBe(told);
});

test('an error without a message is told by its name, and anything else as text', () => {
  expect(describeError(new RangeError(''))).toBe('RangeError');
  expect(describeError('redis://u:secret@host')).toBe('redis://***@host');
  expect(describeError(undefined)).toBe('undefined');
});

test('the command that a driver hangs on its error is not told', () => {
  const error = Object.assign(new Error('WRONGPASS'), { command: { name: 'auth', args: ['secret'] } });
  expect(describeError(error)).toBe('WRONGPASS');
});
