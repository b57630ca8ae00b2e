import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock.store.js';
import type { AcquireRequest, HintChannel } from '../../lib/contract/lock-store.js';
import type { WaitRequest } from '../../lib/contract/lease-ref.js';
import { provideRedis, type RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { systemClock } from '../../lib/base/clock.js';
import { LockRunner } from '../../lib/lock/lock-runner.js';
import type { LockCall } from '../../lib/lock/lock-call.js';

let server: RedisServer;
let client: Redis;

beforeAll(async () => {
  server = await provideRedis();
  client = new Redis(server.url);
}, 60_000);

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** A process with a connection of its own. */
class Process {
  readonly store = new RedisLockStore(server.url);
  readonly name = randomUUID();
  readonly hints: string[] = [];
  channel: HintChannel | undefined;

  async open(): Promise<this> {
    await this.store.init();
    this.channel = this.store.hints(this.name, (token) => this.hints.push(token));
    await until(() => this.channel?.open === true);
    return this;
  }

  async close(): Promise<void> {
    this.channel?.close();
    await this.store.close();
  }

  /** A call that does not wait. */
  call(name: string): AcquireRequest {
    return { name, token: randomUUID(), ttl: 60_000, holder: this.name };
  }

  request(name: string, wait: Partial<WaitRequest> = {}): AcquireRequest {
    return { ...this.call(name), wait: { limit: 60_000, priority: 0, process: this.name, ...wait } };
  }
}

let a: Process;
let b: Process;
let name: string;
beforeEach(async () => {
  name = `waiting-${randomUUID()}`;
  [a, b] = await Promise.all([new Process().open(), new Process().open()]);
});
afterEach(() => Promise.all([a.close(), b.close()]));

async function took(who: Process, request: AcquireRequest) {
  const result = await who.store.acquire(request);
  if (!result.acquired) throw new Error(`refused: ${JSON.stringify(result)}`);
  const { wait: _, ...lease } = request;
  return { ...lease, fencingToken: result.fencingToken };
}

describe('on Redis', () => {
  test('a release calls the first in line, whose process gets a hint', async () => {
    const lease = await took(a, a.call(name));
    const [first, second] = [b.request(name), a.request(name)];
    expect(await b.store.acquire(first)).toMatchObject({
      acquired: false,
      reason: 'held',
      waiting: { ahead: 0 },
    });
    expect(await a.store.acquire(second)).toMatchObject({
      acquired: false,
      reason: 'held',
      waiting: { ahead: 1 },
    });
    expect(await a.store.release(lease)).toEqual({ released: true });
    await until(() => b.hints.includes(first.token));
    // Nobody else gets it meanwhile.
    expect(await a.store.acquire(a.call(name))).toMatchObject({ acquired: false, reason: 'held' });
    expect(await a.store.acquire(second)).toMatchObject({ acquired: false, waiting: { ahead: 1 } });
    const next = await took(b, first);
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken);
    expect(await a.store.extend([lease])).toMatchObject([{ held: false }]);
    await b.store.release(next);
    await until(() => a.hints.includes(second.token));
    await a.store.release(await took(a, second));
    const keys = await client.keys(`*${name}*`);
    expect(keys.filter((key) => !key.endsWith(':state'))).toEqual([]);
    expect(await client.hmget(keys[0] ?? '', 'line', 'turn')).toEqual([null, null]);
    await a.store.release(await took(a, a.call(name)));
  });

  test('a release is recorded as the end of its lease, also where others wait', async () => {
    const lease = await took(a, a.call(name));
    await b.store.acquire(b.request(name));
    expect(await a.store.release(lease)).toEqual({ released: true });
    expect(await a.store.release(lease)).toEqual({ released: false, reason: 'ended' });
    expect(await a.store.extend([lease])).toMatchObject([{ held: false }]);
  });

  /** Ends a reservation before its time. */
  const timePasses = (): Promise<unknown> => client.del(`scheduler:${name}:lock`);

  test('a dead call that did not come when it was called is not called again, though callers that do not wait ask first', async () => {
    const lease = await took(a, a.call(name));
    const [dead, alive] = [
      { ...b.request(name), wait: { limit: 60_000, priority: 0, process: 'killed' } },
      b.request(name),
    ];
    await b.store.acquire(dead);
    await b.store.acquire(alive);
    await a.store.release(lease);
    await timePasses();
    // A loop of callers that do not wait is there before the next ask of any call in line.
    for (let i = 0; i < 3; i++) expect(await a.store.acquire(a.call(name))).toMatchObject({ reason: 'held' });
    expect(await b.store.acquire(alive)).toMatchObject({ acquired: true });
  });

  test('calls behind more dead ones than one look goes through keep their order', async () => {
    const lease = await took(a, a.call(name));
    const dead = Array.from({ length: 2_500 }, () => ({
      ...b.request(name),
      wait: { limit: 60_000, priority: 0, process: 'killed' },
    }));
    await Promise.all(dead.map((request) => b.store.acquire(request)));
    const [first, second] = [b.request(name), a.request(name)];
    await b.store.acquire(first);
    await a.store.acquire(second);
    await a.store.release(lease);
    let granted = false;
    for (let i = 0; i < 8 && !granted; i++) {
      await timePasses();
      expect(await a.store.acquire(second)).toMatchObject({ acquired: false });
      granted = (await b.store.acquire(first)).acquired;
    }
    expect(granted).toBe(true);
  });
});

test('the start of an interval stays when the first ask of its call was lost, and another job has the lock next', async () => {
  let asks = 0;
  const { store } = a;
  const [acquire, release] = [store.acquire.bind(store), store.release.bind(store)];
  store.acquire = async (request) => {
    const result = await acquire(request);
    return (asks += 1) === 1 ? new Promise(() => undefined) : result;
  };
  store.release = async (lease, options) => {
    const result = await release(lease, options);
    const next = { ...b.call(name), job: 'Jobs.other' };
    const grant = await b.store.acquire(next);
    if (grant.acquired) await b.store.release({ ...next, fencingToken: grant.fencingToken });
    return result;
  };
  const runner = new LockRunner(store, 'here', systemClock, () => undefined, 1_000);
  const settings = {
    ttl: 60_000,
    heartbeat: false,
    timeout: undefined,
    atLeast: 0,
    storeTimeout: 1_000,
  } as const;
  const call: LockCall = {
    kind: 'fired',
    name,
    job: 'Jobs.sync',
    start: { interval: 600_000 },
    settings: { ...settings, wait: 30_000, enabled: true, onStoreError: 'skip' },
  };
  expect(await runner.run(call, () => 'ran')).toEqual({ ran: true, value: 'ran' });
  await runner.shutdown(0);
  const again = await b.store.acquire({ ...b.call(name), job: 'Jobs.sync', interval: 600_000 });
  expect(again).toMatchObject({ acquired: false, reason: 'already-ran' });
});
