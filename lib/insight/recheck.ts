import type { Judgement } from './judgement.js';

/** How long to wait after a call that failed, ms: while the store is away, nobody knows what the others have done. */
export const AGAIN = 5_000;
/** After what time it asks again about a job that needs attention, about a run elsewhere, and which instances are up, ms. */
export const RECHECK = 300_000;
/** After what time it asks again whether instances that disagreed still do, ms: a deploy replaces them in a few minutes. */
export const REPLACED = 60_000;
/** After what time it asks again about what no tick would show, ms. */
export const RARELY = 3_600_000;

/** What decides, beside the judgement, when a job is looked at again. Durations in milliseconds. */
interface Circumstances {
  /** The instance that asks. */
  readonly instance: string;
  /** Whether the instance asks the store only when ticks come anyway. */
  readonly withTicks: boolean | undefined;
  /** Milliseconds between two runs of the job, if it has an interval. */
  readonly interval: number | undefined;
  /** Whether another tick of the job is to come. */
  readonly hasNext: boolean;
  /** How long the lease that the store has shown would go on, ms. */
  readonly leaseLeft: number | undefined;
  /** For how long instances have not agreed; `undefined`: they do. */
  readonly disagreeFor: number | undefined;
  /** For how long the job has been watched. */
  readonly seenFor: number;
}

/** After what time to ask again about a job, ms; Infinity: its next tick is soon enough. */
export function recheckOf(judgement: Judgement, seen: Circumstances): number {
  const { status } = judgement;
  if (isOpen(judgement)) return AGAIN;
  if (status === 'unknown') return RECHECK;
  // Its instance may be killed, or shut down. While it is not, its renewals keep the store awake.
  if (goesOnElsewhere(judgement, seen)) return Math.max(RECHECK, seen.leaseLeft ?? 0);
  if (isSettled(judgement) && seen.disagreeFor === undefined) return Infinity;
  if (seen.withTicks === true) return rarely(judgement, seen);
  if (seen.disagreeFor !== undefined) return REPLACED;
  return status === 'off' ? offFor(seen.seenFor) : RECHECK;
}

/** After what time to ask again whether a job is off everywhere: an instance on which it is on may be about to start, too. */
export const offFor = (seenFor: number): number => (seenFor < RECHECK ? REPLACED : RECHECK);

export const goesOnElsewhere = ({ run }: Judgement, { instance }: Pick<Circumstances, 'instance'>): boolean =>
  run?.outcome === 'running' && run.instance !== instance && run.hung !== true;

/** Whether nothing but a tick changes the judgement. */
const isSettled = ({ status, attention }: Judgement): boolean =>
  !attention && status !== 'off' && status !== 'paused';

/** Whether another answer of the store may settle the judgement. */
const isOpen = ({ reason }: Judgement): boolean => reason === 'not-asked' || reason === 'old-facts';

export const wentWrong = ({ status }: Judgement): boolean => status === 'failing' || status === 'interrupted';

/** Whether a judgement may be another one by now, though no tick has come. @param instance the one that asks */
export function mayHaveChanged(judgement: Judgement, instance: string): boolean {
  const { status, run } = judgement;
  if (run?.outcome === 'running') return run.instance !== instance;
  // A pause may have been lifted, and somebody may have run again what went wrong.
  return isOpen(judgement) || status === 'overdue' || status === 'paused' || wentWrong(judgement);
}

/** A run that goes on here costs no question to the store. By the next question after a deploy, the old instance has left. */
function rarely({ run }: Judgement, circumstances: Circumstances): number {
  const { instance, interval, hasNext, disagreeFor = Infinity } = circumstances;
  const isHere = run?.outcome === 'running' && run.instance === instance;
  if (isHere || disagreeFor < RECHECK - AGAIN) return RECHECK;
  if (interval !== undefined) return Math.max(interval, RECHECK);
  return hasNext ? Infinity : RARELY;
}
