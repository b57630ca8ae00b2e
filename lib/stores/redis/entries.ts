import { systemClock } from '../../base/clock.js';
import type {
  EntriesRead,
  Entry,
  EntryQuery,
  EntrySum,
  LockEntries,
  NewEntry,
  SeenEntry,
  SumQuery,
} from '../../rules/entries/entries.js';
import { FIND, LIST, SUM, WALK } from './entry-looks.js';
import { DROP, PROBE_ENTRIES, PUT } from './entry-scripts.js';
import { LeaseCalls, type LeaseCommands } from './lease-commands.js';
import { unusedKeys } from './probe.js';
import { QueuedIndex } from './queued-index.js';
import { tooLate } from './readiness.js';
import { askScript } from './redis-client.js';
import type { RedisConnection } from './redis-connection.js';

/** Neither has a word, which begins with a quotation mark. */
const [NONE, ANY] = ['-', '*'];

/** What FIND and LIST answer: see there. */
type Found = [now: string, seen: string, ...idsAndStored: string[]];

/** What SUM answers: see there. */
type Sums = [answer: number, ...kindsAndCounts: string[]];

interface SumsOfLock {
  /** Whether the lock has any of these kinds, for whichever jobs. */
  readonly hasAny: boolean;
  readonly sums: readonly EntrySum[];
}

/** Entries of locks in Redis: see entry-scripts.ts. Those for a job can be counted over all locks. */
export class RedisEntries implements LockEntries {
  readonly #index: QueuedIndex;
  readonly #puts: LeaseCalls<number>;
  readonly #drops: LeaseCalls<number>;
  readonly #lists: LeaseCalls<Found>;
  readonly #walks: LeaseCalls<Found>;
  readonly #finds: LeaseCalls<Found>;
  readonly #sums: LeaseCalls<Sums>;

  /**
   * @param index key of the locks that may have entries for jobs
   * @param rights the command that gives the user all rights that are needed
   */
  constructor(
    private readonly connection: RedisConnection,
    private readonly commands: LeaseCommands,
    index: string,
    private readonly rights: () => string,
  ) {
    this.#index = new QueuedIndex(connection, index);
    this.#puts = new LeaseCalls(commands, PUT, Number);
    this.#drops = new LeaseCalls(commands, DROP, Number);
    this.#lists = new LeaseCalls(commands, LIST, (reply) => reply as Found);
    this.#walks = new LeaseCalls(commands, WALK, (reply) => reply as Found);
    this.#finds = new LeaseCalls(commands, FIND, (reply) => reply as Found);
    this.#sums = new LeaseCalls(commands, SUM, (reply) => reply as Sums);
  }

  async init(): Promise<string | undefined> {
    const keys = unusedKeys(this.commands);
    if (keys === undefined) return undefined;
    const denied = (await askScript(this.connection, PROBE_ENTRIES, [PUT.keys.of(keys), []])) as string[];
    if (denied.length === 0) return undefined;
    return (
      `The Redis user may not run ${denied.join(', ')}, which queued calls need (onHeld). Give it what it needs ` +
      `(docs/stores/redis.md): ${this.rights()}`
    );
  }

