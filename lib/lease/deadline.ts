/** Renewals that fail are tried again after 5 % of the ttl, at most this many milliseconds. */
const MAX_RETRY_DELAY = 1_000;

/**
 * Until when a holder may rely on its lease, monotonic: counted from before the call was sent, less 1 % of the ttl and 2 ms for
 * clocks that run at different speeds (the allowance of https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
 */
export function leaseDeadline(sent: number, ttl: number): number {
  return sent + ttl - (ttl * 0.01 + 2);
}

/** How long to wait before a failed renewal is tried again, milliseconds. */
export function retryDelay(ttl: number): number {
  return Math.min(ttl * 0.05, MAX_RETRY_DELAY);
}
