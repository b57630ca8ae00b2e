/**
 * When things come to this process, in microseconds: whatever comes later has a greater number, also within a unit of the database's clock,
 * and after that clock was set back. So calls in line and queued calls of a process keep their order.
 */
export class Moments {
  #newest = 0;

  /** @param now by the database's clock, ms */
  at(now: number): number {
    this.#newest = Math.max(this.#newest + 1, Math.trunc(now * 1_000));
    return this.#newest;
  }
}
