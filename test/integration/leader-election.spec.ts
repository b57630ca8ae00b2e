import 'reflect-metadata';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable, Scope } from '@nestjs/common';
import {
  currentLock,
  LeaderElection,
  type LeaderHooks,
  type Lock,
  MemoryLockStore,
  type RevokedReason,
  SchedulerLeader,
  SchedulerLock,
  SchedulerLockConfigError,
} from '../../lib/index.js';
import { until } from '../support/until.js';
import { closeApps, NotedStore, startApp, startFailure, type TestApp } from './app.js';
import { kindOf } from '../support/events.js';

afterEach(closeApps);

/** A provider that notes what it is told. */
function feedOf(ttl = 600) {
  @Injectable()
  @LeaderElection('feed', { ttl })
  class Feed implements LeaderHooks {
    readonly story: string[] = [];
    lease: Lock | undefined;
    onElected(lease: Lock): void {
      this.lease = lease;
      this.story.push(`elected under ${currentLock().name}`);
      lease.signal.addEventListener('abort', () => this.story.push('aborted'));
    }
    async onRevoked(reason: RevokedReason): Promise<void> {
      this.story.push(`revoked ${reason}`);
    }
  }
  return Feed;
}

const leads = (app: TestApp): boolean => app.get(SchedulerLeader).isLeader('feed');
const types = (app: TestApp, lock = 'feed'): string[] =>
  app.events.flatMap((event) => (event.lock === lock ? [kindOf(event)] : []));

describe('@LeaderElection()', () => {
  test('calls the hooks of one instance, and of the next one when that resigns', async () => {
    const Feed = feedOf();
    const store = new MemoryLockStore();
    const apps = await Promise.all([startApp([Feed], { store }), startApp([Feed], { store })]);
    const first = await until(() => apps.find(leads));
    const [second] = apps.filter((app) => app !== first) as [TestApp];
    expect(first.get(Feed).story).toEqual(['elected under feed']);
    expect(first.get(Feed).lease).toMatchObject({ name: 'feed', fencingToken: expect.any(Number) });
    expect(second.get(Feed).story).toEqual([]);
    expect(await first.get(SchedulerLeader).resign('feed')).toBe(true);
    expect(await second.get(SchedulerLeader).resign('feed')).toBe(false);
    expect(first.get(Feed).story).toEqual(['elected under feed', 'aborted', 'revoked resigned']);
    await until(() => leads(second));
    expect(types(first)).toEqual(['acquired', 'leader-elected', 'leader-revoked', 'released']);
    expect(second.get(Feed).lease?.fencingToken).toBeGreaterThan(first.get(Feed).lease?.fencingToken ?? 0);
    // Nest's logger is one for the whole process.
    const lines = apps.flatMap(({ logs }) => logs.own).filter((line) => !line.startsWith('debug'));
    expect(lines.slice(0, 2)).toEqual([
      expect.stringMatching(/^log: feed: this instance leads, fencing token \d+$/),
      expect.stringMatching(/^log: feed: this instance leads no longer \(resigned\) after .+$/),
    ]);
  });

  test('follows one that resigns or shuts down at once, however long the ttl is', async () => {
    const Feed = feedOf(3_600_000);
    const store = new MemoryLockStore();
    const apps = await Promise.all([1, 2, 3].map(() => startApp([Feed], { store })));
    const first = await until(() => apps.find(leads));
    await first.get(SchedulerLeader).resign('feed');
    const next = await until(() => apps.find(leads));
    expect(next).not.toBe(first);
    await next.close();
    const last = await until(() => apps.find((app) => app !== next && leads(app)));
    expect([first, next]).not.toContain(last);
    expect(last.events.filter(({ type }) => type === 'waiting' || type === 'skipped')).toEqual([]);
  });

  test('revokes on shutdown, and gives the lease back before the store is closed', async () => {
    const Feed = feedOf();
    const store = new NotedStore();
    const app = await startApp([Feed], { store });
    await until(() => leads(app));
    const feed = app.get(Feed);
    await app.close();
    expect(feed.story).toEqual(['elected under feed', 'aborted', 'revoked shutdown']);
    expect(store.calls.filter((call) => !call.startsWith('extend'))).toEqual([
      'init',
      'acquire feed',
      'release feed completed',
      'close',
    ]);
  });

  test('leaves jobs alone: those run on every instance, under their own locks', async () => {
    const store = new MemoryLockStore();
    const apps = await Promise.all([startApp([feedOf()], { store }), startApp([feedOf()], { store })]);
    for (const app of apps)
      expect(() => app.get(SchedulerLeader).isLeader()).toThrow(SchedulerLockConfigError);
  });

  test('is inherited, found behind aliases and with useValue, and stands by on an instance that is switched off', async () => {
    const Feed = feedOf();
    @Injectable()
    class Special extends Feed {}
    const special = await startApp([Special, { provide: 'alias', useExisting: Special }]);
    await until(() => leads(special));
    expect(special.get(Special).story).toEqual(['elected under feed']);
    const given = await startApp([{ provide: 'feed', useValue: new Feed() }]);
    await until(() => leads(given));
    const store = new NotedStore();
    const off = await startApp([Feed], { store, enabled: false });
    expect(leads(off)).toBe(false);
    expect(store.calls).toEqual(['init']);
  });

  test('a hook that fails is logged as an error, with its stack', async () => {
    @LeaderElection('feed', { ttl: 60_000 })
    class Feed implements LeaderHooks {
      onElected(): void {
        throw new Error('no feed');
      }
      onRevoked(): Promise<void> {
        return Promise.reject(new Error('cannot stop'));
      }
    }
    const app = await startApp([Feed]);
    await until(() => types(app).includes('released'));
    expect(types(app)).toEqual([
      'acquired',
      'leader-elected',
      'leader-hook-failed',
      'leader-revoked',
      'leader-hook-failed',
      'released',
    ]);
    const lines = app.logs.own.filter((line) => /^(error|warn)/.test(line));
    expect(lines).toEqual([
      expect.stringMatching(/^error: feed: onElected\(\) failed; it resigns: Error: no feed\n\s+at /),
      expect.stringMatching(/^warn: feed: this instance leads no longer \(failed\)/),
      expect.stringMatching(/^error: feed: onRevoked\(\) failed: Error: cannot stop\n\s+at /),
    ]);
  });

  test('SchedulerLeader says which elections there are when it is asked for another one', async () => {
    const app = await startApp([feedOf()]);
    expect(() => app.get(SchedulerLeader).isLeader('fed')).toThrow(
      'there is no election "fed". This application takes part in "feed".',
    );
    await closeApps();
    const bare = await startApp([]);
    await expect(bare.get(SchedulerLeader).resign()).rejects.toThrow('forRoot() was given no `leader`');
  });
});

