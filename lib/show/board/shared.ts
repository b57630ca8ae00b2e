import { type Clock, nextTurn, noLongerThan } from '../../base/clock.js';
import { given } from '../../base/shared.js';
import { asClause, withoutSql } from '../../base/wording.js';
import { isRefusal } from '../../insight/read.js';

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
export interface Kept<T> {
  /** Absent: there is none yet. */
  readonly value?: T;
  /** How old the value is, ms. */
  readonly age: number;
  /** Why there is no newer value. Absent: it is new enough. */
  readonly failure?: string;
  /** The store does not answer at all: it neither refuses this, nor is only slow. */
  readonly isAway?: true;
  /** Too much is asked for at this moment. */
  readonly isBusy?: true;
}

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
  /** When something was made, within {@link SHARED}; and how much is being made. */
  #begun: number[] = [];
  #making = 0;
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
    const kept = this.#keptOf<T>(entry);
    return isMissed && (kept.value === undefined || kept.age >= OLDEST) ? { age: 0, isBusy: true } : kept;
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
    this.#begun = [];
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
      this.#begun = this.#begun.filter((time) => now - time < SHARED);
      if (this.#begun.length >= MOST_MADE || this.#making >= MOST_MADE) return undefined;
      this.#begun.push(now);
      this.#making++;
    }
    entry.triedAt = now;
    const making = this.#make(entry, make, now).finally(() => {
      delete entry.making;
      if (!isPart) this.#making--;
    });
    return (entry.making = making);
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
