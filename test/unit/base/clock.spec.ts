import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AlarmClock, noLongerThan, systemClock } from '../../../lib/base/clock.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';

const DAY = 86_400_000;

describe('the clock of this machine', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('keeps timers of any length, also beyond the 24.8 days after which setTimeout fires at once', () => {
    const fired = jest.fn();
    systemClock.setTimer(fired, 60 * DAY);
    jest.advanceTimersByTime(60 * DAY - 1);
    expect(fired).not.toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(1);
    expect(fired).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('never gives setTimeout more than it can keep', () => {
    const timeout = jest.spyOn(globalThis, 'setTimeout');
    systemClock.setTimer(() => undefined, 30 * DAY);
    jest.advanceTimersByTime(30 * DAY);
    const delays = timeout.mock.calls.map(([, delay]) => delay);
    expect(delays).toEqual([2_147_483_647, 30 * DAY - 2_147_483_647]);
  });

  it('cancels a timer in any of its steps, more than once, and after it has fired', () => {
    const fired = jest.fn();
    const timer = systemClock.setTimer(fired, 60 * DAY);
    jest.advanceTimersByTime(30 * DAY);
    timer.cancel();
    timer.cancel();
    jest.advanceTimersByTime(60 * DAY);
    expect(fired).not.toHaveBeenCalled();

    const short = systemClock.setTimer(fired, 5);
    jest.advanceTimersByTime(5);
    short.cancel();
    expect(fired).toHaveBeenCalledTimes(1);
  });

  it('fires no fraction of a millisecond early, and at once for a time that has passed', () => {
    const fired = jest.fn();
    systemClock.setTimer(fired, 1.2);
    jest.advanceTimersByTime(1);
    expect(fired).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    systemClock.setTimer(fired, -5);
    jest.advanceTimersByTime(0);
    expect(fired).toHaveBeenCalledTimes(2);
  });
});

describe('the timers of this machine', () => {
  it('do not keep the process alive unless asked to', () => {
    const unref = jest.fn();
    const timeout = jest.spyOn(globalThis, 'setTimeout').mockImplementation(
      // Only what the clock uses of a timer.
      () => ({ unref }) as unknown as NodeJS.Timeout,
    );
    systemClock.setTimer(() => undefined, 1_000);
    expect(unref).toHaveBeenCalledTimes(1);
    systemClock.setTimer(() => undefined, 1_000, { keepAlive: true });
    expect(unref).toHaveBeenCalledTimes(1);
    timeout.mockRestore();
  });

  it('measure by a clock that never runs backwards', () => {
    const before = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(before);
  });
});

describe('an alarm clock', () => {
  const alarm = (): { clock: ManualClock; rang: number[]; alarm: AlarmClock } => {
    const clock = new ManualClock();
    const rang: number[] = [];
    return { clock, rang, alarm: new AlarmClock(clock, () => rang.push(clock.monotonic())) };
  };

  it('rings once, at the earliest of the moments that it is set for', async () => {
    const it = alarm();
    for (const at of [300, 100, 200]) it.alarm.by(at);
    expect(it.clock.pending).toBe(1);
    await it.clock.advance(1_000);
    expect(it.rang).toEqual([100]);
    expect(it.clock.pending).toBe(0);
  });

  it('rings later than it was set for only if it is told so', async () => {
    const it = alarm();
    it.alarm.by(100);
    it.alarm.set(200);
    await it.clock.advance(1_000);
    it.alarm.by(1_500);
    it.alarm.set(Infinity);
    await it.clock.advance(1_000);
    expect(it.rang).toEqual([200]);
  });

  it('can be set for the next moment while it rings', async () => {
    const clock = new ManualClock();
    let rang = 0;
    const own: AlarmClock = new AlarmClock(clock, () => {
      rang += 1;
      if (rang < 3) own.by(clock.monotonic() + 100);
    });
    own.by(0);
    await clock.advance(1_000);
    expect(rang).toBe(3);
  });

  it('that was stopped is set for nothing any more', async () => {
    const it = alarm();
    it.alarm.by(100);
    it.alarm.stop();
    it.alarm.by(50);
    it.alarm.set(50);
    await it.clock.advance(1_000);
    expect(it.rang).toEqual([]);
    expect(it.clock.pending).toBe(0);
  });
});

describe('no longer than so many milliseconds', () => {
  it('is waited for work, whose result or failure counts until then', async () => {
    const clock = new ManualClock();
    expect(await noLongerThan(100, Promise.resolve('done'), clock)).toBe('done');
    await expect(noLongerThan(100, Promise.reject(new Error('no')), clock)).rejects.toThrow('no');
    expect(clock.pending).toBe(0);
    const late = noLongerThan(100, new Promise(() => undefined), clock);
    await clock.advance(100);
    expect(await late).toBeUndefined();
  });
});

it('a clock that is moved by hand is where it was moved to, whatever timers it has fired on the way', async () => {
  const start = Date.UTC(2026, 10, 26, 3);
  const clock = new ManualClock(start);
  for (let n = 1; n < 200; n++) clock.setTimer(() => undefined, n * 49.0123);
  await clock.advance(10_000);
  expect(clock.now()).toBe(start + 10_000);
  clock.setWallClock(start);
  clock.setTimer(() => undefined, 0.1);
  await clock.advance(10_000);
  expect(clock.now()).toBe(start + 10_000);
});
