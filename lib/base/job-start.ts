/** The start of its job that a call belongs to. Empty if it is unknown. */
export interface JobStart {
  /** Scheduled fire time, epoch milliseconds: the same number on every instance. */
  readonly tick?: number;
  /** With a `tick`: the schedule that it comes from. The store keeps it with the tick, to detect instances that disagree. */
  readonly schedule?: string;
  /** With a `schedule`: whether the application made the job with a zone of its own. Then only the application changes its schedule. */
  readonly meant?: true;
  /** With a `tick`: how often its run may be repeated if it was interrupted. @default 0 */
  readonly rerun?: number;
  /** With a `tick`: `known` refuses it if the job never started before, `interrupted` unless this very tick was interrupted. */
  readonly only?: 'known' | 'interrupted';
  /** Milliseconds between two starts of the job, on the store's clock, instead of a `tick`. */
  readonly interval?: number;
}
