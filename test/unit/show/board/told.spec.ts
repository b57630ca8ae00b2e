import { expect, test } from '@jest/globals';
import { type Result, told } from '../../../../lib/insight/control/told.js';
import { timesIn } from '../../../../lib/insight/times.js';

const started = { result: 'started', lock: 'lock', fencingToken: 7, instance: 'api-1' } as const;

test.each([
  [{}, 'It runs on api-1, with fencing token 7.'],
  [{ outcome: 'failed' }, 'It ran on api-1, with fencing token 7: failed.'],
  [{ outcome: 'completed' }, 'It ran on api-1, with fencing token 7: completed.'],
] as const)('a run that a person wants is told as it is: %j', (more, sentence) => {
  expect(told({ ...started, ...more }, timesIn()).sentence).toBe(sentence);
});

const pause = { lock: 'lock', actor: 'anna', since: 1, until: 3_600_003 };

test.each<[Result, number, number, string]>([
  [
    { result: 'paused', pause, jobs: ['job'] },
    200,
    0,
    'Done: job is paused by anna until 1970-01-01 01:00:00Z.',
  ],
  [
    { result: 'paused', pause, jobs: ['job'], running: { holder: 'api-1' } },
    200,
    0,
    'Done: job is paused by anna until 1970-01-01 01:00:00Z. The run of api-1 goes on.',
  ],
  [
    { result: 'paused', pause, jobs: [] },
    200,
    0,
    'Done: the lock lock, which no instance has a job for, is paused by anna until 1970-01-01 01:00:00Z.',
  ],
  [
    { result: 'paused', pause, jobs: ['job', 'other'] },
    200,
    0,
    'Done: the lock lock, and with it job, other, is paused by anna until 1970-01-01 01:00:00Z.',
  ],
  [
    { result: 'paused', pause, time: 3 },
    409,
    1,
    'Not started: it is paused by anna since 1970-01-01 00:00:00Z, for 1 h more.',
  ],
  [
    { ...started, outcome: 'failed', error: 'Error: no' },
    200,
    1,
    'It ran on api-1, with fencing token 7: failed (Error: no).',
  ],
  [
    { result: 'held', lock: 'lock', holder: 'api-1' },
    409,
    1,
    'Nothing was changed: api-1 has the lock lock.',
  ],
  [
    { result: 'nobody-has-it', job: 'jib', jobs: ['job'] },
    404,
    2,
    'No instance knows a job jib. Known jobs: job.',
  ],
  [{ result: 'redelivered', lock: 'lock', count: 0 }, 409, 1, 'There is no such dead letter'],
  [{ result: 'redelivered', lock: 'lock', count: 2 }, 200, 0, 'Put 2 dead letters of the lock lock back.'],
])(
  'page and shell tell the same of %j, with status %i and exit code %i',
  (result, status, code, sentence) => {
    expect(told(result, timesIn())).toMatchObject({
      status,
      code,
      sentence: expect.stringContaining(sentence),
    });
  },
);
