import type { AcquireRequest, LeaseRef, ReleaseOptions } from '../../contract/lock-store.js';

// The arguments of the scripts of one lease: see acquire-script.ts, extend-script.ts and release-script.ts.

export function acquireArguments(request: AcquireRequest): string[] {
  const { token, ttl, holder, job = '', brief = false, history = false, through = false } = request;
  const args = [token, String(ttl), holder, job, startArgument(request), ...flags(brief, history, through)];
  while (args.length > 3 && args.at(-1) === '') args.pop();
  return args;
}

export const flags = (...all: readonly boolean[]): string[] => all.map((flag) => (flag ? '1' : ''));

export function releaseArguments(
  lease: LeaseRef,
  { outcome = 'completed', keepFor = 0, retryIn }: ReleaseOptions,
): string[] {
  const { token, fencingToken, holder, tick, job = '' } = lease;
  const args = [token, String(fencingToken)];
  if (keepFor > 0 || outcome !== 'completed' || tick !== undefined) args.push(outcome, job);
  // A lock that stays taken has to show its last holder.
  if (keepFor > 0) args.push(String(keepFor), holder);
  else if (retryIn !== undefined) args.push('', '');
  if (retryIn !== undefined) args.push(String(retryIn));
  return args;
}

/** The argument by which the script judges a start; '' for a call without a tick or an interval. */
export function startArgument({
  tick,
  maxClockSkew,
  interval,
  rerun,
  only,
  schedule,
}: AcquireRequest): string {
  if (tick === undefined && interval === undefined) return '';
  const numbers = [tick, maxClockSkew, interval, rerun, only];
  return `${numbers.map((value) => value ?? '-').join(' ')} ${schedule ?? ''}`;
}

export function extendArguments({ token, ttl, fencingToken, holder, ...run }: LeaseRef): string[] {
  const { job = '', tick, attempt = 1 } = run;
  const args = [token, String(ttl), String(fencingToken), holder];
  const start = tick === undefined ? job && `::${job}` : `${tick}:${attempt}:${job}`;
  return start === '' ? args : [...args, start];
}
