import type { Caller } from '../../contract/fast-port.js';
import type { LeaseRef, ReleaseOptions, ReleaseResult } from '../../contract/lock-store.js';

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
export const recording = (
  records: RunRecords,
  lease: LeaseRef,
  options: ReleaseOptions,
  told: Caller<ReleaseResult>,
): Caller<ReleaseResult> =>
  options.record === undefined ? told : new RecordingCaller(records, lease, options, told);

/** A class, as each run has one. */
class RecordingCaller implements Caller<ReleaseResult> {
  constructor(
    private readonly records: RunRecords,
    private readonly lease: LeaseRef,
    private readonly options: ReleaseOptions,
    private readonly told: Caller<ReleaseResult>,
  ) {}

  get givenUp(): boolean | undefined {
    return this.told.givenUp;
  }

  get limit(): number | undefined {
    return this.told.limit;
  }

  answered(result: ReleaseResult): void {
    this.records.ended(this.lease, this.options, !result.released);
    this.told.answered(result);
  }

  failed(error: Error): void {
    // Nobody knows whether it has ended the lease.
    this.records.ended(this.lease, this.options, true);
    this.told.failed(error);
  }
}
