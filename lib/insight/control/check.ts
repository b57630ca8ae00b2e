import { type Duration, formatDuration, parseDuration } from '../../base/duration.js';
import { SchedulerLockConfigError } from '../../base/errors.js';
import { displayName, nameProblem } from '../../base/lock-name.js';
import { show } from '../../base/wording.js';
import type { By, Target } from './types.js';

const DAY = 86_400_000;
/** How long a pause lasts at most, ms: as long as any lease may. */
export const MAX_PAUSE = 30 * DAY;
/** How long a pause lasts by default, ms. */
export const USUAL_PAUSE = 7 * DAY;
/** The longest text that is kept. */
const LENGTH = 200;

/** What a person has given to a switch. */
export class Given {
  readonly #problems: string[] = [];

  /** @param isWhy whether the reason is needed */
  constructor(
    private readonly action: string,
    { actor, reason }: Partial<By>,
    isWhy: boolean,
  ) {
    if (!isText(actor)) this.#add(`actor: ${show(actor)} does not say who does it. Give ${TEXT}`);
    if (reason === undefined && !isWhy) return;
    if (!isText(reason)) this.#add(`reason: ${show(reason)} does not say why. Give ${TEXT}`);
  }

  name(what: string, name: unknown): void {
    const problem = nameProblem(name);
    if (problem !== undefined) this.#add(`${what}: ${displayName(name)} is no name: ${problem}`);
  }

  target({ lock, job }: Target): void {
    this.name(lock === undefined ? 'job' : 'lock', lock ?? job);
  }

  fencingToken(token: unknown): void {
    if (Number.isSafeInteger(token) && (token as number) > 0) return;
    this.#add(`fencingToken: ${show(token)} is none. Give that of the lease, as \`locks\` shows it`);
  }

  key(key: unknown): void {
    if (typeof key === 'string' && key.length <= LENGTH && !key.includes('\0')) return;
    this.#add(`key: ${show(key)} is none. Give a text of at most ${LENGTH} characters`);
  }

  json(what: string, value: unknown, most: number): void {
    let bytes = Infinity;
    try {
      if (Array.isArray(value)) bytes = Buffer.byteLength(JSON.stringify(value));
    } catch {
      // Too large, or no JSON value.
    }
    if (bytes > most)
      this.#add(`${what}: ${show(value)} is no array that takes at most ${most} bytes as JSON`);
  }

  /** Whole milliseconds. */
  duration(
    name: string,
    duration: Duration | undefined,
    { usual, most }: { usual: number; most: number },
  ): number {
    if (duration === undefined) return usual;
    const length = parseDuration(duration);
    if (length !== undefined && length <= most) return length;
    this.#add(`${name}: ${show(duration)} is no duration up to ${formatDuration(most)}, such as '2h'`);
    return usual;
  }

  /** @throws SchedulerLockConfigError with all problems */
  done(): void {
    if (this.#problems.length > 0)
      throw new SchedulerLockConfigError(this.#problems.map((problem) => `${this.action}: ${problem}.`));
  }

  #add(problem: string): void {
    this.#problems.push(problem);
  }
}

const TEXT = `a text of 1 to ${LENGTH} characters`;

/** Whether it comes back from each store as it is, and says something. */
const isText = (value: unknown): boolean =>
  typeof value === 'string' &&
  value.trim() !== '' &&
  value.length <= LENGTH &&
  !/[\p{Cc}\p{Surrogate}]/u.test(value);
