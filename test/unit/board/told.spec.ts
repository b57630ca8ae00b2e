import { expect, test } from '@jest/globals';
import { evidenceOf } from '../../../lib/board/evidence.js';
import { told } from '../../../lib/board/told.js';
import { Times } from '../../../lib/insight/shown.js';
import type { RunInfo } from '../../../lib/insight/types.js';

const started = { result: 'started', lock: 'lock', fencingToken: 7, instance: 'api-1' } as const;

test.each([
  [{}, 'It runs on api-1, with fencing token 7.'],
  [{ outcome: 'failed' }, 'It ran on api-1, with fencing token 7: failed.'],
  [
    { outcome: 'completed', pausedAgain: true },
    'It ran on api-1, with fencing token 7: completed. It is paused again.',
  ],
  [
    { outcome: 'completed', pausedAgain: false },
    'It ran on api-1, with fencing token 7: completed. It is not paused any more.',
  ],
] as const)('a run that a person wants is told as it is: %j', (more, sentence) => {
  expect(told({ ...started, ...more })).toBe(sentence);
});

test('of a run that a person had started, and another one ended, both are shown', () => {
  const run: RunInfo = {
    lock: 'lock',
    job: 'job',
    fencingToken: 7,
    instance: 'api-1',
    startedAt: 1,
    endedAt: 2,
    outcome: 'aborted',
    trigger: 'control',
    by: {
      action: 'break',
      actor: 'anna',
      reason: 'it hangs',
      started: { action: 'run', actor: 'bob', call: '1' },
    },
  };
  const why = { job: 'job', sentence: '', cause: 'ran', run } as const;
  const evidence = evidenceOf(why, new Times('UTC', 3));
  expect(evidence).toEqual(
    expect.arrayContaining([
      ['started by', 'bob'],
      ['ended by', 'anna'],
      ['reason', 'it hangs'],
    ]),
  );
});
