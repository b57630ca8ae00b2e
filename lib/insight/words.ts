import type { JobFacts } from './facts.js';
import { timesIn } from './times.js';

/** What a sentence is made of. */
export class Words {
  /** The tick in question, as a part of a sentence. */
  readonly theTick: string;
  readonly #show: (time: number) => string;

  constructor(
    readonly facts: JobFacts,
    readonly tick: number | undefined,
  ) {
    this.#show = facts.show ?? timesIn();
    const { kind } = facts.known;
    this.theTick =
      tick === undefined
        ? 'it'
        : `${kind === 'cron' ? 'the tick of' : 'the run that was due at'} ${this.#show(tick)}`;
  }

  /** A time; without its day if that is the day of the tick. */
  time(time: number): string {
    const [day, clock] = this.#show(time).split(' ');
    const isThatDay = this.tick !== undefined && this.#show(this.tick).startsWith(`${day} `);
    return clock !== undefined && isThatDay ? clock : this.#show(time);
  }

  /** A time with its date. */
  fullTime = (time: number): string => this.#show(time);
}

export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

export function some(texts: readonly string[], most = 3, separator = ', '): string {
  const rest = texts.length - most;
  const shown = texts.slice(0, most).join(separator);
  return rest > 0 ? `${shown}${separator}and ${rest} more` : shown;
}
