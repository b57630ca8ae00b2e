/* Parts of the lines of the log. */

/** Errors of one lock begin with its name. */
export function withoutLock(message: string, lock: string): string {
  const beginning = `Lock "${lock}": `;
  return message.startsWith(beginning) ? message.slice(beginning.length) : message;
}

export function skew({
  tick = 0,
  storeTime = 0,
  at,
}: {
  tick?: number;
  storeTime?: number;
  at: number;
}): string {
  const [ticked, here, there] = [tick, at, storeTime].map((time) => new Date(time).toISOString());
  return (
    `its tick ${ticked} lies too far in the future of the store. It is ${here} by this machine's clock and ${there} by the ` +
    "store's; either may be wrong. Correct that clock, or raise maxClockSkew."
  );
}

/** Two calls that wait for each other's locks: this shows both halves. */
export function whileHolding({ holding }: { holding?: readonly string[] }): string {
  return holding === undefined ? '' : `, while it holds ${holding.map((name) => `"${name}"`).join(', ')}`;
}

/** `RefreshJobs.refresh [auto-refresh]`, or only the name if the job is the same or absent. */
export function subject({ job, lock }: { job?: string; lock: string }): string {
  return job === undefined || job === lock ? lock : `${job} [${lock}]`;
}

export const ofKey = ({ key }: { key?: string }): string => (key === undefined ? '' : ` "${key}"`);
