import type {
  Change,
  DocumentsRead,
  LockDocuments,
  Renewal,
  SeenDocument,
} from '../../../lib/contract/port.js';
import { MemoryDocuments } from '../../../lib/stores/memory/memory-documents.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import type { LockDocumentsContractOptions } from '../../../lib/testing/port/port-options.js';

type Names = readonly string[] | 'all';

/** The memory of this process, in which somebody else can lock documents. */
class Place {
  readonly memory: MemoryDocuments;
  /** Documents that somebody else has locked. */
  readonly held = new Set<string>();

  constructor(readonly clock: ManualClock) {
    this.memory = new MemoryDocuments(clock);
  }

  read(names: Names): DocumentsRead {
    return this.memory.look(names);
  }

  set(change: Change): boolean {
    return !this.held.has(change.name) && this.memory.set(change);
  }

  async renewOne(renewal: Renewal): Promise<boolean> {
    if (this.held.has(renewal.name)) return false;
    const [renewed = false] = await this.memory.renew([renewal]);
    return renewed;
  }

  find(name: string) {
    return this.memory.look([name]).documents[0];
  }

  /** What a change of a document would be written over. */
  seen(name: string): SeenDocument | null {
    const found = this.find(name);
    return found === undefined
      ? null
      : { version: found.version, by: found.by, taken: found.until > this.clock.now() };
  }

  /** Writes over whatever there is. */
  force(change: Change): boolean {
    return this.set({ ...change, seen: this.seen(change.name) });
  }
}

/** The rules of a place that are replaced. @param place the correct one */
interface Rules {
  /** By the clock of the instance. */
  readonly ownClock?: true;
  read?(names: Names, place: Place): DocumentsRead;
  set?(change: Change, place: Place): boolean;
  write?(changes: readonly Change[], place: Place): Promise<boolean[]>;
  renewOne?(renewal: Renewal, place: Place): Promise<boolean>;
  renew?(renewals: readonly Renewal[], place: Place): Promise<boolean[]>;
}

function documentsOf(place: Place, rules: Rules): LockDocuments {
  const { read, set, write, renewOne, renew } = rules;
  const setOne = (change: Change) => (set === undefined ? place.set(change) : set(change, place));
  const renewEach = (one: Renewal) => (renewOne === undefined ? place.renewOne(one) : renewOne(one, place));
  return {
    read: async (names) => (read === undefined ? place.read(names) : read(names, place)),
    write: async (changes) => (write === undefined ? changes.map(setOne) : write(changes, place)),
    renew: async (renewals) =>
      renew === undefined ? Promise.all(renewals.map(renewEach)) : renew(renewals, place),
  };
}

/** The contract on a place whose clock, and that of its instance, are moved by hand. */
export function memoryDocuments(
  rules: Rules = {},
  made: (clock: ManualClock) => void = () => undefined,
): LockDocumentsContractOptions {
  let [clock, own] = [new ManualClock(), new ManualClock()];
  let place = new Place(clock);
  return {
    create: () => {
      [clock, own] = [new ManualClock(), new ManualClock()];
      made(clock);
      place = new Place(rules.ownClock === true ? own : clock);
      return { documents: documentsOf(place, rules) };
    },
    wait: async (ms) => {
      await clock.advance(ms);
      await own.advance(ms);
    },
    skewInstanceClock: (ms) => own.setWallClock(clock.now() + ms),
    takeByStranger: (_documents, name, by, end) => {
      const found = place.find(name);
      if (found !== undefined) place.force({ ...found, seen: null, by, end, begins: true });
    },
    holdDocument: async (_documents, name) => {
      place.held.add(name);
      return async () => void place.held.delete(name);
    },
  };
}

/** A place that breaks one sentence of the contract. */
interface BrokenDocuments {
  readonly caught: string;
  readonly rules: Rules;
  readonly message: string;
}

const broken = (caught: string, rules: Rules, message: string): BrokenDocuments => ({
  caught,
  rules,
  message,
});

const writesHundred = async (changes: readonly Change[], place: Place): Promise<boolean[]> =>
  changes.map((change, i) => i < 100 && place.set(change));

let underWay: readonly string[] = [];

