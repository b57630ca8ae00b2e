import type {
  AcquireRefusal,
  AcquireResult,
  ExtendResult,
  ReleaseResult,
} from '../../contract/lock-store.js';

// A store that a user has written may answer anything: numbers as texts, if its driver does so, or nothing at all.

/** What is wrong with an answer. */
export interface Wrong {
  /** The path of the wrong field: `.fencingToken`, or '' for the answer as a whole. */
  readonly field: string;
  readonly value: unknown;
  readonly expected: string;
}

/** An answer that was not checked yet. */
type Unseen<T> = { readonly [K in T extends unknown ? keyof T : never]?: unknown };

const REASONS: ReadonlySet<unknown> = new Set<AcquireRefusal['reason']>([
  'held',
  'already-ran',
  'cooling-down',
  'clock-skew',
]);

export function wrongAcquire(answer: AcquireResult): Wrong | undefined {
  if (!isObject(answer)) return wrong('', answer, 'an object');
  const { acquired, fencingToken, attempt, reason, expiresIn, tick, storeTime }: Unseen<AcquireResult> =
    answer;
  if (acquired === true) {
    if (!Number.isSafeInteger(fencingToken) || Number(fencingToken) <= 0)
      return wrong('.fencingToken', fencingToken, 'a safe integer above 0');
    if (attempt === undefined || Number.isSafeInteger(attempt)) return undefined;
    return wrong('.attempt', attempt, 'an integer or undefined');
  }
  if (acquired !== false) return wrong('.acquired', acquired, 'true or false');
  if (!REASONS.has(reason)) return wrong('.reason', reason, `one of ${[...REASONS].join(', ')}`);
  // The library calculates with times: a text would give a wrong one.
  return wrongTime('.expiresIn', expiresIn) ?? wrongTime('.tick', tick) ?? wrongTime('.storeTime', storeTime);
}

export function wrongRelease(answer: ReleaseResult): Wrong | undefined {
  if (!isObject(answer)) return wrong('', answer, 'an object');
  const { released }: Unseen<ReleaseResult> = answer;
  return typeof released === 'boolean' ? undefined : wrong('.released', released, 'true or false');
}

export function wrongObject(answer: object): Wrong | undefined {
  return isObject(answer) ? undefined : wrong('', answer, 'an object');
}

/** Checks the answer as a whole. `wrongExtend()` checks the result of each lease. */
export function wrongBatch(answer: readonly ExtendResult[], leases: number): Wrong | undefined {
  if (!Array.isArray(answer)) return wrong('', answer, 'an array');
  // With another length, there is no telling which result is for which lease.
  if (answer.length === leases) return undefined;
  return wrong('.length', answer.length, `${leases}, as many as it was given leases`);
}

export function wrongExtend(answer: ExtendResult, index: number): Wrong | undefined {
  if (!isObject(answer)) return wrong(`[${index}]`, answer, 'an object');
  const { held, error }: Unseen<ExtendResult> = answer;
  if (typeof held === 'boolean') return undefined;
  if (held !== null) return wrong(`[${index}].held`, held, 'true, false or null');
  return error instanceof Error ? undefined : wrong(`[${index}].error`, error, 'an error');
}

const wrong = (field: string, value: unknown, expected: string): Wrong => ({ field, value, expected });

const wrongTime = (field: string, value: unknown): Wrong | undefined =>
  value === undefined || Number.isFinite(value) ? undefined : wrong(field, value, 'a number or undefined');

const isObject = (answer: unknown): boolean => typeof answer === 'object' && answer !== null;