describe('the start is refused, in one message, for', () => {
  const hooks = { onElected: () => undefined, onRevoked: () => undefined };

  test('wrong names and ttls, missing hooks, and elections of one name', async () => {
    @LeaderElection('')
    class NoName implements LeaderHooks {
      onElected = hooks.onElected;
      onRevoked = hooks.onRevoked;
    }
    @LeaderElection('short', { ttl: 50 })
    class Short implements LeaderHooks {
      onElected = hooks.onElected;
      onRevoked = hooks.onRevoked;
    }
    class NoHooks {
      onElected = hooks.onElected;
    }
    (LeaderElection('half') as (target: unknown) => void)(NoHooks);
    @LeaderElection('twice')
    class One implements LeaderHooks {
      onElected = hooks.onElected;
      onRevoked = hooks.onRevoked;
    }
    @LeaderElection('twice')
    class Two extends One {}
    @LeaderElection('locked')
    class Locked extends One {
      @SchedulerLock({ name: 'locked' })
      async job(): Promise<void> {}
    }
    const message = await startFailure(startApp([NoName, Short, NoHooks, One, Two, Locked]));
    expect(message.split('\n')).toEqual([
      'nestjs-scheduler-lock is misconfigured, 5 problems:',
      '  - NoName: @LeaderElection(): name: "" is not valid: it is empty.',
      '  - Short: @LeaderElection(): ttl: 50 is out of range. Give 100 ms to 30 days.',
      '  - NoHooks: @LeaderElection(): it has no method onRevoked().',
      '  - Two: @LeaderElection(): name: "twice" is the election of One already. Give one of them another name.',
      '  - Locked.job: name: "locked" is the lock of an election. Give the job another name.',
    ]);
  });

  test.each([
    [{ name: 'a{b}' }, 'leader: name: "a{b}" is not valid: it holds "{", "}" or a control character.'],
    [{ name: 'main', ttl: '1 ns' }, "leader: ttl: '1 ns' is no duration."],
    [{}, "leader: it has no name. Give one, such as name: 'scheduler'."],
    [{ ttl: 1 }, 'leader: ttl: 1 is out of range.'],
    [true, 'leader: true is no object. Give { name, ttl }.'],
    ['jobs', "leader: 'jobs' is no object. Give { name, ttl }."],
    [null, 'leader: null is no object. Give { name, ttl }.'],
  ])('leader: %j', async (leader, problem) => {
    const failure = await startFailure(startApp([], { store: 'memory', leader: leader as never }));
    expect(failure).toContain(`SchedulerLockModule: ${problem}`);
  });

  test('a provider with the name of the leader of all jobs', async () => {
    const failure = startFailure(startApp([feedOf()], { store: 'memory', leader: { name: 'feed' } }));
    expect(await failure).toContain('name: "feed" is the election of forRoot() already');
  });

  test('a request-scoped provider', async () => {
    @Injectable({ scope: Scope.REQUEST })
    @LeaderElection('feed')
    class Feed implements LeaderHooks {
      onElected = hooks.onElected;
      onRevoked = hooks.onRevoked;
    }
    expect(await startFailure(startApp([Feed]))).toContain(
      'Feed: @LeaderElection() on a request-scoped or transient provider',
    );
  });
});
