import type { Judgement } from './judgement.js';

/** How long to wait after a call that failed, ms: while the store is away, nobody knows what the others have done. */
export const AGAIN = 5_000;
/** After what time it asks again about a job that needs attention, and which instances are up, ms. */
export const RECHECK = 300_000;
/** After what time it asks again whether instances that disagreed still do, ms: a deploy replaces them in a few minutes. */
export const REPLACED = 60_000;

/** What decides, beside the judgement, when a job is looked at again. Durations in milliseconds. */
interface Circumstances {
  /** The instance that asks. */
  readonly instance: string;
  /** Whether the instance asks the store only when ticks come anyway. */
  readonly withTicks: boolean | undefined;
  /** Milliseconds between two runs of the job, if it has an interval. */
  readonly interval: number | undefined;
  /** For how long instances have not agreed; `undefined`: they do. */
  readonly disagreeFor: number | undefined;
  /** For how long the job has been watched. */
  readonly seenFor: number;
}

/** After what time to ask again about a job, ms; Infinity: its next tick is soon enough. */
export function recheckOf(judgement: Judgement, seen: Circumstances): number {
  const { status, attention } = judgement;
  if (isOpen(judgement)) return AGAIN;
  if (status === 'unknown' || status === 'paused') return RECHECK;
  if (!attention && status !== 'off' && seen.disagreeFor === undefined) return Infinity;
  if (seen.withTicks === true) return rarely(judgement, seen);
  if (seen.disagreeFor !== undefined) return REPLACED;
  return status === 'off' ? offFor(seen.seenFor) : RECHECK;
}

/** After what time to ask again whether a job is off everywhere: an instance on which it is on may be about to start, too. */
export const offFor = (seenFor: number): number => (seenFor < RECHECK ? REPLACED : RECHECK);

/** Whether another answer of the store may settle the judgement. */
export const isOpen = ({ reason }: Judgement): boolean => reason === 'not-asked' || reason === 'old-facts';

/** A run that goes on here costs no question to the store. By the next question after a deploy, the old instance has left. */
function rarely({ run }: Judgement, { instance, interval, disagreeFor = Infinity }: Circumstances): number {
  const isHere = run?.outcome === 'running' && run.instance === instance;
  if (isHere || disagreeFor < RECHECK - AGAIN) return RECHECK;
  return interval === undefined ? Infinity : Math.max(interval, RECHECK);
}
