import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ConsoleLogger, Logger } from '@nestjs/common';
import type { SchedulerLockEvent } from '../../../../lib/index.js';
import { SchedulerLockEvents } from '../../../../lib/nest/log/scheduler-lock.events.js';
import { LockStateError, StoreUnavailableError } from '../../../../lib/base/errors.js';
import { LogListener } from '../../../../lib/nest/log/log.listener.js';
import { checkModuleOptions } from '../../../../lib/nest/options/check.js';
import type { SchedulerLockModuleOptions } from '../../../../lib/nest/options/module-options.js';
import { collectUnhandledRejections } from '../../../support/until.js';

const FACTS = { lock: 'auto-refresh', job: 'Jobs.refresh', instance: 'here', at: 0, fencingToken: 42 };
const ACQUIRED: SchedulerLockEvent = { type: 'acquired', ...FACTS, expiresIn: 9_898 };
const lines: string[] = [];

beforeEach(() => {
  lines.length = 0;
  for (const level of ['log', 'error', 'warn', 'debug'] as const) {
    jest.spyOn(Logger.prototype, level).mockImplementation((message: unknown) => {
      lines.push(`${level}: ${String(message)}`);
    });
  }
});
afterEach(() => {
  jest.restoreAllMocks();
  Logger.overrideLogger(new ConsoleLogger());
});

/** What the logger is told of the module's options. */
const logging = (log?: SchedulerLockModuleOptions['log']) =>
  checkModuleOptions({ store: 'memory', log }, 'test').settings.log;

