import { actOf, type Desk } from '../insight/control/desk.js';
import { checkRun, LONGEST_WAIT } from '../insight/control/run-now.js';
import { parseDuration } from '../base/duration.js';
import type { Lock } from '../lock/current-lock.js';
import type { Skipped } from '../lock/lock-call.js';
import { outcomeOf } from '../lock/run.js';
import type { RunNowResult, RunRequest } from '../insight/control/types.js';
import type { ModuleSettings } from './options/check.js';
import type { BoundJob } from './bound-job.js';
import type { SchedulerLockInterceptor } from './scheduler-lock.interceptor.js';
import { logError } from './log/log-phrases.js';

interface Parts {
  readonly interceptor: SchedulerLockInterceptor;
  readonly desk: Desk;
  readonly settings: ModuleSettings;
}

type End = { readonly ran: true; readonly failure?: unknown } | Skipped;

/** Runs a job of this instance for a person, and says what became of the run. */
export async function runHere(request: RunRequest, bound: BoundJob, parts: Parts): Promise<RunNowResult> {
  const { interceptor, settings, desk } = parts;
  const args = checkRun(request);
  let begin: (lock: Lock) => void = () => undefined;
  const begun = new Promise<Lock>((resolve) => (begin = resolve));
  const { lock, result } = interceptor.runNow(bound, { args, by: actOf('run', request), began: begin });
  let own: Lock | undefined;
  const ended = result.then(
    (end): End => (end.ran ? { ran: true } : end),
    (error: unknown): End => {
      // If the run has not begun, this is the error of the call itself.
      if (own === undefined) throw error;
      return { ran: true, failure: error };
    },
  );
  void begun.then((granted) => (own = granted));
  const first = await Promise.race([begun, ended]);
  if ('ran' in first && !first.ran) return refused(lock, first, parts);
  const granted = await begun;
  const start = {
    result: 'started',
    lock,
    fencingToken: granted.fencingToken ?? 0,
    instance: settings.instanceId,
  } as const;
  if (request.wait === undefined) {
    logFailure(ended);
    return start;
  }
  const end = await desk.closing.wait(parseDuration(request.wait) ?? LONGEST_WAIT, ended);
  if (end === undefined) logFailure(ended);
  if (end === undefined || !end.ran) return start;
  // The same as the history says.
  const outcome = outcomeOf({ abortReason: granted.signal.reason }, 'failure' in end);
  if (!('failure' in end)) return { ...start, outcome };
  const { failure } = end;
  return { ...start, outcome, error: failure instanceof Error ? failure.message : String(failure) };
}

/** Nobody waits for the run: only the log can have its error. */
const logFailure = (ended: Promise<End>): void =>
  void ended.then((end) => 'failure' in end && logError(() => end.failure));

async function refused(lock: string, skip: Skipped, { desk }: Parts): Promise<RunNowResult> {
  const { reason, holder, error } = skip;
  // A person reads the error itself.
  if (reason === 'store-unavailable' && error !== undefined) throw error;
  if (reason === 'held' || reason === 'cooling-down')
    return { result: 'held', lock, ...(holder !== undefined && { holder }) };
  const paused = reason === 'paused' ? await desk.pauseOf(lock) : undefined;
  return paused === undefined ? { result: 'skipped', reason } : { result: 'paused', ...paused };
}
