import { expect, test } from '@jest/globals';
import { isInstance, isJobs, withDates } from '../../../lib/contract/readable.js';

const FACTS = {
  instance: 'a',
  startedAt: 5,
  every: 30_000,
  leads: ['main'],
  next: [],
  last: [],
  left: false,
};

test('what an instance has told cannot be read if somebody has changed it', () => {
  expect(isInstance(FACTS)).toBe(true);
  for (const odd of [[], null, { ...FACTS, every: 'x' }, { ...FACTS, leads: 1 }, { ...FACTS, instance: 1 }])
    expect(isInstance(odd)).toBe(false);
});

test('the dates of an instance are parsed once, and none if they cannot be read', () => {
  const one = withDates({ ...FACTS }, JSON.stringify({ next: [7, null], last: [null, 3] }));
  expect(one).toEqual({ ...FACTS, next: [7, null], last: [null, 3] });
  expect(one.next).toBe(one.next);
  expect(withDates({ ...FACTS }, '{"next":[7,,null],"last":[]}')).toEqual(FACTS);
});

test('a list of jobs cannot be read if a job does not say whether it is on, or when it is overdue', () => {
  const job = { job: 'report', kind: 'cron', enabled: true, overdue: 60_000 };
  expect(isJobs([job, { ...job, overdue: false, enabled: false }])).toBe(true);
  const { enabled: _enabled, ...without } = job;
  for (const odd of [
    without,
    { ...job, enabled: 'yes' },
    { ...job, overdue: true },
    { ...job, overdue: '1m' },
  ])
    expect([odd, isJobs([job, odd])]).toEqual([odd, false]);
});
