import { expect, test } from '@jest/globals';
import { CronTime } from 'cron';
import { tickFinder } from '../../../lib/schedule/tick-finder.js';

const ticks = tickFinder(() => CronTime);
const at = (time: string): number => Date.parse(`2026-11-22T${time}Z`);

test('several expressions have the dates of all, and what cannot be read has none', () => {
  const both = ticks('0 3 * * * and 30 4 * * *', 'UTC');
  expect([both?.newest(at('04:00')), both?.next(at('04:00'))]).toEqual([at('03:00'), at('04:30')]);
  expect(ticks('0 3 * * * and nonsense', 'UTC')).toBeUndefined();
});

test('a job with a single date has that date', () => {
  // As `cron` shows it.
  const text = String(new CronTime(new Date(at('03:00')), 'UTC').source);
  const once = ticks(text, 'UTC');
  expect([once?.newest(at('02:00')), once?.next(at('02:00'))]).toEqual([undefined, at('03:00')]);
  expect([once?.newest(at('04:00')), once?.next(at('04:00'))]).toEqual([at('03:00'), Infinity]);
});
