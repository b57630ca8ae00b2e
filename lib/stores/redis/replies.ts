import type { AcquireRefusal, AcquireResult, ExtendResult, ReleaseResult } from '../lock-store.js';

/** Reads what the script answered to an attempt. */
export function readAcquire(reply: unknown): AcquireResult {
  if (!Array.isArray(reply)) return { acquired: true, fencingToken: Number(reply) };
  const [reason, second, third, detail, outcome] = reply as [
    AcquireRefusal['reason'] | '',
    string,
    string,
    string,
    string,
  ];
  if (reason === '') {
    const attempt = Number(third);
    const granted = { acquired: true, fencingToken: Number(second), attempt } as const;
    return detail === '' ? granted : { ...granted, previousSchedule: detail };
  }
  return {
    acquired: false,
    reason,
    ...(second === '' ? undefined : { holder: second }),
    // -1: a key without an expiry, put there by somebody else.
    ...(Number(third) < 0 ? undefined : { expiresIn: Number(third) }),
    ...(reason === 'clock-skew' ? { storeTime: Number(detail) } : undefined),
    ...(outcome === ''
      ? undefined
      : { tick: Number(detail), finished: outcome !== '-' && outcome !== 'aborted' }),
  };
}

/** Reads what the script answered to a renewal. */
export function readExtend(reply: unknown): ExtendResult {
  if (Array.isArray(reply)) {
    const [holder = ''] = reply as [string];
    return { held: false, reason: 'taken', ...(holder === '' ? undefined : { holder }) };
  }
  const verdict = Number(reply);
  if (verdict === 0) return { held: false, reason: 'expired' };
  return verdict === 2 ? { held: true, restored: true } : { held: true };
}

/** Reads what the script answered to a release. */
export function readRelease(reply: unknown): ReleaseResult {
  switch (Number(reply)) {
    case 1:
      return { released: true };
    case 2:
      return { released: false, reason: 'ended' };
    case 0:
      return { released: false, reason: 'expired' };
    default:
      return { released: false, reason: 'taken' };
  }
}
