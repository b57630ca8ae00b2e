import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  currentLock,
  type LockStore,
  MemoryLockStore,
  SchedulerLock,
  SchedulerLockEvents,
  SchedulerLockService,
  StoreUnavailableError,
} from '../../lib/index.js';
import type { AcquireResult, ExtendResult, ReleaseResult } from '../../lib/contract/lock-store.js';
import { until } from '../support/until.js';
import { closeApps, gate, startApp } from './app.js';

/** What an application keeps for each request: an id for its logs and traces. */
const requests = new AsyncLocalStorage<string>();
const REQUESTS = ['first', 'second', 'third'];
const broken = () =>
  Promise.reject<never>(new StoreUnavailableError('connection lost', { outcome: 'unknown' }));

afterEach(closeApps);

/** Leases in memory, with a note of the request that each call was made in. */
class ContextStore extends MemoryLockStore implements LockStore {
  readonly seen: string[] = [];
  /** The kinds of calls that fail; `lease`: leases are taken away. */
  failing = '';
  available: () => void = () => undefined;

  override acquire(...args: Parameters<MemoryLockStore['acquire']>): Promise<AcquireResult> {
    return this.#note('acquire') ? broken() : super.acquire(...args);
  }

  override extend(...args: Parameters<MemoryLockStore['extend']>): Promise<ExtendResult[]> {
    if (this.failing === 'lease')
      return Promise.resolve(args[0].map(() => ({ held: false, reason: 'taken' })));
    return this.#note('extend') ? broken() : super.extend(...args);
  }

  override release(...args: Parameters<MemoryLockStore['release']>): Promise<ReleaseResult> {
    return this.#note('release') ? broken() : super.release(...args);
  }

  onAvailable(listener: () => void): () => void {
    this.available = listener;
    return () => undefined;
  }

  /** The requests that calls of this kind were made in. */
  of(call: string): (string | undefined)[] {
    return this.seen.filter((line) => line.startsWith(call)).map((line) => line.split(' ')[1]);
  }

  #note(call: string): boolean {
    this.seen.push(`${call} ${requests.getStore() ?? 'none'}`);
    return this.failing.includes(call);
  }
}

describe('the async context of a request', () => {
  it('is that of its own calls and of its job, and not that of heartbeats, which are for all', async () => {
    const store = new ContextStore();
    const app = await startApp([], { store, heartbeat: 20 });
    const locks = app.get(SchedulerLockService);
    const ended = gate();
    const jobs: unknown[] = [];
    const runs = REQUESTS.map((id) =>
      requests.run(id, () =>
        locks.run(`lock-${id}`, async () => {
          jobs.push(requests.getStore());
          await ended.opened;
          jobs.push(requests.getStore());
        }),
      ),
    );
    await until(() => store.of('extend').length >= 5);
    ended.open();
    await Promise.all(runs);
    expect(jobs).toEqual([...REQUESTS, ...REQUESTS]);
    expect(store.of('acquire')).toEqual(REQUESTS);
    expect(store.of('release')).toEqual(REQUESTS);
    expect(new Set(store.of('extend'))).toEqual(new Set(['none']));
  });

  it('is not that of a release that is tried again', async () => {
    const store = new ContextStore();
    const app = await startApp([], { store, ttl: 1_000 });
    store.failing = 'release';
    await requests.run('first', () => app.get(SchedulerLockService).run('report', () => 'done'));
    await until(() => store.of('release').length >= 2);
    const [own, ...again] = store.of('release');
    expect(own).toBe('first');
    expect(new Set(again)).toEqual(new Set(['none']));
    store.failing = '';
  });

  it('is not that of renewals that a connection brings up when it is back', async () => {
    const store = new ContextStore();
    const app = await startApp([], { store, heartbeat: 20 });
    const ended = gate();
    store.failing = 'extend';
    const run = app.get(SchedulerLockService).run('report', () => ended.opened);
    await until(() => app.events.some(({ type }) => type === 'renewal-failed'));
    store.failing = '';
    requests.run('first', () => store.available());
    await until(() => app.events.some(({ type }) => type === 'renewed'));
    expect(new Set(store.of('extend'))).toEqual(new Set(['none']));
    ended.open();
    await run;
  });

  it('is not that of listeners, whatever has happened, nor is the lock of the job', async () => {
    const store = new ContextStore();
    const app = await startApp([], { store, heartbeat: 20 });
    const locks = app.get(SchedulerLockService);
    const seen = new Map<string, unknown>();
    app.get(SchedulerLockEvents).on(({ type }) => {
      let lock: unknown;
      try {
        lock = currentLock();
      } catch {
        lock = undefined;
      }
      seen.set(type, [requests.getStore(), lock]);
    });
    await requests.run('first', () =>
      locks.run('report', { timeout: 20 }, async () => {
        await locks.run('inner', () => undefined);
        expect(await locks.run('report', { tick: 1 }, () => undefined)).toMatchObject({ reason: 'held' });
        await until(() => seen.has('renewed') && seen.has('timeout'));
        store.failing = 'acquire extend';
        await locks.run('other', () => undefined);
        await until(() => seen.has('renewal-failed'));
        store.failing = 'lease';
        await until(() => seen.has('lost'));
        store.failing = '';
        await locks.run('other', () => undefined);
      }),
    );
    const types = ['acquired', 'lost', 'outage', 'released', 'renewal-failed'];
    expect([...seen.keys()].sort()).toEqual([...types, 'renewed', 'skipped', 'timeout']);
    for (const contexts of seen.values()) expect(contexts).toStrictEqual([undefined, undefined]);
  });
});

describe('the async context of a job', () => {
  it('is not that of the heartbeat, also if a lease taken inside of it has armed that', async () => {
    const store = new ContextStore();
    const ended = gate();
    const inside: unknown[] = [];
    store.extend = (leases) => {
      try {
        inside.push(currentLock().name);
      } catch {
        inside.push(undefined);
      }
      return MemoryLockStore.prototype.extend.call(store, leases);
    };
    @Injectable()
    class Jobs {
      constructor(private readonly locks: SchedulerLockService) {}
      @SchedulerLock('first')
      async first() {
        // Its lease is due before that of the job: it arms the heartbeat anew.
        await this.locks.run('second', { heartbeat: 20 }, () => ended.opened);
      }
    }
    const app = await startApp([Jobs], { store });
    const run = app.get(Jobs).first();
    await until(() => inside.length >= 2);
    ended.open();
    await run;
    expect(new Set(inside)).toEqual(new Set([undefined]));
  });
});
