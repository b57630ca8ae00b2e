import { describe, expect, it, test } from '@jest/globals';
import { connectionProblem } from '../../../../lib/stores/redis/connection-options.js';

test.each([{ tls: {} }, { host: 'x', isolation: 1 }])('options are for ioredis to know: %j', (options) => {
  expect(connectionProblem(options)).toBeUndefined();
});

describe('the address of a Redis', () => {
  it.each([
    '/run/redis.sock',
    'redis://host',
    'redis://host/2',
    'rediss://user:secret@host:6379/',
    'redis://host?family=6',
  ])('may be %s', (source) => expect(connectionProblem(source)).toBeUndefined());

  it.each([
    ['//user:secret@host', 'this is not a URL'],
    ['redis://host:6379/2#x', 'a "#", "/" or "?" cuts'],
    ['redis://user:6/secret@host:6379', 'a "#", "/" or "?" cuts'],
    ['redis://user:6?secret@host:6379', 'a "#", "/" or "?" cuts'],
    ['redis://user:50%off@host:6379', 'a "%" in the user name or password'],
    ['redis:///2', 'the Redis URL names no host'],
    ['redis://host/jobs', 'the path of a Redis URL'],
  ])('may not be %s', (source, expected) => {
    expect(connectionProblem(source)).toContain(`connection: ${expected}`);
  });

  it.each([{ port: 1 }, { port: 65_535 }, { port: '6379' }, { db: 0 }, { db: '15' }, { host: 'h' }])(
    'may be %j',
    (source) => expect(connectionProblem(source)).toBeUndefined(),
  );

  it.each([
    [{ port: 0 }, 'port: 0'],
    [{ port: 65_536 }, 'port: 65536'],
    [{ port: 1.5 }, 'port: 1.5'],
    [{ db: -1 }, 'db: -1'],
    [{ db: 0.5 }, 'db: 0.5'],
    [{ db: -1 }, 'db: -1 is no number of a database.'],
    [{ db: 'orders' }, 'db: orders is no number of a database.'],
    [{ db: Number.NaN }, 'db: NaN is no number of a database.'],
    [{ host: '' }, 'host: expected'],
    [{ host: 1 }, 'host: expected'],
  ])('may not be %j', (source, expected) => {
    expect(connectionProblem(source)).toContain(`connection.${expected}`);
  });
});