describe('SchedulerLockEvents', () => {
  it('calls listeners in the order in which they were added, with the event itself', () => {
    const events = new SchedulerLockEvents();
    const seen: unknown[] = [];
    events.on((event) => void seen.push(['first', event]));
    events.on((event) => void seen.push(['second', event]));
    events.emit(ACQUIRED);
    expect(seen).toEqual([
      ['first', ACQUIRED],
      ['second', ACQUIRED],
    ]);
  });

  it('listens to one type, typed as such', () => {
    const events = new SchedulerLockEvents();
    const reasons: string[] = [];
    events.on('lost', ({ reason }) => void reasons.push(reason));
    events.emit(ACQUIRED);
    events.emit({ type: 'lost', ...FACTS, reason: 'deadline' });
    expect(reasons).toEqual(['deadline']);
  });

  it('stops listening', () => {
    const events = new SchedulerLockEvents();
    const listener = jest.fn(() => undefined);
    const [stop, stopOne] = [events.on(listener), events.on('acquired', listener)];
    stop();
    stopOne();
    stop();
    events.emit(ACQUIRED);
    expect(listener).not.toHaveBeenCalled();
  });

  it('calls a listener that was added twice twice', () => {
    const events = new SchedulerLockEvents();
    const listener = jest.fn(() => undefined);
    const stop = events.on(listener);
    events.on(listener);
    events.emit(ACQUIRED);
    expect(listener).toHaveBeenCalledTimes(2);
    stop();
    events.emit(ACQUIRED);
    expect(listener).toHaveBeenCalledTimes(3);
  });

  it('knows which events nobody would hear', () => {
    const events = new SchedulerLockEvents();
    expect(events.hears('acquired')).toBe(false);
    const stop = events.on('released', () => undefined);
    expect([events.hears('acquired'), events.hears('released')]).toEqual([false, true]);
    stop();
    expect(events.hears('released')).toBe(false);
    events.on(() => undefined);
    expect(events.hears('acquired')).toBe(true);
  });

  it('takes a logger that cannot tell its level for one that hears everything', () => {
    const events = new SchedulerLockEvents();
    new LogListener(events, logging());
    const heard = jest.fn(() => undefined);
    events.on(heard);
    const logger = new ConsoleLogger();
    jest.spyOn(logger, 'isLevelEnabled').mockImplementation(() => {
      throw new Error('no level');
    });
    Logger.overrideLogger(logger);
    expect(events.hears('acquired')).toBe(true);
    events.emit(ACQUIRED);
    expect(heard).toHaveBeenCalledTimes(1);
    expect(lines.join()).toMatch(/A listener of the event "acquired" failed: Error: no level/);
  });

  it('goes on after a listener that throws, and logs it with its stack', () => {
    const events = new SchedulerLockEvents();
    const listener = jest.fn(() => undefined);
    events.on(() => {
      throw new Error('metrics are down');
    });
    events.on('acquired', () => {
      // oxlint-disable-next-line typescript/only-throw-error -- listeners may
      throw 'a string';
    });
    events.on(listener);
    expect(() => events.emit(ACQUIRED)).not.toThrow();
    expect(listener).toHaveBeenCalledTimes(1);
    expect(lines).toEqual([
      expect.stringMatching(
        /^error: A listener of the event "acquired" failed: Error: metrics are down\n\s+at /,
      ),
      'error: A listener of the event "acquired" failed: a string',
    ]);
  });

  it('names ten instances at most in the line of a job that is overdue', () => {
    const events = new SchedulerLockEvents();
    new LogListener(events, logging());
    const reasons = Array.from({ length: 12 }, (_, n) => ({
      missedBy: `api-${n}`,
      reason: 'not-fired',
      count: 1,
    }));
    const facts = { lock: 'report', job: 'report', instance: 'api-0', at: 0, tick: 0 };
    events.emit({ type: 'overdue', ...facts, reasons });
    expect(lines.join()).toMatch(/api-9: not-fired; and 2 more$/);
  });

  it('goes on after a listener that rejects, and leaves no unhandled rejection', async () => {
    const rejections = collectUnhandledRejections();
    try {
      const events = new SchedulerLockEvents();
      events.on(async () => Promise.reject(new Error('too late')));
      events.emit(ACQUIRED);
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      expect(lines).toEqual([
        expect.stringMatching(/^error: A listener of the event "acquired" failed: Error: too late/),
      ]);
      expect(rejections.list).toEqual([]);
    } finally {
      rejections.stop();
    }
  });

  it('goes on if even the logger fails, at once and later, and leaves no unhandled rejection', async () => {
    const rejections = collectUnhandledRejections();
    try {
      const events = new SchedulerLockEvents();
      const listener = jest.fn(() => undefined);
      new LogListener(events, logging());
      events.on(async () => Promise.reject(new Error('too late')));
      events.on(() => {
        // Not even to be put into words.
        throw Object.create(null);
      });
      events.on(listener);
      for (const level of ['log', 'error', 'warn', 'debug'] as const) {
        jest.spyOn(Logger.prototype, level).mockImplementation(() => {
          throw new Error('the worker has exited');
        });
      }
      expect(() => events.emit(ACQUIRED)).not.toThrow();
      expect(listener).toHaveBeenCalledTimes(1);
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      expect(rejections.list).toEqual([]);
    } finally {
      rejections.stop();
    }
  });

  it('survives a listener that stops itself or adds another one while it is called', () => {
    const events = new SchedulerLockEvents();
    const seen: string[] = [];
    const stop = events.on(() => {
      seen.push('once');
      stop();
    });
    events.on(() => void seen.push('always'));
    events.emit(ACQUIRED);
    events.emit(ACQUIRED);
    expect(seen).toEqual(['once', 'always', 'always']);
  });
});

