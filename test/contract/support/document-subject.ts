import type { LockStoreContractOptions } from '../cases/options.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { DocumentLockStore } from '../../../lib/rules/documents/document-lock-store.js';
import type { LockEntries } from '../../../lib/rules/entries/entries.js';
import type { LockDocuments } from '../../../lib/contract/port.js';
import { MemoryDocuments } from '../../../lib/stores/memory/memory-documents.js';
import { MemoryEntries } from '../../../lib/stores/memory/memory-entries.js';
import { type Clock, systemClock } from '../../../lib/base/clock.js';

const LONGER_THAN_ANY_LEASE = 31 * 86_400_000;

/** A place in memory whose calls take effect some turns later, and are answered some turns after that: as of a server. */
export class FarDocuments implements LockDocuments {
  place: MemoryDocuments;
  /** How many calls were made. */
  calls = 0;

  constructor(
    private readonly clock: Clock,
    private readonly turns: () => number = () => 1,
  ) {
    this.place = new MemoryDocuments(clock);
  }

  read: LockDocuments['read'] = (names) => this.#later(() => this.place.read(names));
  write: LockDocuments['write'] = (changes) => this.#later(() => this.place.write(changes));
  renew: LockDocuments['renew'] = (renewals) => this.#later(() => this.place.renew(renewals));

  forgetAll(): void {
    this.place = new MemoryDocuments(this.clock);
  }

  async #later<T>(call: () => Promise<T>): Promise<T> {
    this.calls += 1;
    await this.#pass();
    const answer = await call();
    await this.#pass();
    return answer;
  }

  async #pass(): Promise<void> {
    for (let turn = this.turns(); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Entries in memory, as of a server. */
class FarEntries implements LockEntries {
  constructor(private readonly place: MemoryEntries) {}

  put: LockEntries['put'] = (entries) => this.#later(() => this.place.put(entries));
  list: LockEntries['list'] = (query) => this.#later(() => this.place.list(query));
  sums: LockEntries['sums'] = (query) => this.#later(() => this.place.sums(query));
  drop: LockEntries['drop'] = (seen) => this.#later(() => this.place.drop(seen));

  async #later<T>(call: () => Promise<T>): Promise<T> {
    await new Promise((resolve) => setImmediate(resolve));
    const answer = await call();
    await new Promise((resolve) => setImmediate(resolve));
    return answer;
  }
}

/** Three instances on one such place, with clocks of their own. */
export function farStores(
  clock: ManualClock,
  documents = new FarDocuments(clock),
  remembers = true,
): { store: DocumentLockStore; others: DocumentLockStore[] } {
  // The time of the place stands still between the steps of a case, and theirs with it: what a busy machine takes is none of it.
  const own = { ...systemClock, monotonic: clock.monotonic.bind(clock) };
  const entries = new FarEntries(new MemoryEntries(clock));
  const [store, ...others] = [1, 2, 3].map(
    () => new DocumentLockStore(documents, { clock: own, ...(remembers && { entries }) }),
  );
  if (store === undefined) throw new Error('No store was made');
  return { store, others };
}

/**
 * The contract on a place that takes time to answer: instances with clocks of their own gather and guess.
 *
 * @param remembers whether the place has entries, too
 */
export function documentContract(remembers = false): LockStoreContractOptions {
  let clock = new ManualClock();
  let documents = new FarDocuments(clock);
  return {
    create: () => {
      clock = new ManualClock();
      documents = new FarDocuments(clock);
      return farStores(clock, documents, remembers);
    },
    inspects: true,
    ...(remembers && { lines: true, history: true, queuedCalls: true }),
    setClockBack: (_name, ms) => clock.setWallClock(clock.now() - ms),
    wait: (ms) => clock.advance(ms),
    forget: () => clock.advance(LONGER_THAN_ANY_LEASE),
    forgetAll: () => documents.forgetAll(),
    breakLock: (name) => {
      const found = documents.place.look([name]).documents[0];
      if (found === undefined) throw new Error(`There is no ${name}`);
      const { version, by, until } = found;
      documents.place.set({
        name,
        seen: { version, by, taken: until > clock.now() },
        version: 'another',
        by: 'another',
        state: '{"not": "ours"}',
      });
    },
  };
}
