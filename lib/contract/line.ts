import { newId } from '../base/shared.js';
import type { InLine } from './lock-info.js';
import type { AcquireRefusal, AcquireRequest } from './lock-store.js';
import { CALLED, STEP_OF_PRIORITY } from './allowances.js';

/** A call in line. */
export interface Standing {
  readonly token: string;
  readonly process: string;
  /** Orders the line: smaller comes first. */
  readonly place: number;
  /** When its wait is over. */
  readonly until: number;
  /** Whether it runs queued calls when its turn comes. */
  readonly drains?: boolean;
}

/** The call that was called last. */
export interface Called {
  readonly token: string;
  /** Until when the lock is reserved for it. */
  readonly until: number;
}

/** A call with `wait`. */
export type WaitingRequest = AcquireRequest & Required<Pick<AcquireRequest, 'wait'>>;

export const isWaiting = (request: AcquireRequest): request is WaitingRequest => request.wait !== undefined;

/** The calls that wait for one lock, by the rules 10.1 to 14.2 of the contract. Knows no clock: times are those of the store, ms. */
export class Line {
  /** In the order of their places. */
  #standing: Standing[];
  #called: Called | undefined;
  /** Processes that did not come when they were called. */
  readonly #absent: Set<string>;

  constructor(standing: readonly Standing[] = [], called?: Called, absent: readonly string[] = []) {
    this.#standing = [...standing].toSorted(byPlace);
    this.#called = called;
    this.#absent = new Set(absent);
  }

  get standing(): readonly Standing[] {
    return this.#standing;
  }

  get called(): Called | undefined {
    return this.#called;
  }

  get absent(): readonly string[] {
    return [...this.#absent];
  }

  /** Whether a process did not come when it was called. */
  isAbsent(process: string): boolean {
    return this.#absent.has(process);
  }

  /** Where a call stands; `undefined` if it is not in line. */
  find(token: string): Required<AcquireRefusal>['waiting'] | undefined {
    const ahead = this.#standing.findIndex((one) => one.token === token);
    const place = this.#standing[ahead]?.place;
    return place === undefined ? undefined : { place, ahead };
  }

  /** A call asks: its process is alive, and the call stands in line from now on. */
  enter(one: Standing): void {
    this.#absent.delete(one.process);
    this.#standing = [...this.#standing.filter(({ token }) => token !== one.token), one].toSorted(byPlace);
  }

  /** Takes a call out of line. */
  leave(token: string): void {
    this.#standing = this.#standing.filter((one) => one.token !== token);
    if (this.#called?.token === token) this.#called = undefined;
  }

  /**
   * The lock is free: calls the first in line, unless one is called already.
   *
   * @param asks the token of the call that asks now: if it was called, it is late, but not gone
   * @returns the call that is called, which may have come since the line was read. `undefined`: the lock is free for all
   */
  call(now: number, asks?: string): (Called & Partial<Standing>) | undefined {
    const called = this.#standing.find(({ token }) => token === this.#called?.token);
    if (this.#called !== undefined && this.#called.until > now) return { ...called, ...this.#called };
    if (called !== undefined && called.token !== asks) {
      this.#absent.add(called.process);
      this.#standing = this.#standing.filter((one) => one !== called);
    }
    const first = this.#first(now);
    this.#called = first && { token: first.token, until: now + CALLED };
    return first && { ...first, until: now + CALLED };
  }

  /** The first call that may come. A call that is passed over leaves the line, and comes back to its place when it asks. */
  #first(now: number): Standing | undefined {
    this.#standing = this.#standing.filter(({ until }) => until > now);
    const first = this.#standing.findIndex(({ process }) => !this.#absent.has(process));
    this.#standing.splice(0, first < 0 ? this.#standing.length : first);
    return this.#standing[0];
  }
}

/** Calls of several processes may have the same place. */
const byPlace = (a: Standing, b: Standing): number => a.place - b.place || (a.token < b.token ? -1 : 1);

/** The place of a call that comes at this time of the store, microseconds. */
export const placeAt = (time: number, priority: number): number => time - priority * STEP_OF_PRIORITY;

/** Names a process in lines: a name of its own, and the holder text of its calls, for people. */
export const processOf = (holder: string): string =>
  `${newId()}:${encodeURIComponent(holder.replaceAll(/\p{Surrogate}/gu, '\uFFFD'))}`;

/** So many calls of a line are shown. */
export const MOST_SHOWN = 100;

/** A line as people are shown it. @param standing in their order @param now by the store's clock, ms */
export function shownLine(
  standing: readonly Pick<Standing, 'place' | 'process'>[],
  now: number,
): { readonly line?: readonly InLine[] } {
  const known = standing.filter(({ place }) => Number.isFinite(place)).slice(0, MOST_SHOWN);
  if (known.length === 0) return {};
  const line = known.map(({ place, process }) => {
    const priority = Math.round((now * 1_000 - place) / STEP_OF_PRIORITY);
    const since = Math.floor((place + priority * STEP_OF_PRIORITY) / 1_000);
    return { ...holderIn(process), since, priority };
  });
  return { line };
}

function holderIn(process: string): Pick<InLine, 'holder'> {
  const [, text] = /^[\da-f-]{36}:(.+)$/.exec(process) ?? [];
  try {
    return text === undefined ? {} : { holder: decodeURIComponent(text) };
  } catch {
    // Another version may name its processes in another way.
    return {};
  }
}

/** A refusal, with the place of the call in line, if it has one. */
export const placed = (refusal: AcquireRefusal, waiting: AcquireRefusal['waiting']): AcquireRefusal =>
  waiting === undefined ? refusal : { ...refusal, waiting };
