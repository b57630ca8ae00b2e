import { describe, expect, it } from '@jest/globals';
import {
  AlreadyCommittedError,
  LockLostError,
  LockNotAcquiredError,
  LockNotBoundError,
  LockNotHeldError,
  LockResignedError,
  LockShutdownError,
  LockStateError,
  LockSupersededError,
  LockTimeoutError,
  SchedulerLockConfigError,
  type SchedulerLockError,
  StoreUnavailableError,
} from '../../../lib/base/errors.js';

const cause = Object.assign(new Error('AUTH default hunter2'), { command: { args: ['hunter2'] } });

const errors: [error: SchedulerLockError, facts: object][] = [
  [new SchedulerLockConfigError(['ttl: 0.'], { cause }), {}],
  [
    new LockNotAcquiredError('mail', { reason: 'held', holder: 'web-1', expiresIn: 5, cause }),
    { lock: 'mail', reason: 'held', holder: 'web-1', expiresIn: 5 },
  ],
  [new LockLostError('mail', 'taken', 'web-1'), { lock: 'mail', reason: 'taken', holder: 'web-1' }],
  [new LockTimeoutError('mail', 5), { lock: 'mail', timeout: 5 }],
  [new LockShutdownError('mail'), { lock: 'mail' }],
  [new LockResignedError('mail', { cause }), { lock: 'mail' }],
  [new LockNotHeldError('No lock is held.', 'mail'), { lock: 'mail' }],
  [new LockNotBoundError('Mail.send'), { job: 'Mail.send' }],
  [
    new StoreUnavailableError('Redis is away.', { outcome: 'unknown', cause }),
    { outcome: 'unknown', refused: false },
  ],
  [new LockStateError('mail', 'it is a list.', { cause }), { lock: 'mail' }],
  [new LockSupersededError('mail', 5, 6, 'lease'), { lock: 'mail', fencingToken: 5, committedToken: 6 }],
  [
    new AlreadyCommittedError('mail', 'Mail.send', 1, '', false),
    { lock: 'mail', job: 'Mail.send', tick: 1, step: '', done: true },
  ],
];

describe('as JSON', () => {
  it.each(errors.map(([error, facts]) => [error.name, error, facts] as const))(
    '%s has name, message, code and its facts, and nothing of its cause',
    (_name, error, facts) => {
      const { name, message, code } = error;
      const json = JSON.stringify(error);
      expect(JSON.parse(json)).toEqual({ name, message, code, ...facts });
      expect(Object.keys(JSON.parse(json) as object).slice(0, 3)).toEqual(['name', 'message', 'code']);
      expect([name, code, message].every((text) => text.length > 3)).toBe(true);
      expect(json).not.toContain('hunter2');
    },
  );
});
