import { jest } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';

/** By how much the clock is wrong that the code in this context reads, and the timers that it sets, milliseconds. */
const shifts = new AsyncLocalStorage<number>();

/** Lets parts of this process have clocks of their own until mocks are restored; `cron` reads the time by `Date.now()` too. */
export function shiftClocks(): <T>(by: number, part: () => T) => T {
  const now = Date.now.bind(Date);
  jest.spyOn(Date, 'now').mockImplementation(() => now() + (shifts.getStore() ?? 0));
  return (by, part) => shifts.run(by, part);
}
