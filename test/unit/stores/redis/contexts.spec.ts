import { expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { RedisLockStore } from '../../../../lib/stores/redis/index.js';
import { ownStore } from './support/own-redis.js';

const requests = new AsyncLocalStorage<string>();

let client: Redis;
let store: RedisLockStore;

ownStore((...own) => ([client, store] = own));

test('a call that goes alone is made in the async context of its caller, and calls that go together in that of none', async () => {
  const sent: unknown[] = [];
  const sendCommand = client.sendCommand.bind(client);
  const spy = jest.spyOn(client, 'sendCommand').mockImplementation((...args) => {
    sent.push(requests.getStore());
    return sendCommand(...args);
  });
  const attempts = ['first', 'second', 'third'].map((id) =>
    requests.run(id, async () => {
      const result = await store.acquire({
        name: id,
        token: `token-${id}`,
        ttl: 60_000,
        holder: 'host:1:abc',
      });
      return [result.acquired, requests.getStore()];
    }),
  );
  expect(await Promise.all(attempts)).toEqual([
    [true, 'first'],
    [true, 'second'],
    [true, 'third'],
  ]);
  spy.mockRestore();
  // The scripts are sent once more if Redis does not know them yet.
  expect(sent.slice(0, 2)).toStrictEqual(['first', undefined]);
  expect(sent).not.toContain('second');
  expect(sent).not.toContain('third');
});
