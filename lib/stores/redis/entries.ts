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
import { DROP, PUT } from './entry-scripts.js';
import type { KeysOf } from './keys.js';
import { LeaseCalls, type LeaseCommands } from './lease-commands.js';
import { QueuedIndex } from './queued-index.js';
import { tooLate } from './readiness.js';
import type { RedisConnection } from './redis-connection.js';

/** Neither has a word, which begins with a quotation mark. */
const [NONE, ANY] = ['-', '*'];

/** What FIND and LIST answer: see there. */
type Found = [now: string, seen: string, skip: number, ...idsAndStored: string[]];

/** What SUM answers: see there. */
type Sums = [answer: number, ...kindsAndCounts: string[]];

/** Whether a lock has any of these kinds, for whichever jobs, and the sums. */
type SumsOfLock = { readonly hasAny: boolean; readonly sums: readonly EntrySum[] };

/** Entries of locks in Redis: see entry-scripts.ts. Those for a job can be counted over all locks. */
export class RedisEntries implements LockEntries {
  readonly trims = true;
  readonly #index: QueuedIndex | undefined;
  readonly #puts: LeaseCalls<number>;
  readonly #drops: LeaseCalls<number>;
  readonly #lists: LeaseCalls<Found>;
  readonly #walks: LeaseCalls<Found>;
  readonly #finds: LeaseCalls<Found>;
  readonly #sums: LeaseCalls<Sums>;

  /** @param keys where they are @param index key of the locks that may have entries for jobs. Absent: no entry is for a job */
  constructor(
    private readonly connection: RedisConnection,
    commands: LeaseCommands,
    keys: KeysOf,
    index?: string,
  ) {
    const found = (reply: unknown): Found => reply as Found;
    this.#index = index === undefined ? undefined : new QueuedIndex(connection, index);
    this.#puts = new LeaseCalls(commands, { ...PUT, keys }, Number);
    this.#drops = new LeaseCalls(commands, { ...DROP, keys }, Number);
    this.#lists = new LeaseCalls(commands, { ...LIST, keys }, found);
    this.#walks = new LeaseCalls(commands, { ...WALK, keys }, found);
    this.#finds = new LeaseCalls(commands, { ...FIND, keys }, found);
    this.#sums = new LeaseCalls(commands, { ...SUM, keys }, (reply) => reply as Sums);
  }

  put(entries: readonly NewEntry[], limit?: number): Promise<boolean[]> {
    return Promise.all(entries.map((entry) => this.#put(entry, limit)));
  }

  async list(query: EntryQuery): Promise<EntriesRead> {
    const { ids, slots, limit = Infinity, skip = 0 } = query;
    if (ids === undefined && slots === undefined) return this.#walk(query, limit);
    const { now, entries } = await this.#find(query);
    return { now, entries: entries.slice(skip, skip + limit) };
  }

  async sums({ locks, ...which }: SumQuery): Promise<EntrySum[]> {
    const look = (lock: string): Promise<SumsOfLock> => this.#sumsOf(lock, which);
    const found = await (locks === undefined
      ? this.#index?.some(look, ({ hasAny }) => hasAny)
      : Promise.all(locks.map(look)));
    return (found ?? []).flatMap(({ sums }) => sums);
  }

  async drop(seen: readonly SeenEntry[]): Promise<number> {
    const byLock = new Map<string, string[]>();
    for (const { lock, id, version } of seen) {
      const words = byLock.get(lock) ?? [];
      byLock.set(lock, words);
      words.push(`${wordOf(id)} ${wordOf(version)}`);
    }
    const asked = [...byLock].flatMap(([lock, words]) =>
      Array.from({ length: Math.ceil(words.length / MAX_LISTED) }, (_, n) =>
        this.#drops.ask(lock, [words.slice(n * MAX_LISTED, (n + 1) * MAX_LISTED).join(' ')]),
      ),
    );
    const dropped = await Promise.all(asked);
    return dropped.reduce((sum, one) => sum + one, 0);
  }

  async #put(entry: NewEntry, limit: number | undefined): Promise<boolean> {
    const { lock, over, job } = entry;
    const { clock } = this.connection;
    const asked = clock.monotonic();
    const index = job === undefined ? undefined : this.#index;
    if (index !== undefined) {
      const noted = index.note(lock, limit);
      // A server that is out of memory refuses it. Where an entry is there, the lock was noted before.
      await (over === 'any' || over.includes(null) ? noted : noted.catch(() => undefined));
    }
    const left = limit && limit - (clock.monotonic() - asked);
    if (left !== undefined && left <= 0) throw tooLate();
    const written = await this.#puts.ask(lock, putArguments(entry), left);
    if (written === 2) await index?.noteAgain(lock, asked);
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
    { lock, kinds, jobs, before, newest, bare, skip: first = 0 }: EntryQuery,
    most: number,
    lists = this.#lists,
  ): Promise<{ now: number; entries: Entry[] }> {
    const fixed = [newest ? '1' : '', String(before ?? ''), bare ? '1' : ''];
    const which = [kinds, jobs].map(manyOf);
    const all = new Map<string, Entry>();
    for (let [from, skip] = [0, first]; ;) {
      const left = Math.min(most - all.size, MAX_LISTED);
      const args = [String(from), String(left), ...fixed, ...which, String(skip)];
      const [now, seen, toSkip, ...found] = await lists.ask(lock, args);
      for (const entry of entriesIn(lock, found)) if (!all.has(entry.id)) all.set(entry.id, entry);
      if (seen === '' || all.size >= most) return { now: Number(now), entries: [...all.values()] };
      [from, skip] = [Number(seen), Number(toSkip)];
    }
  }

  async #find(query: EntryQuery): Promise<{ now: number; entries: Entry[] }> {
    const { lock, ids, slots = [], newest } = query;
    const fields = ids?.map(wordOf) ?? slots.map((slot) => `slot ${wordOf(slot)}`);
    const asked = [...new Set(fields)];
    const parts = await Promise.all(
      Array.from({ length: Math.max(1, Math.ceil(asked.length / FOUND_AT_ONCE)) }, (_, n) =>
        this.#finds.ask(lock, [asked.slice(n * FOUND_AT_ONCE, (n + 1) * FOUND_AT_ONCE).join('\n')]),
      ),
    );
    const now = Number(parts[0]?.[0]);
    const entries = parts
      .flatMap(([, , , ...found]) => entriesIn(lock, found))
      .filter((entry) => entry.until > now && fits(entry, query))
      .toSorted((a, b) => (newest ? b.place - a.place : a.place - b.place));
    return { now, entries };
  }
}

/** How many entries one command answers at most. */
const MAX_LISTED = 1_000;
/** How many ids or slots one command looks for. */
const FOUND_AT_ONCE = 50;

/** An entry as it is stored, with what only a query asks for. */
interface Stored extends Entry {
  readonly slot?: string | undefined;
  readonly job?: string | undefined;
}

/** A text as a word of the scripts. */
function wordOf(text: string | undefined): string {
  if (text === undefined) return NONE;
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text).replaceAll(' ', '\\u0020');
}

/** What JSON does not escape: most words, for which this is faster. */
const PLAIN = /^[!#-[\]-~]*$/;

function putArguments({ id, version, over, kind, slot, job, place, keep, body, most }: NewEntry): string[] {
  const seen = over === 'any' ? ANY : over.map((each) => wordOf(each ?? undefined)).join(' ');
  const words = [wordOf(id), seen, ...[version, kind, slot, job].map(wordOf)];
  return [...words, String(keep), String(place ?? ''), body, ...(most === undefined ? [] : [String(most)])];
}

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