  put(entries: readonly NewEntry[], limit?: number): Promise<boolean[]> {
    return Promise.all(entries.map((entry) => this.#put(entry, limit)));
  }

  async list({ skip = 0, limit = Infinity, ...query }: EntryQuery): Promise<EntriesRead> {
    const { now, entries } = await (query.ids === undefined && query.slots === undefined
      ? this.#walk(query, skip + limit)
      : this.#find(query));
    return { now, entries: entries.slice(skip, skip + limit) };
  }

  async sums({ locks, limit = Infinity, ...which }: SumQuery): Promise<EntrySum[]> {
    const look = (lock: string): Promise<SumsOfLock> => this.#sumsOf(lock, which);
    const found = await (locks === undefined
      ? this.#index.some(look, ({ hasAny }) => hasAny)
      : Promise.all(locks.map(look)));
    return found.flatMap(({ sums }) => sums).slice(0, limit);
  }

  async drop(seen: readonly SeenEntry[]): Promise<number> {
    const dropped = await Promise.all(
      seen.map(({ lock, id, version }) => this.#drops.ask(lock, [wordOf(id), wordOf(version)])),
    );
    return dropped.reduce((sum, one) => sum + one, 0);
  }

  async #put(entry: NewEntry, limit: number | undefined): Promise<boolean> {
    const { lock, id, version, over, kind, slot, job, place, keep, body } = entry;
    const asked = systemClock.monotonic();
    if (job !== undefined) {
      const noted = this.#index.note(lock, limit);
      // A server that is out of memory refuses it. Where an entry is there, the lock was noted before.
      await (over === 'any' || over.includes(null) ? noted : noted.catch(() => undefined));
    }
    const left = limit && limit - (systemClock.monotonic() - asked);
    if (left !== undefined && left <= 0) throw tooLate();
    const seen = over === 'any' ? ANY : over.map((each) => wordOf(each ?? undefined)).join(' ');
    const words = [wordOf(id), seen, ...[version, kind, slot, job].map(wordOf)];
    const written = await this.#puts.ask(lock, [...words, String(keep), String(place ?? ''), body], left);
    if (written === 2 && job !== undefined) await this.#index.noteAgain(lock, asked);
    return written > 0;
  }

  async #sumsOf(lock: string, { kinds, jobs }: Pick<SumQuery, 'kinds' | 'jobs'>): Promise<SumsOfLock> {
    const query = { lock, ...(kinds && { kinds }), ...(jobs && { jobs }) };
    if (kinds === undefined) return { hasAny: true, sums: await this.#counted(query) };
    const [answer, ...found] = await this.#sums.ask(lock, [manyOf(kinds), jobs === undefined ? '' : '1']);
    if (Number(answer) === 0) return { hasAny: false, sums: [] };
    if (Number(answer) === 2) return { hasAny: true, sums: await this.#counted(query) };
    const own = jobs && new Set(jobs.map(wordOf));
    const sums = await Promise.all(
      sumsIn(lock, found, own).map(async ({ isFirst, ...sum }) => {
        if (isFirst) return sum;
        const [behind] = await this.#counted({ ...query, kinds: [sum.kind] }, 1);
        return behind === undefined ? [] : { ...sum, place: behind.place };
      }),
    );
    return { hasAny: true, sums: sums.flat() };
  }

  /** The sums of entries, counted in a list of them. */
  async #counted(query: EntryQuery, most = Infinity): Promise<EntrySum[]> {
    const sums = new Map<string, EntrySum>();
    const { entries } = await this.#walk({ ...query, bare: true }, most, this.#walks);
    for (const { lock, kind, place } of entries) {
      const { count, ...first } = sums.get(kind) ?? { lock, kind, place, count: 0 };
      sums.set(kind, { ...first, count: count + 1 });
    }
    return [...sums.values()];
  }

  /** Reads the first entries, page by page: others may come and go in between. */
  async #walk(
    { lock, kinds, jobs, before, newest, bare }: EntryQuery,
    most: number,
    lists = this.#lists,
  ): Promise<{ now: number; entries: Entry[] }> {
    const fixed = [newest ? '1' : '', String(before ?? ''), bare ? '1' : ''];
    const which = [kinds, jobs].map(manyOf);
    const all = new Map<string, Entry>();
    for (let from = 0; ;) {
      const left = Math.min(most - all.size, MAX_LISTED);
      const args = [String(from), String(left), ...fixed, ...which];
      const [now, seen, ...found] = await lists.ask(lock, args);
      for (const entry of entriesIn(lock, found)) if (!all.has(entry.id)) all.set(entry.id, entry);
      if (seen === '' || all.size >= most) return { now: Number(now), entries: [...all.values()] };
      from = Number(seen);
    }
  }

  async #find(query: EntryQuery): Promise<{ now: number; entries: Entry[] }> {
    const { lock, ids, slots = [], newest } = query;
    const fields = ids?.map(wordOf) ?? slots.map((slot) => `slot ${wordOf(slot)}`);
    const [now, , ...found] = await this.#finds.ask(lock, [[...new Set(fields)].join('\n')]);
    const entries = entriesIn(lock, found)
      .filter((entry) => entry.until > Number(now) && fits(entry, query))
      .toSorted((a, b) => (newest ? b.place - a.place : a.place - b.place));
    return { now: Number(now), entries };
  }
}

/** How many entries one command answers at most. */
const MAX_LISTED = 1_000;

/** An entry as it is stored, with what only a query asks for. */
interface Stored extends Entry {
  readonly slot?: string | undefined;
  readonly job?: string | undefined;
}

/** A text as a word of the scripts. */
const wordOf = (text: string | undefined): string =>
  text === undefined ? NONE : JSON.stringify(text).replaceAll(' ', '\\u0020');

/** Some texts, or any. */
const manyOf = (texts: readonly string[] | undefined): string =>
  texts === undefined ? ANY : ` ${texts.map(wordOf).join(' ')} `;

const textOf = (word: string): string | undefined =>
  word === NONE ? undefined : (JSON.parse(word) as string);

const fits = (
  { kind, place, slot, job }: Stored,
  { kinds, slots, jobs, before = Infinity }: EntryQuery,
): boolean =>
  place < before &&
  [
    [kinds, kind],
    [slots, slot],
    [jobs, job],
  ].every(([all, one]) => all?.includes(one as string) ?? true);

/** What is stored before the body: see entry-scripts.ts. */
const HEAD = /^([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) ([^ ]+) /;

function entriesIn(lock: string, idsAndStored: readonly string[]): Stored[] {
  const entries: Stored[] = [];
  for (let i = 0; i < idsAndStored.length; i += 2) {
    const [id = '', stored = ''] = [idsAndStored[i], idsAndStored[i + 1]];
    const [head = '', until, at, place, ...rest] = HEAD.exec(stored) ?? [];
    const [version = '', slot, kind = '', job] = rest.map(textOf);
    const body = stored.slice(head.length);
    entries.push({
      lock,
      id: textOf(id) ?? '',
      version,
      kind,
      slot,
      job,
      place: Number(place),
      at: Number(at),
      until: Number(until),
      body,
    });
  }
  return entries;
}

/**
 * What SUM has found for some jobs, or for any. The place is that of the first entry of the kind, which is for one of these jobs if
 * `isFirst`.
 */
function sumsIn(
  lock: string,
  found: readonly string[],
  jobs: ReadonlySet<string> | undefined,
): (EntrySum & { readonly isFirst: boolean })[] {
  const sums = [];
  for (let i = 0; i < found.length; i += 5) {
    const [kind = '', all, place, job = '', counts = ''] = found.slice(i, i + 5);
    const count = jobs === undefined ? Number(all) : countOf(counts, jobs);
    const isFirst = jobs?.has(job) ?? true;
    if (count > 0) sums.push({ lock, kind: textOf(kind) ?? '', count, place: Number(place), isFirst });
  }
  return sums;
}

/** @param counts words of jobs, and how many entries each has, with blanks between */
function countOf(counts: string, jobs: ReadonlySet<string>): number {
  const words = counts.split(' ');
  return words.reduce((sum, word, i) => (jobs.has(word) ? sum + Number(words[i + 1]) : sum), 0);
}
