/** How the run of a tick is tried again if it fails: checked, whole milliseconds. */
export interface Retry {
  /** How many runs of a tick there may be, the first one included. */
  readonly attempts: number;
  /** How long after the first failure; after each further one by `factor` longer. */
  readonly delay: number;
  readonly factor: number;
}

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
  /** With a `tick`: how its run is tried again if it fails. Absent: it is not. */
  readonly retry?: Retry & {
    /** The next tick, epoch milliseconds by this machine's clock: then it is too late. */
    readonly before: number;
  };
  /** With a `tick`: `known` refuses it if the job never started before, `interrupted` unless this very tick was interrupted. */
  readonly only?: 'known' | 'interrupted';
  /** Milliseconds between two starts of the job, on the store's clock, instead of a `tick`. */
  readonly interval?: number;
}

/** In how many milliseconds a run that has failed now is tried again; `undefined`: it is not. @param now by this machine's clock */
export function retryIn(
  start: JobStart | undefined,
  attempt: number | undefined,
  now: number,
): number | undefined {
  const { retry } = start ?? {};
  if (retry === undefined || attempt === undefined || attempt >= retry.attempts) return undefined;
  const delay = Math.round(retry.delay * retry.factor ** (attempt - 1));
  return now + delay < retry.before ? delay : undefined;
}
