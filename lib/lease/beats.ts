import type { Clock, Timer } from '../clock.js';
import { List } from '../store-access/list.js';
import type { Release } from './release.js';

interface Beat {
  readonly list: List<Release>;
  timer: Timer;
}

/**
 * Releases that wait for their next try, one list per length of the pause. So each list is in the order of the
 * due times.
 */
export class Beats {
  readonly #beats = new Map<number, Beat>();

  /** @param due called for each release whose time has come; it has to take the release out of its list */
  constructor(
    private readonly clock: Clock,
    private readonly due: (release: Release) => void,
  ) {}

  add(release: Release, pause: number): void {
    let beat = this.#beats.get(pause);
    if (beat === undefined) {
      beat = { list: new List(), timer: this.#timer(pause, pause) };
      this.#beats.set(pause, beat);
    }
    release.nextAt = this.clock.monotonic() + pause;
    release.list = beat.list;
    beat.list.add(release);
  }

  /** Cancels the timers, and returns all releases that waited. */
  stop(): Release[] {
    const beats = [...this.#beats.values()];
    this.#beats.clear();
    for (const { timer } of beats) timer.cancel();
    return beats.flatMap(({ list }) => list.toArray());
  }

  #timer(pause: number, delay: number): Timer {
    return this.clock.setTimer(() => this.#check(pause), delay);
  }

  #check(pause: number): void {
    const beat = this.#beats.get(pause);
    if (beat === undefined) return;
    const now = this.clock.monotonic();
    for (let { first } = beat.list; first !== undefined && first.nextAt <= now; { first } = beat.list)
      this.due(first);
    const { first: next } = beat.list;
    // A timer may fire a fraction early: releases that were not due yet must not be forgotten.
    if (next !== undefined) beat.timer = this.#timer(pause, next.nextAt - now);
    else this.#beats.delete(pause);
  }
}
