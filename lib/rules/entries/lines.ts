import { newId } from '../../base/shared.js';
import { StoreUnavailableError } from '../../base/errors.js';
import type { Standing } from '../../contract/line.js';
import { readable } from '../../contract/readable.js';
import type { Entry, EntryQuery, LockEntries, NewEntry, SeenEntry } from './entries.js';
import { MOST_IN_LINE } from '../lock/in-line.js';
import { each, Together } from './together.js';

/** The kinds of entries of calls in line: those that only wait, and those that run queued calls when their turn comes. */
const [WAITS, DRAINS] = ['wait', 'drain'];

/** What the entry of a call in line says. */
type CallBody = Pick<Standing, 'token' | 'process'>;

/** A call in line, as it was read. */
type Read = Standing & Pick<SeenEntry, 'version'>;

/** The calls in line, an entry each. */
export class Lines {
  #isOpen = false;
  #opening: Promise<void> | undefined;
  readonly #entering = new Together<NewEntry, boolean>(
    Infinity,
    each((entries) => this.entries.put(entries)),
  );

  constructor(private readonly entries: LockEntries) {}

  /** Reads the line of a lock: its first calls. There may be no place for entries yet. */
  async read(lock: string): Promise<readonly Standing[]> {
    if (!this.#isOpen) await (this.#opening ??= this.#open().finally(() => (this.#opening = undefined)));
    return this.shown(lock);
  }

  async #open(): Promise<void> {
    const problem = await this.entries.init?.();
    const refused = { outcome: 'not-applied', refused: true } as const;
    if (problem !== undefined)
      throw new StoreUnavailableError(`No call can wait in line. ${problem}`, refused);
    this.#isOpen = true;
  }

  /** The line of a lock for people: nothing is made for it. */
  async shown(lock: string): Promise<readonly Standing[]> {
    return callsIn((await this.entries.list(lineOf(lock))).entries);
  }

  /** A call stands in line. Those that come in one moment share a write. @param now of the database, as the rule was told */
  async enter(lock: string, call: Standing, now: number): Promise<void> {
    await this.#entering.ask(entryOfCall(lock, call, now));
  }

  async leave(lock: string, calls: readonly Standing[]): Promise<void> {
    if (calls.length > 0) await this.entries.drop(calls.map((call) => seenCall(lock, call)));
  }
}

const idOf = (token: string): string => JSON.stringify([WAITS, token]);

/** Finds the line of a lock. */
export const lineOf = (lock: string): EntryQuery => ({ lock, kinds: [WAITS, DRAINS], limit: MOST_IN_LINE });

/** @param now of the database */
export function entryOfCall(
  lock: string,
  { token, process, place, until, drains }: Standing,
  now: number,
): NewEntry {
  return {
    lock,
    id: idOf(token),
    kind: drains === true ? DRAINS : WAITS,
    version: newId(),
    over: 'any',
    place,
    keep: Math.max(1, until - now),
    body: JSON.stringify({ token, process } satisfies CallBody),
  };
}

/** The entry of a call that was read. */
export const seenCall = (lock: string, call: Standing): SeenEntry => ({
  lock,
  id: idOf(call.token),
  version: (call as Read).version,
});

/** The calls that entries stand for. */
export const callsIn = (entries: readonly Entry[]): Standing[] =>
  entries.flatMap((entry) => callOf(entry) ?? []);

function callOf({ version, place, until, kind, body }: Entry): Read | undefined {
  const kept = readable(body, isKept);
  return kept && { ...kept, version, place, until, ...(kind === DRAINS && { drains: true }) };
}

function isKept(value: unknown): value is CallBody {
  const { token, process } = (value ?? {}) as Partial<CallBody>;
  return typeof token === 'string' && typeof process === 'string';
}

/** When calls come to this process, in microseconds: later ones have greater numbers, also within a unit of the database's clock that was set back. */
export class Moments {
  #newest = 0;

  /** @param now by the database's clock, ms */
  at(now: number): number {
    this.#newest = Math.max(this.#newest + 1, Math.trunc(now * 1_000));
    return this.#newest;
  }
}
