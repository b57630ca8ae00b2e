import { describe, expect, test } from '@jest/globals';
import { readTime, timesIn } from '../../../lib/insight/times.js';

const BERLIN = 'Europe/Berlin';

test.each([
  [undefined, Date.UTC(2026, 10, 22, 3, 0, 0, 999), '2026-11-22 03:00:00Z'],
  [BERLIN, Date.UTC(2026, 10, 22, 3), '2026-11-22 04:00:00+01:00'],
  [BERLIN, Date.UTC(2026, 6, 1, 23), '2026-07-02 01:00:00+02:00'],
  ['America/St_Johns', Date.UTC(2026, 0, 1), '2025-12-31 20:30:00-03:30'],
])('in %s, a time is shown with its offset, and read back', (zone, time, text) => {
  expect(timesIn(zone)(time)).toBe(text);
  expect(readTime(text)).toBe(Math.floor(time / 1_000) * 1_000);
});

describe('a text without an offset is in the zone', () => {
  test.each([
    ['2026-11-22 03:00', undefined, '2026-11-22T03:00:00Z'],
    ['2026-11-22T03:00:07', BERLIN, '2026-11-22T02:00:07Z'],
    ['2026-03-29 01:59', BERLIN, '2026-03-29T00:59:00Z'],
    ['2026-03-29 03:00', BERLIN, '2026-03-29T01:00:00Z'],
    ['2026-10-25 03:00', BERLIN, '2026-10-25T02:00:00Z'],
    ['2026-11-22 03:00 Z', BERLIN, '2026-11-22T03:00:00Z'],
    ['2026-11-22T03:00:00.250+05:30', BERLIN, '2026-11-21T21:30:00.250Z'],
  ])('%s in %s', (text, zone, expected) => {
    expect(readTime(text, zone)).toBe(Date.parse(expected));
  });
});

test.each([
  '',
  'now',
  '03:00',
  '2026-11-22',
  '2026-02-30 03:00',
  '2026-13-01 03:00',
  '2026-11-22 25:00',
  '1763780400000',
])('"%s" is no time', (text) => expect(readTime(text)).toBeUndefined());
