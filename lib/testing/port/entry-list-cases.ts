import { check, show } from './assert.js';
import { confusableNames } from './names.js';
import type { EntryCaseDefinition } from './entry-kit.js';
import { HOUR, SHORT } from './port-kit.js';

/** Texts that JSON, a character set or escaping could change. */
const TEXTS = [
  '',
  '{"b":1,"a":2,"a":3}',
  '"\\u0000\\ud800"',
  "'; DROP TABLE x; --",
  '🔒 é e\u0301',
  '  blanks  ',
];

/** Rules 1, 2 and 5: what is read, in which order, and as of which time. */
export const entryListCases: readonly EntryCaseDefinition[] = [
  {
    rule: 1,
    sentence: 'a lock of which nobody has written an entry has none',
    async run(kit) {
      await kit.lists('', {}, 'a list of a new lock');
    },
  },
  {
    rule: 1,
    sentence: 'what is read is what was written',
    async run(kit) {
      for (const [i, text] of [...TEXTS, 'x'.repeat(20_000)].entries()) {
        const facts = { kind: `kind ${i}`, version: `v ${text.slice(0, 20)}`, place: 1.7e15 - i, body: text };
        await kit.puts(kit.entry(`text-${i}`, facts));
        const { kind, version, place, body } = await kit.find(`text-${i}`);
        const found = show({ kind, version, place, body });
        check(found === show(facts), () => `list should find ${show(facts)}, but found ${found}`);
      }
    },
  },
  {
    rule: 1,
    sentence: 'every lock, and every id of a lock, is kept apart',
    async run(kit) {
      const names = confusableNames(kit.lock('n'));
      for (const lock of names) await kit.puts(kit.entry('one', { lock, body: lock }));
      for (const id of names) await kit.puts(kit.entry(id, { body: id }));
      for (const name of names) {
        const [byLock, byId] = [await kit.find('one', name), await kit.find(name)];
        check(
          byLock.body === name && byId.body === name,
          () => `the entries of ${show(name)} should be its own, but are ${show([byLock, byId])}`,
        );
      }
    },
  },
  {
    rule: 2,
    sentence: 'an entry is read with when it was written, and with when its time is over',
    async run(kit) {
      const { now: before } = await kit.entries.list({ lock: kit.lock() });
      await kit.puts(kit.entry('one'));
      const { now, entries } = await kit.entries.list({ lock: kit.lock() });
      const { at = NaN, until = NaN } = entries[0] ?? {};
      check(
        at >= before - 1 && at <= now + 1 && Math.abs(until - at - HOUR) <= 1,
        () =>
          `it should be written between ${before} and ${now}, for ${HOUR} ms, but was at ${at}, until ${until}`,
      );
    },
  },
  {
    rule: 2,
    sentence: 'an entry whose time is over is as good as none, and a new one takes its place',
    async run(kit) {
      await kit.puts(kit.entry('short', { keep: SHORT }), kit.entry('long'));
      await kit.gone('short');
      await kit.lists('long', {}, 'a list after the time of one was over');
      const late = kit.entry('short', { over: ['v1'] });
      check((await kit.put(late)) === false, 'an entry over one whose time is over should not be written');
      await kit.puts(kit.entry('short', { version: 'v2' }));
      const { version } = await kit.find('short');
      check(version === 'v2', () => `the new entry should be found, but the version is ${show(version)}`);
    },
  },
  {
    rule: 2,
    sentence: 'clocks of instances do not count',
    needs: ['skewInstanceClock'],
    async run(kit) {
      const before = await kit.entries.list({ lock: kit.lock() });
      try {
        for (const skew of [-10 * HOUR, 10 * HOUR]) {
          await kit.options.skewInstanceClock?.(skew);
          await kit.puts(kit.entry(String(skew)));
          const { at, until } = await kit.find(String(skew));
          check(
            Math.abs(at - before.now) < HOUR && Math.abs(until - at - HOUR) <= 1,
            () => `it should be written at about ${before.now}, but was at ${at}, until ${until}`,
          );
        }
      } finally {
        await kit.options.skewInstanceClock?.(0);
      }
    },
  },
  {
    rule: 5,
    sentence: 'entries stand in the order of their places, whenever they were written',
    async run(kit) {
      const places = { c: 3e15, a: -1e15, d: 4e15, b: 20 };
      await kit.puts(...Object.entries(places).map(([id, place]) => kit.entry(id, { place })));
      await kit.lists('a b c d', {}, 'a list');
      await kit.lists('d c b a', { newest: true }, 'a list of the newest first');
      await kit.lists('b c', { skip: 1, limit: 2 }, 'a list of two after the first');
      await kit.lists('b a', { newest: true, skip: 2 }, 'a list after the two newest');
    },
  },
  {
    rule: 5,
    sentence:
      'a list has only entries whose places are smaller than the bound that it is given, if it is given one',
    async run(kit) {
      const places = { c: 3e15, a: -1e15, d: 3e15 + 1, b: 20 };
      for (const [id, place] of Object.entries(places))
        await kit.puts(kit.entry(id, { place, kind: id === 'b' ? 'two' : 'one' }));
      await kit.lists('a b', { before: 3e15 }, 'a list before a place');
      await kit.lists('a b c', { before: 3e15 + 1 }, 'a list before the next place');
      await kit.lists('', { before: -1e15 }, 'a list before the first place');
      await kit.lists('a b c d', { before: 8e15 }, 'a list before a place beyond the last one');
      await kit.lists('b', { before: 3e15, newest: true, limit: 1 }, 'a list of the last one before a place');
      await kit.lists('a', { before: 3e15, kinds: ['one'], newest: true, limit: 1 }, 'the same of a kind');
    },
  },
  {
    rule: 5,
    sentence: 'entries without a place stand in the order in which one process puts them, by the time',
    async run(kit) {
      await kit.puts(kit.entry('early', { place: 1 }), kit.entry('late', { place: 8e15 }));
      const ids = ['c', 'a', 'e', 'b', 'd'];
      await kit.puts(...ids.map((id) => kit.entry(id)));
      await kit.lists(['early', ...ids, 'late'].join(' '), {}, 'a list');
      await kit.puts(kit.entry('c', { over: 'any' }));
      await kit.lists('early a e b d c late', {}, 'a list after the first was written again');
      const { place, at } = await kit.find('a');
      check(Math.abs(place / 1_000 - at) < HOUR, () => `the place should be ${at} in µs, but is ${place}`);
    },
  },
  {
    rule: 5,
    sentence: 'a list has the entries of the kinds and ids that it asks for, and no others',
    async run(kit) {
      const kinds = { a: 'one', b: 'two', c: 'three', d: 'two' };
      await kit.puts(...Object.entries(kinds).map(([id, kind]) => kit.entry(id, { kind })));
      await kit.puts(kit.entry('x', { lock: kit.lock('other'), kind: 'two' }));
      await kit.lists('b d', { kinds: ['two'] }, 'a list of a kind');
      await kit.lists('a b d', { kinds: ['two', 'one', 'none'] }, 'a list of kinds');
      await kit.lists('a c', { ids: ['c', 'a', 'none', 'x'] }, 'a list of ids');
      await kit.lists('d', { ids: ['c', 'd'], kinds: ['two'] }, 'a list of ids of a kind');
      await kit.lists('', { ids: [] }, 'a list of no ids');
      await kit.lists('d', { kinds: ['two'], skip: 1 }, 'a list of a kind after the first of it');
    },
  },
];
