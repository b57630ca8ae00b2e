import type { LockDocuments } from '../../../lib/contract/port.js';
import { type Clock, nextTurn, systemClock } from '../../../lib/base/clock.js';
import { DocumentLockStore } from '../../../lib/rules/documents/document-lock-store.js';
import type { LockEntries } from '../../../lib/rules/entries/entries.js';
import { MemoryDocuments } from '../../../lib/stores/memory/memory-documents.js';
import { MemoryEntries } from '../../../lib/stores/memory/memory-entries.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type {
  LockDocumentsContractOptions,
  LockEntriesContractOptions,
} from '../../../lib/testing/port/port-options.js';
import type { LockStoreContractOptions } from '../cases/options.js';
import { memoryDocuments } from './broken-documents.js';
import { memoryEntries } from './broken-entries.js';

/** How far away the place is, there and back, ms. Its time is the clock's. */
const ROUND_TRIP = 60;
/** Divides half a round trip, so that a call is answered on time. */
const STEP = 10;
const LONGER_THAN_ANY_LEASE = 31 * 86_400_000;

/** Moves a clock as long as a call is under way: a case that awaits an answer moves no time. */
class Moving {
  #underWay = 0;
  #moves = false;

  constructor(readonly clock: ManualClock) {}

  /** A call takes effect half a round trip later, and is answered after the other half. */
  far =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    (...args: Args): Promise<T> =>
      this.during(
        this.pass().then(async () => {
          const answer = await call(...args);
          await this.pass();
          return answer;
        }),
      );

  pass(): Promise<void> {
    return this.during(new Promise((resolve) => void this.clock.setTimer(resolve, ROUND_TRIP / 2)));
  }

  during<T>(answer: Promise<T>): Promise<T> {
    this.#underWay += 1;
    if (!this.#moves) void this.#move();
    return answer.finally(() => (this.#underWay -= 1));
  }

  /** A case that gave up lets nothing go on. */
  stop(): void {
    this.#underWay = -Infinity;
  }

  async #move(): Promise<void> {
    this.#moves = true;
    await nextTurn();
    while (this.#underWay > 0) await this.clock.advance(STEP);
    this.#moves = false;
  }
}

const farDocuments = ({ far }: Moving, place: LockDocuments): LockDocuments => ({
  read: far((names) => place.read(names)),
  write: far((changes) => place.write(changes)),
  renew: far((renewals) => place.renew(renewals)),
});

const farEntries = ({ far }: Moving, place: LockEntries): LockEntries => ({
  put: far((all) => place.put(all)),
  list: far((query) => place.list(query)),
  sums: far((query) => place.sums(query)),
  drop: far((seen) => place.drop(seen)),
});

/** The contract of a place, on one that is far away. */
export function slowDocuments(): LockDocumentsContractOptions {
  let moving = new Moving(new ManualClock());
  const options = memoryDocuments({}, (clock) => (moving = new Moving(clock)));
  return {
    ...options,
    create: async () => {
      const { documents } = await options.create();
      return { documents: farDocuments(moving, documents), close: () => moving.stop() };
    },
  };
}

/** The contract of entries, on a place that is far away. */
export function slowEntries(): LockEntriesContractOptions {
  let moving = new Moving(new ManualClock());
  const options = memoryEntries({}, (clock) => (moving = new Moving(clock)));
  return {
    ...options,
    create: async () => {
      const { entries } = await options.create();
      return { entries: farEntries(moving, entries), close: () => moving.stop() };
    },
  };
}

/** An instance whose database is far away, as are the hints that it sends. */
class SlowStore extends DocumentLockStore {
  constructor(documents: LockDocuments, entries: LockEntries, moving: Moving, clock: Clock) {
    super(farDocuments(moving, documents), { clock, entries: farEntries(moving, entries) });
  }
}

/** What is awaited moves time too: a store may be waiting for a moment of its own, with no call under way. */
function awaited<T extends object>(store: T, moving: Moving): T {
  return new Proxy(store, {
    get(_, key) {
      const value: unknown = Reflect.get(store, key, store);
      if (typeof value === 'object' && value !== null) return awaited(value, moving);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        const answer: unknown = Reflect.apply(value, store, args);
        return answer instanceof Promise ? moving.during(answer) : answer;
      };
    },
  });
}

/** The contract of a store: three instances of one place that is far away. */
export function slowContract(): LockStoreContractOptions {
  let clock = new ManualClock();
  let documents = new MemoryDocuments(clock);
  let forgetAll = (): void => undefined;
  return {
    create: () => {
      clock = new ManualClock();
      documents = new MemoryDocuments(clock);
      const moving = new Moving(clock);
      const entries = new MemoryEntries(clock);
      const current: LockDocuments = {
        read: (names) => documents.read(names),
        write: (changes) => documents.write(changes),
        renew: (renewals) => documents.renew(renewals),
      };
      forgetAll = () => void (documents = new MemoryDocuments(clock));
      // The wall clock of an instance is none of the place's.
      const own: Clock = {
        ...systemClock,
        monotonic: clock.monotonic.bind(clock),
        setTimer: clock.setTimer.bind(clock),
      };
      const make = (): SlowStore => awaited(new SlowStore(current, entries, moving, own), moving);
      return { store: make(), others: [make(), make()], close: () => moving.stop() };
    },
    inspects: true,
    lines: true,
    history: true,
    queuedCalls: true,
    far: true,
    setClockBack: (_name, ms) => clock.setWallClock(clock.now() - ms),
    wait: (ms) => clock.advance(ms),
    forget: () => clock.advance(LONGER_THAN_ANY_LEASE),
    forgetAll: () => forgetAll(),
    breakLock: (name) => {
      const found = documents.look([name]).documents[0];
      if (found === undefined) throw new Error(`There is no ${name}`);
      const { version, by, until } = found;
      const seen = { version, by, taken: until > clock.now() };
      documents.set({ name, seen, version: 'another', by: 'another', state: '{"not": "ours"}' });
    },
  };
}
