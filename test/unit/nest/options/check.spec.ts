import { describe, expect, it } from '@jest/globals';
import type { LockOptions, SchedulerLockModuleOptions } from '../../../../lib/index.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock.store.js';
import { OPTIONS } from '../../../../lib/nest/options/table.js';
import { checkLockOptions, checkModuleOptions } from '../../../../lib/nest/options/check.js';

/** What a lock with these options is given, with these options of the module. */
function resolve(lock: LockOptions, module: SchedulerLockModuleOptions = {}) {
  const { settings, problems } = checkModuleOptions({ store: 'memory', ...module }, 'test');
  expect(problems).toEqual([]);
  const checked = checkLockOptions(lock, settings);
  expect(checked.problems).toEqual([]);
  return checked.settings;
}

const ALL_DEFAULTS = {
  ttl: 60_000,
  heartbeat: 18_000,
  timeout: undefined,
  atLeast: 0,
  storeTimeout: 2_000,
  enabled: true,
  onStoreError: 'skip',
  onSkip: 'ignore',
  onHeld: 'skip',
  overdue: 60_000,
  oncePerTick: true,
  wait: 0,
  priority: 0,
  rerun: 0,
  catchUp: false,
};

describe('the options of a lock', () => {
  it('have these defaults', () => {
    expect(resolve({})).toEqual(ALL_DEFAULTS);
  });

  it('are those of the module, unless the lock has its own', () => {
    const module: SchedulerLockModuleOptions = {
      ttl: '10m',
      heartbeat: '3m',
      timeout: '5m',
      atLeast: '1m',
      onStoreError: 'run',
      onSkip: 'throw',
      storeTimeout: '1s',
      oncePerTick: false,
      rerun: 2,
      catchUp: '1h',
      overdue: '2m',
    };
    expect(resolve({}, module)).toEqual({
      ttl: 600_000,
      heartbeat: 180_000,
      timeout: 300_000,
      atLeast: 60_000,
      storeTimeout: 1_000,
      enabled: true,
      onStoreError: 'run',
      onSkip: 'throw',
      onHeld: 'skip',
      overdue: 120_000,
      oncePerTick: false,
      wait: 0,
      priority: 0,
      rerun: 2,
      catchUp: 3_600_000,
    });
    const own: LockOptions = {
      ttl: 30_000,
      heartbeat: false,
      timeout: '20s',
      atLeast: 1,
      onStoreError: 'run',
      onSkip: 'ignore',
      oncePerTick: true,
      rerun: 0,
      catchUp: false,
      overdue: false,
    };
    expect(resolve(own, module)).toMatchObject({ ...own, timeout: 20_000 });
  });

  it('that are undefined explicitly are the defaults', () => {
    const nothing = {
      ttl: undefined,
      heartbeat: undefined,
      timeout: undefined,
      atLeast: undefined,
      enabled: undefined,
      onStoreError: undefined,
      onSkip: undefined,
      oncePerTick: undefined,
      rerun: undefined,
      catchUp: undefined,
    };
    expect(resolve(nothing, { ...nothing, storeTimeout: undefined, shutdownTimeout: undefined })).toEqual(
      ALL_DEFAULTS,
    );
    expect(resolve(nothing, { ttl: '2m' }).ttl).toBe(120_000);
  });

  it('make a heartbeat of 0.3 ttl, so that 10 min beat every 3 min', () => {
    expect(resolve({ ttl: '10m' }).heartbeat).toBe(180_000);
    expect(resolve({ ttl: 100 }).heartbeat).toBe(30);
    // The ttl of the lock, also where the module has another.
    expect(resolve({ ttl: '1m' }, { ttl: '10m' }).heartbeat).toBe(18_000);
  });

  it('allow exactly a third of the ttl for the heartbeat, the whole ttl for atLeast, and the range of ttls', () => {
    expect(resolve({ ttl: 300, heartbeat: 100 }).heartbeat).toBe(100);
    expect(resolve({ ttl: 300, atLeast: 300 }).atLeast).toBe(300);
    expect(resolve({ ttl: 100 }).ttl).toBe(100);
    expect(resolve({ ttl: '30d' }).ttl).toBe(2_592_000_000);
    expect(resolve({ ttl: 300, heartbeat: false, timeout: 299 }).timeout).toBe(299);
    expect(resolve({ ttl: 300, timeout: 3_000 }).timeout).toBe(3_000);
  });

  it('adapt the default storeTimeout to a short ttl, and not one that was set', () => {
    expect(resolve({ ttl: '3s' }).storeTimeout).toBe(1_000);
    expect(resolve({ ttl: '6s' }).storeTimeout).toBe(2_000);
    const { settings } = checkModuleOptions({ store: 'memory', storeTimeout: '2s' }, 'test');
    expect(checkLockOptions({ ttl: '3s' }, settings).problems).toHaveLength(1);
  });

  it('switch off what either of module and lock switches off', () => {
    const enabled = (lock?: boolean, module?: boolean): boolean =>
      resolve({ enabled: lock }, { enabled: module }).enabled;
    expect([enabled(), enabled(true), enabled(undefined, true), enabled(true, true)]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([enabled(false), enabled(undefined, false), enabled(true, false), enabled(false, true)]).toEqual([
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('the options of the module', () => {
  const check = (options: unknown, environment = 'test') => checkModuleOptions(options, environment);

  it('have these defaults', () => {
    const { settings } = check({});
    expect(settings).toMatchObject({
      storeTimeout: 2_000,
      shutdownTimeout: 25_000,
    });
    expect(OPTIONS.keyPrefix.default).toBe('scheduler');
  });

  it('may have a shutdown that does not wait', () => {
    expect(check({ shutdownTimeout: 0 })).toMatchObject({ settings: { shutdownTimeout: 0 }, problems: [] });
  });

  it('name another instance with every start, of 200 characters at most', () => {
    const ids = [check({}), check({})].map(({ settings }) => settings.instanceId);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id.length).toBeLessThanOrEqual(200);
  });

  it('need a connection or a store in production, and nowhere else', () => {
    expect(check({}, 'production').problems).toHaveLength(1);
    expect(check({ store: 'memory' }, 'production').problems).toEqual([]);
    expect(check({ store: new MemoryLockStore() }, 'production').problems).toEqual([]);
    expect(check({ connection: 'redis://localhost' }, 'production').problems).toEqual([]);
    for (const environment of ['test', 'development', ''])
      expect(check({}, environment).problems).toEqual([]);
  });

  it.each([
    'redis://localhost',
    'rediss://user:pass%40word@redis.example:6380/2',
    'redis://:password@[::1]:6379',
    '/var/run/redis.sock',
    {},
    { host: 'localhost', port: 6379 },
    { sentinels: [{ host: 'a', port: 26_379 }], name: 'mymaster' },
  ])('take the connection %p', (connection) => {
    expect(check({ connection }).problems).toEqual([]);
  });

  it.each([
    'redis://:hunter2@',
    'redis://:hunt#er2@host',
    'http://:hunter2@host',
    'redis://user:hunter2@host/database',
    '//user:hunter2@host:6379',
    'hunter2@host',
  ])('never quote a connection that they refuse', (connection) => {
    const { problems } = check({ connection });
    expect(problems).toHaveLength(1);
    expect(problems[0]).not.toMatch(/hunt|er2/);
  });
});
