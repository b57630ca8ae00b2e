import { expect, test } from '@jest/globals';
import { StoreUnavailableError } from '../../../../lib/base/errors.js';
import { LeaseCommands } from '../../../../lib/stores/redis/lease-commands.js';
import { failure, RedisReplyError } from '../../../../lib/stores/redis/redis-client.js';
import { RedisConnection } from '../../../../lib/stores/redis/redis-connection.js';
import { RELEASE } from '../../../../lib/stores/redis/release-script.js';

test.each<[refused: boolean, message: string]>([
  [true, "OOM command not allowed when used memory > 'maxmemory'."],
  [true, "NOPERM User jobs has no permissions to run the 'hset' command"],
  [true, "ERR The user executing the script can't run this command or subcommand"],
  [true, 'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.'],
  [false, "READONLY You can't write against a read only replica."],
  [false, 'LOADING Redis is loading the dataset in memory'],
  [false, 'CLUSTERDOWN The cluster is down'],
])('somebody has to put it right: %s for %j', (refused, message) => {
  const error = failure(new RedisReplyError(message));
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(error).toMatchObject({ outcome: 'not-applied', refused });
});

test('calls that went together all fail if the answer to them cannot be read', async () => {
  const client = {
    status: 'ready',
    evalsha: async () => null,
    mget: async () => [],
    eval: async () => null,
    connect: async () => undefined,
    on: () => undefined,
    off: () => undefined,
  };
  const scripts = new LeaseCommands(new RedisConnection(client), (name) => name);
  const outcomes = ['a', 'b'].map((name) => {
    let settle!: (outcome: unknown) => void;
    const outcome = new Promise((resolve) => (settle = resolve));
    return {
      call: { name, args: ['token'], read: () => 'read', told: { answered: settle, failed: settle } },
      outcome,
    };
  });
  const ended = Promise.all(
    scripts.many(
      RELEASE,
      outcomes.map(({ call }) => call),
    ),
  );
  for (const { outcome } of outcomes) expect(await outcome).toBeInstanceOf(Error);
  await ended;
});

test('a call that goes alone fails if the answer to it cannot be read', async () => {
  const client = { status: 'ready', evalsha: async () => 1, on: () => undefined, off: () => undefined };
  const scripts = new LeaseCommands(new RedisConnection(client as never), (name) => name);
  const unreadable = new TypeError('no answer');
  const read = (): never => {
    throw unreadable;
  };
  const order: unknown[] = [];
  await new Promise<void>((resolve) => {
    const settle = (outcome: unknown): void => resolve(void order.push(outcome));
    const call = { name: 'a', args: ['token'], read, told: { answered: settle, failed: settle } };
    scripts.one(RELEASE, call, () => order.push('ended'));
  });
  expect(order).toEqual(['ended', unreadable]);
});
