import type { EntrySum, SumQuery } from '../../rules/entries/entries.js';
import { check, show } from './assert.js';
import type { EntryCaseDefinition, EntryKit } from './entry-kit.js';
import { HOUR, SHORT } from './port-kit.js';

const CROWD = 40;

/** Rules 7 and 8: slots, jobs and sums. */
export const entrySlotCases: readonly EntryCaseDefinition[] = [
  {
    rule: 7,
    sentence:
      'an entry is not put into a slot that another one of its lock is in; each lock has its own slots',
    async run(kit) {
      await kit.puts(kit.entry('a', { slot: 'one' }), kit.entry('b'));
      await kit.refused(kit.entry('c', { slot: 'one' }), 'a second entry in one slot');
      await kit.refused(
        kit.entry('b', { over: ['v1'], version: 'v2', slot: 'one' }),
        'an entry that is moved into the slot of another one',
      );
      await kit.puts(
        kit.entry('c', { slot: 'ONE' }),
        kit.entry('d'),
        kit.entry('b', { over: ['v1'], version: 'v2', slot: 'two' }),
        kit.entry('a', { lock: kit.lock('other'), slot: 'one' }),
      );
      await kit.lists('a', { slots: ['one', 'none'] }, 'a list of a slot');
      await kit.lists('a c', { slots: ['ONE', 'one'] }, 'a list of slots');
      await kit.lists('', { slots: ['one'], kinds: ['none'] }, 'a list of a slot and another kind');
    },
  },
  {
    rule: 7,
    sentence:
      'an entry stays in its slot when it is written with it again, and leaves it when it is written without',
    async run(kit) {
      await kit.puts(
        kit.entry('a', { slot: 'one' }),
        kit.entry('a', { slot: 'one', over: ['v1'], version: 'v2' }),
      );
      await kit.refused(kit.entry('b', { slot: 'one' }), 'another entry in its slot');
      await kit.puts(kit.entry('a', { over: ['v2'], version: 'v3' }), kit.entry('b', { slot: 'one' }));
      await kit.lists('b', { slots: ['one'] }, 'a list of the slot that it has left');
      await kit.lists('a b', {}, 'a list');
    },
  },
  {
    rule: 7,
    sentence: 'an entry that is deleted, or whose time is over, is in no slot any more',
    async run(kit) {
      await kit.puts(kit.entry('a', { slot: 'one' }), kit.entry('b', { slot: 'two', keep: SHORT }));
      await kit.entries.drop(await kit.list({ ids: ['a'] }));
      await kit.gone('b');
      await kit.puts(kit.entry('c', { slot: 'one' }), kit.entry('d', { slot: 'two' }));
      await kit.lists('c d', { slots: ['one', 'two'] }, 'a list of both slots');
    },
  },
  {
    rule: 7,
    sentence: 'of many entries at once that are put into one slot, exactly one is written',
    async run(kit) {
      const all = Array.from({ length: CROWD }, (_, i) => kit.entry(String(i), { slot: 'one' }));
      const written = await kit.atOnce(all);
      const found = await kit.ids();
      check(
        written.length === 1 && written[0]?.id === found,
        () => `one of ${CROWD} should be written, and be there, but ${written.length} were`,
      );
    },
  },
  {
    rule: 5,
    sentence:
      'a list has the entries of the jobs that it asks for; one that is written without its job is for none',
    async run(kit) {
      const jobs = { a: 'send', b: 'print', c: 'Send' };
      await kit.puts(...Object.entries(jobs).map(([id, job]) => kit.entry(id, { job })), kit.entry('d'));
      await kit.lists('b', { jobs: ['print', 'none'] }, 'a list of a job');
      await kit.lists('a b', { jobs: ['print', 'send'], kinds: ['kind'] }, 'a list of two jobs');
      await kit.puts(kit.entry('b', { over: ['v1'], version: 'v2' }));
      await kit.lists('', { jobs: ['print'] }, 'a list of a job whose entry was written without it');
    },
  },
  {
    rule: 8,
    sentence: 'entries are counted for each lock and kind, with the place of the first one',
    async run(kit) {
      const [lock, other] = [kit.lock(), kit.lock('other')];
      for (const [i, id] of ['c', 'a', 'b'].entries()) await kit.puts(kit.entry(id, { place: 5 - i }));
      await kit.puts(kit.entry('d', { kind: 'second', place: 7, job: 'send' }));
      await kit.puts(kit.entry('a', { lock: other, place: 9, job: 'send' }));
      const first = { lock, kind: 'kind', count: 3, place: 3 };
      const second = { lock, kind: 'second', count: 1, place: 7 };
      const third = { lock: other, kind: 'kind', count: 1, place: 9 };
      const locks = [lock, other, kit.lock('none')];
      await sums(kit, [first, second, third], { locks }, 'sums of locks');
      await sums(kit, [first], { locks: [lock], kinds: ['kind'] }, 'sums of a lock and kind');
      await sums(kit, [third, second], { jobs: ['send'], locks }, 'sums of locks and a job');
      await sums(kit, [], { locks: [] }, 'sums of no locks');
    },
  },
  {
    rule: 8,
    sentence: 'the entries of jobs are counted over all locks',
    async run(kit) {
      const job = kit.lock('job');
      const locks = ['x', 'y', 'z'].map((label) => kit.lock(label));
      for (const [i, lock] of locks.entries()) await kit.puts(kit.entry('a', { lock, job, place: i }));
      const all = locks.map((lock, place) => ({ lock, kind: 'kind', count: 1, place }));
      await sums(kit, all, { jobs: [job] }, 'sums of a job');
    },
  },
  {
    rule: 8,
    sentence: 'an entry whose time is over is not counted',
    async run(kit) {
      const locks = [kit.lock()];
      await kit.puts(kit.entry('a', { keep: SHORT, place: 1 }), kit.entry('b', { keep: HOUR, place: 2 }));
      await kit.gone('a');
      const left = { lock: kit.lock(), kind: 'kind', count: 1, place: 2 };
      await sums(kit, [left], { locks }, 'sums after the time of one was over');
    },
  },
];

async function sums(
  { entries }: EntryKit,
  expected: readonly EntrySum[],
  query: SumQuery,
  what: string,
): Promise<void> {
  const found = linesOf(await entries.sums(query));
  check(found === linesOf(expected), () => `${what} should be ${linesOf(expected)}, but are ${found}`);
}

/** In any order. */
const linesOf = (all: readonly EntrySum[]): string =>
  show(all.map(({ lock, kind, count, place }) => `${lock} ${kind} ${count} ${place}`).sort());
