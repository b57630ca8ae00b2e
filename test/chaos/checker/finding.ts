/** The result of one check. */
export interface Finding {
  /** The name of the check. */
  readonly check: string;
  /** One line for each violation. */
  readonly violations: readonly string[];
  /** The counts, in the order of the report. */
  readonly counts: Readonly<Record<string, number | string>>;
}

/** A run in words. */
export function describeRun(run: {
  job: string;
  tick?: number;
  attempt: number;
  i: string;
  n: number;
  token: number;
  m: number;
}): string {
  const tick = run.tick === undefined ? '' : ` of tick ${new Date(run.tick).toISOString()}`;
  const again = run.attempt > 1 ? `, attempt ${run.attempt}` : '';
  return `${run.job}${tick}${again} on ${run.i}.${run.n} (fencing token ${run.token}, started at ${run.m.toFixed(0)})`;
}
