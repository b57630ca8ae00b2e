import { lastStart } from '../rules.js';
import type { AcquireRefusal, AcquireResult, ExtendResult, ReleaseResult } from '../lock-store.js';

/** Interprets the script's answer to an attempt. */
export function readAcquire(reply: unknown): AcquireResult {
  if (!Array.isArray(reply)) return { acquired: true, fencingToken: Number(reply) };
  const [reason, holder, left, detail = '', outcome = '', place, ahead] = reply as [
    AcquireRefusal['reason'] | '',
    string,
    number,
    string?,
    string?,
    string?,
    number?,
  ];
  if (reason === '') {
    const granted = { acquired: true, fencingToken: Number(holder), attempt: Number(left) } as const;
    return detail === '' ? granted : { ...granted, previousSchedule: detail };
  }
  const refusal: { -readonly [K in keyof AcquireRefusal]: AcquireRefusal[K] } = { acquired: false, reason };
  if (holder !== '') refusal.holder = holder;
  // -1: a key without an expiry, which another client has set.
  if (Number(left) >= 0) refusal.expiresIn = Number(left);
  if (reason === 'clock-skew') refusal.storeTime = Number(detail);
  else if (outcome !== '')
    Object.assign(refusal, lastStart(Number(detail), outcome === '-' ? undefined : outcome));
  if (place !== undefined) refusal.waiting = { place: Number(place), ahead: Number(ahead) };
  return refusal;
}

/** Interprets the script's answer to a renewal. */
export function readExtend(reply: unknown): ExtendResult {
  if (Array.isArray(reply)) {
    const [holder = ''] = reply as [string];
    return { held: false, reason: 'taken', ...(holder === '' ? undefined : { holder }) };
  }
  const verdict = Number(reply);
  if (verdict === 0) return { held: false, reason: 'expired' };
  return verdict === 2 ? { held: true, restored: true } : { held: true };
}

/** Interprets the script's answer to a release. */
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