/** For every case of the contract a place that it is to catch. */
export const brokenDocuments: readonly BrokenDocuments[] = [
  broken(
    'rule 1: a lock that nobody has written has no document',
    {
      read: (names, place) => {
        const { now, documents } = place.read(names);
        const none = { version: '', by: '', state: '', until: 0, since: 0 };
        const asked = names === 'all' ? [] : names.map((name) => ({ ...none, name }));
        return { now, documents: documents.length === 0 ? asked : documents };
      },
    },
    "there should be no document, but there is [{'version':'','by':'','state':'','until':0,'since':0,'name':'lock'}]",
  ),
  broken(
    'rule 1: what is read is what was written',
    { set: (change, place) => place.set({ ...change, version: change.version.slice(0, 8) }) },
    "read should find {'version':'a version','by':'host/é/one','state':'{\\'a\\':1}'}, but found {'version':'a versio','by':'host/é/one','state':'{\\'a\\':1}'}",
  ),
  broken(
    'rule 1: a state is kept as the text that it is',
    {
      set: (change, place) => {
        const isJson = change.state.startsWith('{');
        return place.set(isJson ? { ...change, state: JSON.stringify(JSON.parse(change.state)) } : change);
      },
    },
    "the state '{\\'a\\':1, \\'b\\' : [1,2]}' should be kept, but is '{\\'a\\':1,\\'b\\':[1,2]}'",
  ),
  broken(
    'rule 1: every name is a lock of its own',
    {
      read: (names, place) => {
        const asked =
          names === 'all' ? [] : names.flatMap((name) => [[name, place.find(name.toLowerCase())] as const]);
        const documents = asked.flatMap(([name, found]) => (found === undefined ? [] : { ...found, name }));
        return { now: place.clock.now(), documents };
      },
      set: (change, place) => place.set({ ...change, name: change.name.toLowerCase() }),
    },
    'a document that is new should be written, but the answer is false',
  ),
  broken(
    'rule 1: a read answers the requested names that exist, each once, and no others',
    {
      read: (names, place) => {
        const { now, documents } = place.read(names);
        return { now, documents: [...documents, ...documents.slice(1)] };
      },
    },
    "read should find a and b, but found ['a','a','b']",
  ),
  broken(
    'rule 1: all documents can be read',
    {
      read: (names, place) => {
        const { now, documents } = place.read(names);
        return { now, documents: names === 'all' ? documents.slice(0, 100) : documents };
      },
    },
    'read of all should find 300 documents, each once, but found 100',
  ),
  broken(
    'rule 2: a lock is taken for as long as a change says, from when it is written',
    {
      set: (change, place) => {
        const left = Math.max(0, (place.find(change.name)?.until ?? 0) - place.clock.now());
        return place.set(change.end === undefined ? change : { ...change, end: change.end + left });
      },
    },
    'a change: it should be taken for at most 7200000 ms, and more than half of that, but it is for 10800000',
  ),
  broken(
    'rule 2: a lock is free when that time has passed',
    { set: (change, place) => place.set((change.end ?? 0) > 0 ? { ...change, end: 1e15 } : change) },
    "the document of 'lock' should have ended by now",
  ),
  broken(
    'rule 2: an end in the past frees a lock at once, and a change without an end leaves it',
    { set: (change, place) => place.set({ end: 0, ...change }) },
    'its end should be 1767229200000 still, but is 1767225600000',
  ),
  broken(
    'rule 2: the beginning of a document is when a change with `begins` was written, and no other change moves it',
    { set: (change, place) => place.set({ ...change, begins: true }) },
    'it should have begun at 1767225600000, but began at 1767225600030',
  ),
  broken(
    'rule 2: clocks of instances do not count: a read answers with the times of the database',
    { ownClock: true },
    "the database's time should be about 1767225600000, but is 1767189600000, and it began at 1767189600000",
  ),
  broken(
    'rule 3: what another program writes is seen by its `by`, and leaves version and state',
    {
      read: (names, place) => {
        const { now, documents } = place.read(names);
        const blank = { version: '', state: '' };
        return {
          now,
          documents: documents.map((each) => (each.by === 'stranger' ? { ...each, ...blank } : each)),
        };
      },
    },
    "read should find the stranger, our version and our state, but found {'name':'lock','version':'','by':'stranger','until':1767229200030,'since':1767225600030,'state':''}",
  ),
  broken(
    'rule 3: a new document is not written where there is one',
    { set: (change, place) => (change.seen === null ? place.force(change) : place.set(change)) },
    'a second new document should not be written, but the answer is true',
  ),
  broken(
    'rule 3: a change of a document that does not exist is not written',
    { set: (change, place) => (place.seen(change.name) === null ? place.force(change) : place.set(change)) },
    "nothing should be written, but the answer is true, and there is [{'name':'lock','version':'<id>','by':'host/one','until':1767229200000,'since':1767225600000,'state':'{}'}]",
  ),
  broken(
    'rule 3: a change is written over the version that was seen, and over no other',
    {
      set: (change, place) => {
        const { version } = place.seen(change.name) ?? {};
        return place.set(
          change.seen && version !== undefined ? { ...change, seen: { ...change.seen, version } } : change,
        );
      },
    },
    'a change over an older version should not be written, but the answer is true',
  ),
  broken(
    'rule 3: a change is written over the `by` that was seen, exactly, and over no other',
    {
      set: (change, place) => {
        const { by = '' } = place.seen(change.name) ?? {};
        const isSame = change.seen?.by.toLowerCase() === by.toLowerCase();
        return place.set(change.seen && isSame ? { ...change, seen: { ...change.seen, by } } : change);
      },
    },
    "a change over 'Host/one' should not be written, but the answer is true",
  ),
  broken(
    "rule 3: whether a lock is taken is judged by the database's clock when a change is written",
    {
      set: (change, place) => {
        const { taken } = place.seen(change.name) ?? {};
        return place.set(
          change.seen && taken !== undefined ? { ...change, seen: { ...change.seen, taken } } : change,
        );
      },
    },
    'a change of a free lock should not be written, but the answer is true',
  ),
  broken(
    'rule 3: of many new documents for one lock at once, exactly one is written',
    {
      write: async (changes, place) => {
        const isNew = changes.length === 1 && changes[0]?.seen === null;
        if (!isNew) return changes.map((change) => place.set(change));
        const isThere = changes.some(({ name }) => place.find(name) !== undefined);
        await Promise.resolve();
        return changes.map((change) => !isThere && place.force(change));
      },
    },
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 3: of many changes over one document at once, exactly one is written',
    {
      write: async (changes, place) => {
        const [change] = changes;
        if (changes.length > 1 || !change?.seen) return changes.map((each) => place.set(each));
        const isSame = change.seen.version === place.seen(change.name)?.version;
        await Promise.resolve();
        return [isSame && place.force(change)];
      },
    },
    'one of 40 should be written, and be there, but 40 were',
  ),
  broken(
    'rule 4: each change of a batch is judged alone, and answered by its index',
    {
      write: async (changes, place) => {
        const fits = changes.every(({ name, seen }) => seen?.version === place.seen(name)?.version);
        return changes.map((change) => fits && place.set(change));
      },
    },
    'the answers should be true and false in turn, but are [false,false,false,false,false,false]',
  ),
  broken(
    'rule 4: batches of any size are written: none, or hundreds',
    { write: writesHundred },
    '300 should be written, but 100 were',
  ),
  broken(
    'rule 4: changes of the same locks at once, in another order, stop nobody',
    {
      write: async (changes, place) => {
        const names = changes.map(({ name }) => name);
        if (names.length > 1 && underWay.at(-1) === names[0])
          throw new Error('Deadlock found when trying to get lock');
        underWay = names;
        await Promise.resolve();
        return changes.map((change) => place.set(change));
      },
    },
    'Deadlock found when trying to get lock',
  ),
  broken(
    'rule 4: a renewal moves the end of a document, and nothing else',
    {
      renewOne: async (renewal, place) => {
        const renewed = await place.renewOne(renewal);
        const found = place.find(renewal.name);
        return renewed && found !== undefined && place.force({ ...found, seen: null, version: 'renewed' });
      },
    },
    "version, state and beginning should stay, but {'name':'lock','version':'<id>','by':'host/one','until':1767229200000,'since':1767225600000,'state':'{\\'a\\':1}'} became {'version':'renewed','state':'{\\'a\\':1}','since':1767225600000}",
  ),
  broken(
    'rule 4: a document of another `by` is not renewed',
    {
      renewOne: (renewal, place) =>
        place.renewOne({ ...renewal, by: place.seen(renewal.name)?.by ?? renewal.by }),
    },
    "it should not be renewed by 'host/two', but the answer is true",
  ),
  broken(
    'rule 4: a document that has ended, or does not exist, is not renewed',
    {
      renewOne: async ({ name, by, ttl: end }, place) => {
        const found = place.find(name);
        return found?.by === by && place.force({ ...found, seen: null, end });
      },
    },
    'neither should be renewed, but the answer is [true,false]',
  ),
  broken(
    'rule 4: each renewal of a batch is judged alone, and answered by its index; there may be a thousand',
    {
      renew: async (renewals, place) => {
        const renewed = await Promise.all(renewals.map((renewal) => place.renewOne(renewal)));
        return renewed.sort((a, b) => Number(b) - Number(a));
      },
    },
    'renewal 3 of 1000 should answer false, but answered true',
  ),
  broken(
    'rule 5: a document that somebody else has locked stops neither a write nor a renewal',
    {
      renew: async (renewals, place) =>
        renewals.some(({ name }) => place.held.has(name))
          ? renewals.map(() => false)
          : Promise.all(renewals.map((renewal) => place.renewOne(renewal))),
    },
    'the other one should be renewed, but got [false,false]',
  ),
];
