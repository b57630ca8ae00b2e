import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient } from '../../../lib/index.js';
import { RedisConnection } from '../../../lib/stores/redis/redis-connection.js';
import { lockKeys, OF_HISTORY } from '../../../lib/stores/redis/keys.js';
import { RedisLockStore } from '../../../lib/stores/redis/index.js';
import type { LockStoreContractOptions } from '../cases/options.js';
import { uniquePrefix } from '../../support/redis-server.js';

/** A client of the user's: what the store needs, and the commands with which a test looks behind its back. */
export interface TestClient extends RedisClient {
  del(key: string): Promise<unknown>;
  rpush(key: string, value: string): Promise<unknown>;
  hgetall(key: string): Promise<Record<string, string>>;
  hset(key: string, field: string, value: string): Promise<unknown>;
  disconnect(): void;
}

export interface RedisContract {
  readonly options: LockStoreContractOptions;
  /** Ends the clients. */
  close(): void;
}

/**
 * Registers the first case of each rule, and those of hints: what a version of the client, or its prefix of keys, changes is how a
 * script is sent, how its keys are named and how its answer is read, and each rule sends scripts. All cases run
 * on each server once, and once with a prefix.
 */
export function oncePerRule(test: (name: string, body: () => Promise<void>) => unknown) {
  const seen = new Set<string>();
  return (name: string, body: () => Promise<void>): void => {
    const [rule = name] = /^rule \d+/.exec(name) ?? [];
    if (seen.has(rule) && !/hint/i.test(name)) return;
    seen.add(rule);
    test(name, body);
  };
}

/**
 * The contract on Redis, as users have it: clients with the default options of ioredis, several of them competing.
 *
 * @param connect makes a client; called when the first case runs
 */
export function redisContract(connect: () => TestClient): RedisContract {
  const clients: TestClient[] = [];
  const now = Date.now.bind(Date);
  let key = (name: string): string => name;
  const used = new Set<string>();

  const first = (): TestClient => {
    const [client] = clients;
    if (client === undefined) throw new Error('No case has been started');
    return client;
  };
  const locks = (name: string): string => key(name);
  const keysOf = (name: string) => lockKeys(key(name), new RedisConnection(first()).keyPrefix);
  const states = (name: string): string => keysOf(name)[1];
  const remove = async (...keys: string[]): Promise<void> => {
    // One by one: on a cluster they are in different slots.
    await Promise.all(keys.map((each) => first().del(each)));
  };

  const options: LockStoreContractOptions = {
    async create() {
      while (clients.length < 3) clients.push(connect());
      // Nothing is flushed, as the server may be shared: each case has keys of its own.
      const prefix = uniquePrefix('contract');
      key = (name) => {
        used.add(name);
        return `${prefix}${name}:lock`;
      };
      const make = (client: TestClient): RedisLockStore => new RedisLockStore(client, { key });
      const store = make(first());
      const others = clients.slice(1).map(make);
      const stores = [store, ...others];
      await Promise.all(stores.map((each) => each.init()));
      const close = async (): Promise<void> => {
        await Promise.all(stores.map((each) => each.close()));
        await options.forgetAll?.(store);
        used.clear();
      };
      return { store, others, close };
    },
    inspects: true,
    lines: true,
    queuedCalls: true,
    history: true,
    hints: true,
    wait: (ms) => sleep(ms),
    forget: (name) => remove(locks(name)),
    forgetState: (name) => remove(states(name)),
    forgetAll: () =>
      remove(
        ...[...used].flatMap((name) => {
          const keys = keysOf(name);
          return [...keys, ...OF_HISTORY.of(keys)];
        }),
      ),
    async breakLock(name) {
      await remove(locks(name));
      await first().rpush(locks(name), 'somebody else put this here');
    },
    async setClockBack(name, ms) {
      for (const [field, value] of Object.entries(await first().hgetall(states(name)))) {
        const [, due, interval] = /^next (\d+) (\d+)$/.exec(value) ?? [];
        if (due !== undefined)
          await first().hset(states(name), field, `next ${Number(due) + ms} ${interval}`);
      }
    },
    skewInstanceClock: (ms) => {
      Date.now = ms === 0 ? now : () => now() + ms;
    },
  };
  return { options, close: () => clients.forEach((client) => client.disconnect()) };
}
