import { newId } from '../../base/shared.js';
import type { Entry, EntryQuery, LockEntries, NewEntry } from '../../rules/entries/entries.js';
import { check, show } from './assert.js';
import type { LockEntriesContractOptions } from './port-options.js';
import type { Definition } from './port-case.js';
import { HOUR, SHORT } from './port-kit.js';

/** How long a case waits for an end, on the database's clock, before it fails, ms. */
const WAIT_LIMIT = 30_000;

/** A sentence of the contract of `LockEntries`. */
export type EntryCaseDefinition = Definition<EntryKit, 'skewInstanceClock'>;

/** The tools of a case: the database under test, and the usual moves. */
export class EntryKit {
  readonly #run = newId().slice(0, 8);

  constructor(
    readonly entries: LockEntries,
    private readonly others: readonly LockEntries[],
    readonly options: LockEntriesContractOptions,
  ) {}

  /** A lock that no other run of the suite uses. */
  lock(label = 'lock'): string {
    return `entry-${this.#run}-${label}`;
  }

  /** An entry to be written over none. Frozen: a database must not change its arguments. */
  entry(id: string, fields: Partial<NewEntry> = {}): NewEntry {
    return Object.freeze({
      lock: this.lock(),
      id,
      version: 'v1',
      over: [null],
      kind: 'kind',
      keep: HOUR,
      body: '{}',
      ...fields,
    });
  }

  /** Writes one entry. */
  async put(entry: NewEntry): Promise<boolean | undefined> {
    const answers = await this.entries.put([entry]);
    check(answers.length === 1, () => `put of one entry answered ${show(answers)}`);
    return answers[0];
  }

  /** Writes entries that must be written. */
  async puts(...entries: NewEntry[]): Promise<void> {
    for (const entry of entries) {
      const written = await this.put(entry);
      check(
        written === true,
        () => `the entry ${entry.id} should be written, but the answer is ${show(written)}`,
      );
    }
  }

  async list(query: Partial<EntryQuery> = {}): Promise<readonly Entry[]> {
    return (await this.entries.list({ lock: this.lock(), ...query })).entries;
  }

  /** The one entry with this id. */
  async find(id: string, lock = this.lock()): Promise<Entry> {
    const found = await this.list({ lock, ids: [id] });
    const [entry] = found;
    check(
      entry !== undefined && found.length === 1 && entry.id === id && entry.lock === lock,
      () => `list should find the entry ${show(id)}, but found ${show(found)}`,
    );
    return entry;
  }

  /** The ids that a list has. */
  async ids(query: Partial<EntryQuery> = {}): Promise<string> {
    return (await this.list(query)).map(({ id }) => id).join(' ');
  }

  /** A list has these entries, in this order. */
  async lists(expected: string, query: Partial<EntryQuery>, what: string): Promise<void> {
    const found = await this.ids(query);
    check(found === expected, () => `${what} should find "${expected}", but found "${found}"`);
  }

  /** An entry must not be written, and must change nothing. */
  async refused(entry: NewEntry, what: string): Promise<void> {
    const before = show(await this.list({ lock: entry.lock }));
    const written = await this.put(entry);
    check(written === false, () => `${what} should not be written, but the answer is ${show(written)}`);
    const after = show(await this.list({ lock: entry.lock }));
    check(before === after, () => `${what} should change nothing, but ${before} became ${after}`);
  }

  /** Puts many entries at once, by as many instances as there are. Returns those that were written. */
  async atOnce(each: readonly NewEntry[]): Promise<NewEntry[]> {
    const all = [this.entries, ...this.others];
    const answers = await Promise.all(
      each.map((entry, i) => (all[i % all.length] ?? this.entries).put([entry])),
    );
    return each.filter((_, i) => answers[i]?.[0] === true);
  }

  /** Lets time pass until an entry is not found any more. */
  async gone(id: string): Promise<void> {
    for (let waited = 0; waited < WAIT_LIMIT; waited += SHORT) {
      await this.options.wait(SHORT);
      if ((await this.ids({ ids: [id] })) === '') return;
    }
    throw new Error(`the time of the entry ${show(id)} should be over by now`);
  }
}
