import type { Told } from '../../stores/fast-port.js';
import type { LeaseRef, ReleaseOptions, ReleaseResult } from '../../stores/lock-store.js';

/** Keeps the records of runs that have ended. */
export interface RunRecords {
  /**
   * Keeps how the run of a lease has ended, unless that is known: a moment later, if at all.
   *
   * @param isLate whether the lease was over before, or may have been
   */
  ended(lease: LeaseRef, how: Pick<ReleaseOptions, 'outcome' | 'record'>, isLate: boolean): void;
}

/** Tells of a release, and keeps the record behind it, if there is one: the run has ended, whatever became of its lease. */
export function keeping(
  records: RunRecords,
  lease: LeaseRef,
  options: ReleaseOptions,
  told: Told<ReleaseResult>,
): Told<ReleaseResult> {
  if (options.record === undefined) return told;
  return {
    answered: (result) => {
      records.ended(lease, options, !result.released);
      told.answered(result);
    },
    failed: (error) => {
      // Nobody knows whether it has ended the lease.
      records.ended(lease, options, true);
      told.failed(error);
    },
    get givenUp() {
      return told.givenUp === true;
    },
    limit: told.limit,
  };
}
