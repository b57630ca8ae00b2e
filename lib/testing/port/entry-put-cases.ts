import { check, show } from './assert.js';
import type { EntryCaseDefinition } from './entry-kit.js';

const CROWD = 40;

/** Rules 3, 4 and 6: what is written over what, and what is deleted. */
export const entryPutCases: readonly EntryCaseDefinition[] = [
  {
    rule: 3,
    sentence: 'an entry over none is not written where there is one',
    async run(kit) {
      await kit.puts(kit.entry('one'));
      await kit.refused(kit.entry('one', { version: 'v2' }), 'a second entry over none');
    },
  },
  {
    rule: 3,
    sentence: 'an entry over a version is not written where there is none',
    async run(kit) {
      await kit.refused(kit.entry('one', { over: ['v1'] }), 'an entry over a version, where there is none,');
    },
  },
  {
    rule: 3,
    sentence: 'an entry is written over a version that it names, and over no other',
    async run(kit) {
      await kit.puts(kit.entry('one'));
      for (const over of [['v2'], ['V1', 'v1 ', ''], [null, 'v2'], []])
        await kit.refused(kit.entry('one', { version: 'v3', over }), `an entry over ${show(over)}`);
      await kit.puts(kit.entry('one', { version: 'v2', over: ['v0', 'v1'], kind: 'other', body: 'new' }));
      const { version, kind, body } = await kit.find('one');
      const found = show({ version, kind, body });
      check(
        found === show({ version: 'v2', kind: 'other', body: 'new' }),
        () => `the entry should be replaced, but is ${found}`,
      );
    },
  },
  {
    rule: 3,
    sentence: 'an entry over none or a version is written over both, and one over any over whatever there is',
    async run(kit) {
      await kit.puts(kit.entry('one', { over: [null, 'v1'] }));
      await kit.puts(kit.entry('one', { over: [null, 'v1'], version: 'v2' }));
      await kit.puts(kit.entry('one', { over: 'any', version: 'v3' }), kit.entry('two', { over: 'any' }));
      const { version } = await kit.find('one');
      check(version === 'v3', () => `the version should be v3, but is ${show(version)}`);
    },
  },
  ...[null, 'v1'].map((seen): EntryCaseDefinition => ({
    rule: 3,
    sentence: `of many entries over ${seen === null ? 'none' : 'one version'} at once, exactly one is written`,
    async run(kit) {
      if (seen !== null) await kit.puts(kit.entry('one'));
      const all = Array.from({ length: CROWD }, (_, i) =>
        kit.entry('one', { over: [seen], version: 'v2', body: String(i) }),
      );
      const written = await kit.atOnce(all);
      const { body } = await kit.find('one');
      check(
        written.length === 1 && written[0]?.body === body,
        () => `one of ${CROWD} should be written, and be there, but ${written.length} were`,
      );
    },
  })),
  {
    rule: 4,
    sentence: 'each entry of a batch is judged alone, and answered by its index',
    async run(kit) {
      await kit.puts(kit.entry('b'), kit.entry('d'));
      const answers = await kit.entries.put([
        kit.entry('a'),
        kit.entry('b'),
        kit.entry('c'),
        kit.entry('d', { over: ['v1'], version: 'v2' }),
        kit.entry('e', { over: ['v1'] }),
      ]);
      check(
        show(answers) === show([true, false, true, true, false]),
        () => `the answers should be true, false, true, true, false, but are ${show(answers)}`,
      );
      const found = (await kit.list()).map(({ id, version }) => `${id} ${version}`).sort();
      check(
        show(found) === show(['a v1', 'b v1', 'c v1', 'd v2']),
        () => `only these should be written, but there is ${show(found)}`,
      );
    },
  },
  {
    rule: 4,
    sentence: 'batches of any size are written, and stand in their order: none, or hundreds',
    async run(kit) {
      const none = await kit.entries.put([]);
      check(none.length === 0, () => `put of none should answer [], but answered ${show(none)}`);
      const ids = Array.from({ length: 300 }, (_, i) => String((i * 7) % 300));
      const answers = await kit.entries.put(ids.map((id) => kit.entry(id)));
      const count = answers.filter((written) => written === true).length;
      check(count === 300 && answers.length === 300, () => `300 should be written, but ${count} were`);
      await kit.lists(ids.join(' '), {}, 'a list of all');
    },
  },
  {
    rule: 6,
    sentence: 'what was seen is deleted, and nothing else',
    async run(kit) {
      await kit.puts(...['a', 'b', 'c'].map((id) => kit.entry(id)));
      await kit.puts(kit.entry('a', { lock: kit.lock('other') }));
      const none = await kit.entries.drop([]);
      const seen = ['a', 'c', 'none'].map((id) => ({ lock: kit.lock(), id, version: 'v1' }));
      const dropped = await kit.entries.drop(seen);
      check(
        none === 0 && dropped === 2,
        () => `none should be deleted, and then 2, but ${none} and ${dropped} were`,
      );
      await kit.lists('b', {}, 'a list of what is left');
      await kit.lists('a', { lock: kit.lock('other') }, 'a list of another lock');
      await kit.puts(kit.entry('a'));
    },
  },
  {
    rule: 6,
    sentence: 'an entry that was written since is not deleted',
    async run(kit) {
      await kit.puts(kit.entry('a'), kit.entry('b'));
      const seen = await kit.list();
      await kit.puts(kit.entry('a', { over: ['v1'], version: 'v2' }));
      const dropped = await kit.entries.drop(seen);
      check(dropped === 1, () => `one should be deleted, but ${dropped} were`);
      await kit.lists('a', {}, 'a list of what is left');
    },
  },
];
