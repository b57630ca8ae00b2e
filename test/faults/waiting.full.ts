import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { randomUUID as uuid } from 'node:crypto';
import { until } from '../support/until.js';
import { hold, type TestApp } from './support/app.js';
import { onEachStore } from './support/app-stores.js';
import { faultSuite } from './support/suite.js';
import { inOrder, Runs, standing } from './support/turns.js';

faultSuite();

onEachStore((store) => {
  let runs: Runs;
  beforeEach(() => void (runs = new Runs()));
  afterEach(() => expect(runs.overlaps).toEqual([]));

  const start = (): Promise<TestApp> => store.start({ ttl: '3s' });
  const three = (): Promise<[TestApp, TestApp, TestApp]> => Promise.all([start(), start(), start()]);

  test('calls of three instances run one after another in the order in which they came, and leave nothing behind', async () => {
    const apps = await three();
    const holder = await hold(apps[0], 'lock');
    const calls = await standing(runs, apps, 30);
    await holder.end();
    for (const result of await Promise.all(calls)) expect(result).toMatchObject({ ran: true });
    expect(runs.order).toEqual(inOrder(30));
    expect(runs.tokens).toEqual([...runs.tokens].sort((a, b) => a - b));
    // What stood in line is deleted behind the answer to its call.
    await until(async () => !(await store.keepsLine('lock')), { message: 'the line to be empty' });
  });

  test('greater priority goes first, and nobody who does not wait goes before the line', async () => {
    const [one, two, other] = await three();
    const holder = await hold(one, 'lock');
    const low = runs.call(one, 'low');
    await one.event('waiting', 'lock');
    const high = runs.call(two, 'high', { priority: 5 });
    await two.event('waiting', 'lock');
    let isOver = false;
    const barging = (async () => {
      const reasons = new Set<string>();
      while (!isOver) {
        const result = await other.locks.run('lock', () => runs.order.push('barged'));
        if (!result.ran) reasons.add(result.reason);
      }
      return [...reasons];
    })();
    await holder.end();
    await Promise.all([low, high]);
    isOver = true;
    expect(await barging).toEqual(['held']);
    expect(runs.order.slice(0, 2)).toEqual(['high', 'low']);
  });

  test('a process that dies with a hundred calls in line, which is full then, costs the others one turn', async () => {
    const app = await start();
    const dead = store.open();
    await dead.init?.();
    const holder = await hold(app, 'lock');
    const wait = { limit: 60_000, priority: 0, process: uuid() };
    const request = () => ({ name: 'lock', token: uuid(), ttl: 3_000, holder: 'dead', wait });
    await Promise.all(Array.from({ length: 100 }, () => dead.acquire(request())));
    await dead.close?.();
    const call = runs.call(app, 'living');
    await app.event('waiting', 'lock');
    await holder.end();
    expect(await call).toMatchObject({ ran: true });
    // Nobody is left in line.
    expect(await app.locks.run('lock', () => 'free')).toEqual({ ran: true, value: 'free' });
  });

  test('a store that was away ends no wait, and keeps the order', async () => {
    const startProxied = (): Promise<TestApp> => store.start({ ttl: '30s' }, 'proxied');
    const [one, two] = [await startProxied(), await startProxied()];
    const holder = await hold(one, 'lock');
    const calls = await standing(runs, [one, two], 4);
    await store.proxy.refuse();
    await two.event('outage-started');
    await store.proxy.refuse(false);
    await two.event('outage-ended');
    await holder.end();
    await Promise.all(calls);
    expect(runs.order).toEqual(inOrder(4));
  });

  test('a call that gives up leaves the line, and an application that closes hands its turn on, and leaves nothing behind', async () => {
    const [one, two, other] = await three();
    const holder = await hold(one, 'lock');
    const giveUp = new AbortController();
    const given = runs.call(one, 'given up', { signal: giveUp.signal });
    await one.event('waiting', 'lock');
    const closing = runs.call(two, 'closing');
    await two.event('waiting', 'lock');
    const last = runs.call(other, 'last');
    await other.event('waiting', 'lock');
    giveUp.abort(new Error('enough'));
    await expect(given).rejects.toThrow('enough');
    await Promise.all([two.close(), holder.end()]);
    expect(await closing).toMatchObject({ ran: false, reason: 'shutting-down' });
    expect(await last).toMatchObject({ ran: true });
    expect(runs.order).toEqual(['last']);
    // What stood in line is deleted behind the answer to its call.
    await until(async () => !(await store.keepsLine('lock')), { message: 'the line to be empty' });
  });
});
