import { pausedBy } from './pause-scripts.js';
import { lastStart } from '../../contract/allowances.js';
import type {
  AcquireRefusal,
  AcquireResult,
  ExtendResult,
  ReleaseResult,
} from '../../contract/lock-store.js';

/*
 * A client may give numbers as texts (the option `stringNumbers` of ioredis): these functions turn such answers of scripts back into
 * numbers.
 */

/** Whether a script has answered yes, by a 1. */
export const isYes = (reply: unknown): boolean => Number(reply) === 1;

/** A grant with more facts: see ACQUIRE. */
type Grant = ['', fence: string, attempt: number, schedule: string, lost?: string[]];

type Interrupted = Extract<AcquireResult, { acquired: true }>['interrupted'] & object;

/** Interprets the script's answer to an attempt. */
export function readAcquire(reply: unknown): AcquireResult {
  if (!Array.isArray(reply)) return { acquired: true, fencingToken: Number(reply) };
  if (reply[0] === '') return readGrant(reply as Grant);
  const [reason, holder, left, detail = '', outcome = '', place, ahead] = reply as [
    AcquireRefusal['reason'],
    string,
    number,
    string?,
    string?,
    string?,
    number?,
  ];
  const refusal: { -readonly [K in keyof AcquireRefusal]: AcquireRefusal[K] } = { acquired: false, reason };
  if (holder !== '') Object.assign(refusal, reason === 'paused' ? pausedBy(holder) : { holder });
  // -1: a key without an expiry, which another client has set.
  if (Number(left) >= 0) refusal.expiresIn = Number(left);
  if (reason === 'clock-skew') refusal.storeTime = Number(detail);
  else if (outcome !== '') Object.assign(refusal, lastStart(Number(detail), ...endOf(outcome)));
  if (place !== undefined) refusal.waiting = { place: Number(place), ahead: Number(ahead) };
  return refusal;
}

/** How the run of a tick has ended, and from when on it may be tried again, as the record of its start says. */
export function endOf(text: string): [outcome: string | undefined, retryAt: number | undefined] {
  const [outcome, retryAt] = text.split('@');
  return [outcome === '-' ? undefined : outcome, retryAt === undefined ? undefined : Number(retryAt)];
}

function readGrant([, fence, attempt, schedule, lost]: Grant): AcquireResult {
  const granted = { acquired: true, fencingToken: Number(fence) } as const;
  const previous = schedule === '' ? undefined : { previousSchedule: schedule };
  if (lost === undefined) return { ...granted, attempt: Number(attempt), ...previous };
  const rerun = Number(attempt) > 1 ? { attempt: Number(attempt) } : undefined;
  return { ...granted, ...rerun, ...previous, interrupted: readLost(lost) };
}

/** What is known of a lease that has ended by itself: see ACQUIRE. */
function readLost([fence, holder = '', job = '', tick = '', attempt = '']: readonly string[]): Interrupted {
  return {
    fencingToken: Number(fence),
    holder,
    ...(job === '' ? undefined : { job }),
    ...(tick === '' ? undefined : { tick: Number(tick), attempt: Number(attempt) }),
  };
}

/** Interprets the script's answer to a renewal. */
export function readExtend(reply: unknown): ExtendResult {
  if (Array.isArray(reply)) {
    const [holder = ''] = reply as [string];
    return { held: false, reason: 'taken', ...(holder === '' ? undefined : { holder }) };
  }
  const verdict = Number(reply);
  if (verdict === 0) return { held: false, reason: 'expired' };
  if (verdict === 3) return { held: true, restored: true, deleted: true };
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
