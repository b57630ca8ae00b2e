import { expect, test } from '@jest/globals';
import { isInstance, isJobs } from '../../../lib/contract/readable.js';

const FACTS = {
  instance: 'a',
  startedAt: 5,
  every: 30_000,
  leads: ['main'],
  left: false,
};

test('what an instance has told cannot be read if somebody has changed it', () => {
  expect(isInstance(FACTS)).toBe(true);
  for (const odd of [
    [],
    null,
    { ...FACTS, every: 'x' },
    { ...FACTS, leads: 1 },
    { ...FACTS, instance: 1 },
    { ...FACTS, added: 3 },
  ])
    expect(isInstance(odd)).toBe(false);
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
