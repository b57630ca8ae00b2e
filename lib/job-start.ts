/** The start of its job that a call belongs to. Empty if it is unknown. */
export interface JobStart {
  /** Scheduled fire time, epoch milliseconds: the same number on every instance. */
  readonly tick?: number;
  /** The schedule that the tick comes from: the store keeps it, to detect instances that disagree. */
  readonly schedule?: string;
  /** How far the tick may lie in the future of the store's clock, milliseconds. */
  readonly maxClockSkew?: number;
  /** How often an interrupted run of the tick may be repeated. */
  readonly rerun?: number;
  /** Refuse the tick if the job never started before, or unless this very tick was interrupted. */
  readonly only?: 'known' | 'interrupted';
  /** Milliseconds between two starts of an interval. */
  readonly interval?: number;
}