describe('the log', () => {
  const error = new StoreUnavailableError('Redis is not connected.', { outcome: 'not-applied' });
  const outage = { instance: 'here', at: 0 };

  it.each<[SchedulerLockEvent, string]>([
    [ACQUIRED, 'debug: Jobs.refresh [auto-refresh]: acquired, fencing token 42'],
    [
      { type: 'renewed', ...FACTS, restored: true, expiresIn: 9_898 },
      'warn: Jobs.refresh [auto-refresh]: the store had forgotten the lease; it was written back',
    ],
    [
      { ...ACQUIRED, mismatch: { schedule: 'new', previousSchedule: 'old', meant: true as const } },
      'log: Jobs.refresh [auto-refresh]: scheduled as "new" now; its last start came from "old".',
    ],
    [
      { ...ACQUIRED, mismatch: { schedule: 'new', previousSchedule: 'old' } },
      'warn: Jobs.refresh [auto-refresh]: scheduled as "new" here, but its last start came from "old". If this is no deploy of a new schedule, ' +
        'give the job one expression and one timeZone on all instances: they have to agree on its ticks.',
    ],
    [
      { type: 'renewed', ...FACTS, restored: true, deleted: true, expiresIn: 9_898 },
      'warn: Jobs.refresh [auto-refresh]: its lock was gone before its time: somebody has deleted it, and another holder may have run ' +
        "meanwhile. It was written back. A client that unlocks by a plain DEL does that, such as ShedLock's RedisLockProvider: give it " +
        'safeUpdate(true); others have to compare the value before they delete.',
    ],
    [
      { type: 'released', ...FACTS, outcome: 'completed', duration: 1_500, confirmed: false, deleted: true },
      'warn: Jobs.refresh [auto-refresh]: its lock was gone before its time: somebody has deleted it, or the store has lost data, and ' +
        "another holder may have run meanwhile. A client that unlocks by a plain DEL does that, such as ShedLock's RedisLockProvider: give " +
        'it safeUpdate(true); others have to compare the value before they delete.',
    ],
    [
      { type: 'skipped', ...FACTS, reason: 'queued', key: 'c', merged: 2 },
      'debug: Jobs.refresh [auto-refresh]: queued "c", as one with 2 before it',
    ],
    [
      { type: 'leader', phase: 'elected', ...FACTS },
      'log: Jobs.refresh [auto-refresh]: this instance leads, fencing token 42',
    ],
    [
      { type: 'leader', phase: 'revoked', ...FACTS, reason: 'resigned', duration: 9_000 },
      'log: Jobs.refresh [auto-refresh]: this instance leads no longer (resigned) after 9 s',
    ],
    [
      { type: 'leader', phase: 'revoked', ...FACTS, reason: 'deadline', duration: 9_000 },
      'warn: Jobs.refresh [auto-refresh]: this instance leads no longer (deadline) after 9 s',
    ],
    [
      { type: 'leader', phase: 'hook-failed', ...FACTS, hook: 'onElected', error: 'no feed' },
      'error: Jobs.refresh [auto-refresh]: onElected() failed; it resigns: no feed',
    ],
    [
      { type: 'renewal-failed', ...FACTS, error, expiresIn: 6_898 },
      'debug: Jobs.refresh [auto-refresh]: renewal failed, lost in 6.9 s unless a renewal succeeds: Redis is not connected.',
    ],
    [
      { type: 'released', ...FACTS, outcome: 'completed', duration: 1_500, confirmed: true },
      'debug: Jobs.refresh [auto-refresh]: completed after 1.5 s, released',
    ],
    [
      { type: 'released', ...FACTS, outcome: 'timed-out', duration: 90_000, confirmed: false },
      'debug: Jobs.refresh [auto-refresh]: timed-out after 1.5 min, release not confirmed',
    ],
    [
      { type: 'skipped', ...FACTS, reason: 'held', holder: 'there', expiresIn: 5 },
      'debug: Jobs.refresh [auto-refresh]: skipped (held by there)',
    ],
    [
      { type: 'skipped', ...FACTS, reason: 'disabled' },
      'debug: Jobs.refresh [auto-refresh]: skipped (disabled)',
    ],
    [
      { type: 'skipped', ...FACTS, reason: 'store-unavailable', error },
      'debug: Jobs.refresh [auto-refresh]: skipped (store-unavailable)',
    ],
    [
      { type: 'skipped', ...FACTS, lock: '""', reason: 'invalid-name', error: new Error('it is empty') },
      'error: Jobs.refresh [""]: skipped (invalid-name): it is empty',
    ],
    [
      {
        type: 'dead-lettered',
        ...FACTS,
        key: 'c',
        reason: 'failed',
        deliveries: 1,
        error: Object.assign(new Error('no such calendar'), {
          stack: 'Error: no such calendar\n    at sync',
        }),
      },
      'error: Jobs.refresh [auto-refresh]: the queued call "c" will not be run any more (failed, 1 delivery). See inspect(); redeliver(\'auto-refresh\') puts it back. Error: no such calendar\n    at sync',
    ],
    [
      { type: 'controlled', ...FACTS, action: 'redeliver', actor: 'anna', reason: 'mended', count: 1 },
      'log: Jobs.refresh [auto-refresh]: 1 dead letter put back, by anna: mended',
    ],
    [
      { type: 'lost', ...FACTS, reason: 'deadline' },
      'warn: Jobs.refresh [auto-refresh]: lost (deadline) while its job was running',
    ],
    [
      { type: 'lost', ...FACTS, reason: 'taken', holder: 'there' },
      'warn: Jobs.refresh [auto-refresh]: lost (taken by there) while its job was running',
    ],
    [
      { type: 'overrun', ...FACTS, at: 90_000, since: 0, skippedTicks: 1 },
      'warn: Jobs.refresh [auto-refresh]: its next tick came, and it is still running since 1970-01-01T00:00:00.000Z (1.5 min) on here; it has cost 1 tick so far. If it can hang, give it a timeout.',
    ],
    [
      { type: 'timeout', ...FACTS, timeout: 300_000 },
      'warn: Jobs.refresh [auto-refresh]: still running after its timeout of 5 min; its signal was aborted',
    ],
    [
      { type: 'unlocked', ...FACTS, error },
      "warn: Jobs.refresh [auto-refresh]: runs WITHOUT its lock (onStoreError: 'run'): Redis is not connected.",
    ],
    [
      { type: 'outage', phase: 'started', ...outage, error, atStart: false },
      'error: The lock store is not available: no lock can be taken or renewed until it is. Redis is not connected.',
    ],
    [
      { type: 'outage', phase: 'started', ...outage, error, atStart: true },
      'error: The lock store is not available: no lock can be taken or renewed until it is. Redis is not connected.',
    ],
    [
      {
        type: 'outage',
        phase: 'started',
        ...outage,
        error: new StoreUnavailableError('It has no column a.', { outcome: 'not-applied', refused: true }),
        atStart: false,
      },
      'error: The lock store is not available: it refuses calls until somebody puts that right. It has no column a.',
    ],
    [
      { type: 'outage', phase: 'started', ...outage, lock: 'auto-refresh', error, atStart: false },
      'error: Lock "auto-refresh" cannot be taken or renewed: Redis is not connected.',
    ],
    [
      {
        type: 'outage',
        phase: 'started',
        ...outage,
        lock: 'auto-refresh',
        error: new LockStateError('auto-refresh', 'Redis refused the call: WRONGTYPE.'),
        atStart: false,
      },
      'error: Lock "auto-refresh" cannot be taken or renewed: Redis refused the call: WRONGTYPE.',
    ],
    [
      {
        type: 'shutdown',
        phase: 'waiting',
        ...outage,
        runs: [{ lock: 'auto-refresh', job: 'Jobs.refresh' }, { lock: 'import' }],
        timeout: 25_000,
      },
      'log: Shutdown: waits 25 s at most for Jobs.refresh [auto-refresh], import (shutdownTimeout). ' +
        'If this process is killed sooner, the signals never abort, and their leases stay until they expire',
    ],
    [
      { type: 'shutdown', phase: 'waiting', ...outage, runs: [{ lock: 'import' }], timeout: 0 },
      'log: Shutdown: does not wait for import (shutdownTimeout: 0), and aborts at once',
    ],
    [
      {
        type: 'shutdown',
        phase: 'left',
        ...outage,
        runs: [{ lock: 'import', expiresIn: 7_898 }, { lock: 'lost' }],
      },
      'log: Shutdown: import still runs (its lease expires in 7.9 s), lost still runs (it had lost its lease)',
    ],
    [
      { type: 'outage', phase: 'ended', ...outage, duration: 50_000, skipped: 50 },
      'log: The lock store is available again after 50 s; 50 runs were skipped',
    ],
    [
      { type: 'outage', phase: 'ended', ...outage, lock: 'auto-refresh', duration: 500, skipped: 1 },
      'log: Lock "auto-refresh" is available again after 500 ms; 1 run was skipped',
    ],
  ])('of the event %j', (event, line) => {
    const events = new SchedulerLockEvents();
    new LogListener(events, logging());
    events.emit(event);
    expect(lines).toEqual([line]);
  });

  it('of renewals only where they are asked for, and of nothing else then', () => {
    const renewed = { type: 'renewed', ...FACTS, restored: false, expiresIn: 9_898 } as const;
    const events = new SchedulerLockEvents();
    new LogListener(events, logging());
    events.emit(renewed);
    expect(lines).toEqual([]);
    const chosen = new SchedulerLockEvents();
    new LogListener(chosen, logging(['renewed']));
    chosen.emit(renewed);
    chosen.emit(ACQUIRED);
    expect(lines).toEqual(['debug: Jobs.refresh [auto-refresh]: renewed']);
    expect(chosen.hears('acquired')).toBe(false);
  });

  it('of nothing with log: false', () => {
    const events = new SchedulerLockEvents();
    new LogListener(events, logging(false));
    events.emit(ACQUIRED);
    events.emit({ type: 'outage', phase: 'started', ...outage, error, atStart: false });
    expect(lines).toEqual([]);
  });

  it('of leases only where somebody reads the level debug, asked each time', () => {
    const events = new SchedulerLockEvents();
    new LogListener(events, logging());
    Logger.overrideLogger(new ConsoleLogger('app', { logLevels: ['log', 'warn'] }));
    expect([events.hears('acquired'), events.hears('released'), events.hears('lost')]).toEqual([
      false,
      false,
      true,
    ]);
    events.emit(ACQUIRED);
    Logger.overrideLogger(new ConsoleLogger('app', { logLevels: ['log', 'debug'] }));
    expect(events.hears('acquired')).toBe(true);
    events.emit(ACQUIRED);
    expect(lines).toHaveLength(1);
    Logger.overrideLogger(false);
    expect([events.hears('acquired'), events.hears('released')]).toEqual([false, false]);
  });

  it("of leases for a logger other than Nest's own, which filters by itself", () => {
    const events = new SchedulerLockEvents();
    new LogListener(events, logging());
    const own = { log: jest.fn(), error: jest.fn(), warn: jest.fn(), debug: jest.fn() };
    Logger.overrideLogger(own);
    expect(events.hears('acquired')).toBe(true);
    // Nest remembers levels that were given before, though they are of a logger that is not used any more.
    Logger.overrideLogger(['log']);
    Logger.overrideLogger(own);
    events.emit(ACQUIRED);
    expect(lines).toHaveLength(1);
    Reflect.set(Logger, 'logLevels', undefined);
  });

  it('of no question of its own about a job of which nothing is known', () => {
    const events = new SchedulerLockEvents();
    new LogListener(events, logging());
    const { fencingToken: _token, ...facts } = FACTS;
    const skipped = { type: 'skipped', ...facts, reason: 'already-ran', callTick: 60_000 } as const;
    events.emit(skipped);
    expect(lines).toEqual([]);
    events.emit({ ...skipped, tick: 60_000 });
    expect(lines).toEqual(['debug: Jobs.refresh [auto-refresh]: skipped (already-ran)']);
  });

  it('names a lock once if the job is called the same, or there is none', () => {
    const events = new SchedulerLockEvents();
    new LogListener(events, logging());
    events.emit({ ...ACQUIRED, lock: 'Jobs.refresh' });
    const { job: _job, ...plain } = FACTS;
    events.emit({ type: 'acquired', ...plain, expiresIn: 9_898 });
    expect(lines).toEqual([
      'debug: Jobs.refresh: acquired, fencing token 42',
      'debug: auto-refresh: acquired, fencing token 42',
    ]);
  });
});
