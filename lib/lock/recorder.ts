import type { HistoryStore, Interruption, Retention, RunRecord } from '../contract/history-store.js';
import type { ReleaseOutcome, Writable } from '../contract/lock-store.js';
import { given } from '../base/shared.js';
import { asClause } from '../base/wording.js';
import type { Lease } from './lease.js';

/** How a run ended. */
export interface EndOfRun {
  readonly outcome: ReleaseOutcome;
  /** Milliseconds. */
  readonly duration: number;
  /** Has the error of the job, if it failed. */
  readonly ended: object;
  /** How many fires of the job came meanwhile. */
  readonly skippedTicks: number;
  /** In how many milliseconds its tick may be tried again; `undefined`: it may not. */
  readonly retryIn: number | undefined;
  /** For `hollow`: what was missing in its report. */
  readonly shortfall: string | undefined;
}

interface RecorderOptions {
  readonly kept: Retention;
  /** What is kept of the error of a failed run. */
  readonly error: 'none' | 'type' | 'message' | ((error: unknown) => string);
}

/** How many characters of an error are kept. */
const MAX_ERROR = 200;

/** Makes what the store remembers of runs. */
export class Recorder {
  constructor(
    private readonly history: HistoryStore,
    private readonly options: RecorderOptions,
  ) {}

  /** The record of a run that has ended; `undefined` if the store is not to remember it. */
  record(lease: Lease, { duration, ended, shortfall }: EndOfRun): RunRecord | undefined {
    if (!lease.isRemembered) return undefined;
    // Field by field, as each run takes this path.
    const record: Writable<RunRecord> = { kept: this.options.kept, duration };
    const error = 'error' in ended ? this.#textOf(ended.error) : '';
    if (error !== '') record.error = error;
    if (lease.traceId !== undefined) record.traceId = lease.traceId;
    if (lease.report !== undefined) record.report = lease.report;
    if (shortfall !== undefined) record.shortfall = shortfall;
    const { trigger, by } = lease.cause.started ?? {};
    if (trigger !== undefined) record.trigger = trigger;
    if (by !== undefined) record.by = by;
    return record;
  }

  /** Tells the store that the lease before a granted one was interrupted, before its job begins. Nothing waits for the answer. */
  noteInterruption(name: string, run: Omit<Interruption, 'name' | 'kept'>): void {
    const { kept } = this.options;
    // A store that a user has written may throw at once.
    void (async () => this.history.interrupted({ name, kept, ...run }))().catch(() => undefined);
  }

  /** Records that a run begins that a person has asked for. The record of its end replaces this one. */
  noteStart(lease: Lease): void {
    if (!lease.isRemembered) return;
    const { name, fencingToken, holder, job, tick, attempt } = lease.ref;
    const facts = { fencingToken, holder, ...lease.cause.started };
    this.noteInterruption(name, { ...facts, ...given({ job, tick, attempt }) });
  }

  #textOf(error: unknown): string {
    try {
      return shorten(this.#describe(error));
    } catch {
      // A function of the user, or a getter of the error, has failed.
      return '';
    }
  }

  #describe(error: unknown): string {
    const { error: how } = this.options;
    if (typeof how === 'function') return String(how(error));
    if (how === 'none') return '';
    const isError = error instanceof Error;
    const type = isError ? error.name : typeof error;
    if (how === 'type') return type;
    const message = asClause(isError ? error.message : String(error));
    return message === '' ? type : `${type}: ${message}`;
  }
}

/** Cuts a text. The result never ends in half a character. */
function shorten(text: string): string {
  const flat = text.replaceAll(/\s+/g, ' ').replaceAll('\u0000', '');
  return flat.length <= MAX_ERROR ? flat : `${flat.slice(0, MAX_ERROR - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
