import { describe, expect, test } from '@jest/globals';
import { instanceReader, isJobs } from '../../../lib/contract/readable.js';

const FACTS = { startedAt: 5, every: 30_000, leads: ['main'], next: [7, null], last: [null, 3], left: false };

describe('what an instance has told', () => {
  test('is what it was', () => {
    expect(instanceReader()(JSON.stringify(FACTS))).toEqual(FACTS);
    const none = { ...FACTS, next: [], last: [] };
    expect(instanceReader()(JSON.stringify(none))).toEqual(none);
  });

  test('is what it was, also if its texts look like dates, or its dates are others', () => {
    for (const odd of [
      { version: '"next":[1],"last":[2]', ...FACTS },
      { ...FACTS, version: '"next":[1],"last":[2]' },
      { ...FACTS, next: [1.5, -1] },
      { last: [1], next: [2], startedAt: 5, every: 1, leads: [] },
    ])
      expect(instanceReader()(JSON.stringify(odd))).toEqual(odd);
  });

  test('cannot be read if somebody has changed it', () => {
    const text = JSON.stringify(FACTS);
    for (const odd of [
      '',
      '{',
      '[]',
      text.slice(1),
      text.replace('30000', '"x"'),
      text.replace('[7,', '{7,'),
    ])
      expect(instanceReader()(odd)).toBeUndefined();
  });

  test('has no dates if only those cannot be read', () => {
    const odd = JSON.stringify(FACTS).replace('[7,null]', '[7,,null]');
    expect(instanceReader()(odd)).toEqual({ ...FACTS, next: [] });
  });

  test('is one list for all that have the same dates', () => {
    const read = instanceReader();
    const [one, other] = [read(JSON.stringify(FACTS)), read(JSON.stringify({ ...FACTS, startedAt: 6 }))];
    expect(one?.next).toBe(other?.next);
    expect(one?.next).toBe(one?.next);
  });
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
