import { type Clock, nextTurn, noLongerThan } from '../../base/clock.js';
import { given } from '../../base/shared.js';
import { asClause, withoutSql } from '../../base/wording.js';
import { isRefusal } from '../../insight/read.js';
import type { ControlSwitches } from '../../insight/control/control.js';
import type { Insight } from '../../insight/insight.js';
import type { Age } from './data/verdict.js';

/** What a board needs of the application, or of the shell. */
export interface BoardSource {
  /** Insight into the store. */
  insight(): Promise<Insight>;
  readonly clock: Clock;
  /** The name of the store for people, without credentials. */
  readonly label: () => string;
  readonly traceUrl: string | undefined;
  /** Absent: the page only reads. */
  readonly control?: ControlSwitches | undefined;
}

/** For how long an answer serves all who ask the same, ms. */
export const SHARED = 2_000;
/** How many different things are made within {@link SHARED}, and how many at the same time, whoever asks. */
const MOST_MADE = 20;
/** Up to this age an answer counts as new, ms: nobody waits long for the next one, which may take a while for a large fleet. */
const NEW = 10_000;
/** How long one waits for a newer answer if there is a new one, an old one, or none, ms. */
const WAITS = { new: 100, old: 1_500, none: 10_000 };

/** How many answers are kept, and up to what age they serve while too much is asked for, ms. */
const MOST_KEPT = 100;
const OLDEST = 60_000;

/** What there is for whoever asks. */
export interface Kept<T> extends Age {
  /** Absent: there is none. */
  readonly value?: T;
}

const BUSY = 'Too many pages are asked for at this moment. Ask again in 2 s.';

interface Entry {
  value?: unknown;
  /** When the making of the value began, and when one was tried last, monotonic. */
  madeAt: number;
  triedAt: number;
  failure?: string;
  isAway?: true;
  making?: Promise<void>;
}

/** The one cache of the page, and its queue: for pages, for questions, and for the look at the store that they share. */
export class Shared {
  readonly #kept = new Map<string, Entry>();
  /** What was begun within {@link SHARED}, or is still being made. */
  #begun: Entry[] = [];
  /** When a switch was used last, monotonic. */
  #changedAt = -Infinity;
  #line: Promise<unknown> = Promise.resolve();

  constructor(private readonly clock: Clock) {}

  /** @param limit how long to wait if there is none, of what is made for something else that was asked for, and does not count by itself */
  async ask<T>(key: string, make: () => Promise<T>, limit?: number): Promise<Kept<T>> {
    const entry = this.#entry(key);
    const renew = (): Promise<void> | undefined => this.#renew(entry, make, limit !== undefined);
    // What there is may be from before a change.
    const isBehind = entry.madeAt <= this.#changedAt;
    const making = isBehind ? renew()?.then(renew) : renew();
    const isMissed = making === undefined && this.#isDue(entry);
    if (making !== undefined) {
      const old = isBehind || this.#age(entry) >= NEW ? WAITS.old : WAITS.new;
      const wait = entry.value === undefined ? (limit ?? WAITS.none) : old;
      await noLongerThan(wait, making, this.clock, { keepAlive: true });
    }
    const isTooOld = entry.value === undefined || this.#age(entry) >= OLDEST;
    return isMissed && isTooOld ? { age: 0, failure: BUSY } : this.#keptOf<T>(entry);
  }

  #keptOf<T>(entry: Entry): Kept<T> {
    const value = entry.value as T | undefined;
    const age = value === undefined ? 0 : this.#age(entry);
    const isSlow = entry.making !== undefined && (value === undefined || age >= NEW);
    const failure = entry.failure ?? (isSlow ? 'no answer yet.' : undefined);
    return { age, ...(value !== undefined && { value }), ...given({ failure, isAway: entry.isAway }) };
  }

  /** Call this after a switch was used: the next answers are made from then on. */
  expire(): void {
    this.#changedAt = this.clock.monotonic();
    this.#begun = this.#begun.filter(({ making }) => making !== undefined);
  }

  /** Does work that takes the processor, one piece after another: in between, other work of the process can run. */
  inLine<T>(work: () => T | Promise<T>): Promise<T> {
    const done = this.#line.then(nextTurn).then(work);
    this.#line = done.catch(() => undefined);
    return done;
  }

  #age({ madeAt }: Entry): number {
    return this.clock.monotonic() - madeAt;
  }

  #entry(key: string): Entry {
    const entry = this.#kept.get(key) ?? { madeAt: -Infinity, triedAt: -Infinity };
    this.#kept.delete(key);
    this.#kept.set(key, entry);
    const [oldest = key] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT) this.#kept.delete(oldest);
    return entry;
  }

  #isDue({ triedAt }: Entry): boolean {
    return this.clock.monotonic() - triedAt >= SHARED || triedAt <= this.#changedAt;
  }

  #renew(entry: Entry, make: () => Promise<unknown>, isPart: boolean): Promise<void> | undefined {
    if (entry.making !== undefined || !this.#isDue(entry)) return entry.making;
    const now = this.clock.monotonic();
    if (!isPart) {
      this.#begun = this.#begun.filter((one) => one.making !== undefined || now - one.triedAt < SHARED);
      if (this.#begun.length >= MOST_MADE) return undefined;
      this.#begun.push(entry);
    }
    entry.triedAt = now;
    return (entry.making = this.#make(entry, make, now).finally(() => delete entry.making));
  }

  async #make(entry: Entry, make: () => Promise<unknown>, now: number): Promise<void> {
    try {
      entry.value = await make();
      entry.madeAt = now;
      delete entry.failure;
      delete entry.isAway;
    } catch (error) {
      entry.failure = failureText(error);
      if (isRefusal(error)) delete entry.isAway;
      else entry.isAway = true;
    }
  }
}

/** An error for people: one sentence, without credentials. */
export function failureText(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error);
  return `${asClause(withoutSql(message))}.`;
}
