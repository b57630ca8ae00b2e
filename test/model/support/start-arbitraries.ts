import { constantFrom, oneof, record } from 'fast-check';
import type { ReleaseOutcome } from '../../../lib/index.js';
import type { StartFields } from './start-model.js';
import type { ModelLease, StoreModel } from './store-model.js';

export const outcome = constantFrom<ReleaseOutcome>(
  'completed',
  'failed',
  'timed-out',
  'aborted',
  'abandoned',
);

/** Makes a lease, whose tick is counted from the job's last one. */
export function newLease(model: StoreModel, name: string, asked: StartFields): ModelLease {
  return model.newLease(name, absolute(model, name, asked));
}

export function absolute(model: StoreModel, name: string, asked: StartFields): StartFields {
  if (asked.tick === undefined) return asked;
  const { tick = TICK } = model.lock(name).starts.last(asked);
  return { ...asked, tick: tick + asked.tick };
}

const job = constantFrom('nightly', 'hourly');
/** The first tick of a job. Long ago, so that no clock has a say in it. */
const TICK = 1_760_000_000_000;
/** Ticks are the one before the job's last, the same one, or the next: so they meet. */
export const ofTick = record(
  {
    job,
    tick: constantFrom(-1, 0, 0, 1, 1),
    rerun: constantFrom(1, 1, 2),
    only: constantFrom('known' as const, 'interrupted' as const),
  },
  { requiredKeys: ['job', 'tick'] },
);
/** An interval that is never over: a property moves the clock of a store by days at most. */
const ofInterval = record({ job, interval: constantFrom(365 * 86_400_000) });
export const ofJob = oneof(
  { weight: 6, arbitrary: ofTick },
  { weight: 1, arbitrary: ofInterval },
  { weight: 1, arbitrary: record({ job }) },
);

/** Runs that were interrupted may be repeated, so there are more of them. */
export const runOutcome = oneof(
  { weight: 2, arbitrary: outcome },
  { weight: 1, arbitrary: constantFrom<ReleaseOutcome>('aborted') },
);
