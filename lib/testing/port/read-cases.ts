import { check, show } from './assert.js';
import { confusableNames } from './names.js';
import { HOUR, SHORT } from './port-kit.js';
import type { PortCaseDefinition } from './port-case.js';

/** Texts that JSON, a character set or escaping could change. */
const TEXTS = [
  '{"a":1, "b" : [1,2]}',
  '{"b":1,"a":2,"a":3}',
  '"\\u0000\\ud800"',
  "'; DROP TABLE x; --",
  '\ud83d\udd12 \u00e9 e\u0301 \u4e2d',
  '  blanks  ',
  '1e400',
  'x'.repeat(20_000),
];

/** Rules 1 and 2: what is read, and as of which time. */
export const readCases: readonly PortCaseDefinition[] = [
  {
    rule: 1,
    sentence: 'a lock that nobody has written has no document',
    async run(kit) {
      const { documents } = await kit.documents.read([kit.name()]);
      check(documents.length === 0, () => `there should be no document, but there is ${show(documents)}`);
    },
  },
  {
    rule: 1,
    sentence: 'what is read is what was written',
    async run(kit) {
      const name = kit.name();
      const change = kit.change(name, null, { by: 'host/é/one', version: 'a version', state: '{"a":1}' });
      await kit.documents.write([change]);
      const { version, by, state } = await kit.read(name);
      const found = show({ version, by, state });
      const { version: v, by: b, state: s } = change;
      const expected = show({ version: v, by: b, state: s });
      check(found === expected, () => `read should find ${expected}, but found ${found}`);
    },
  },
  {
    rule: 1,
    sentence: 'a state is kept as the text that it is',
    async run(kit) {
      for (const [i, state] of TEXTS.entries()) {
        const found = await kit.put(kit.name(`state-${i}`), { state });
        check(
          found.state === state,
          () => `the state ${show(state)} should be kept, but is ${show(found.state)}`,
        );
      }
    },
  },
  {
    rule: 1,
    sentence: 'every name is a lock of its own',
    async run(kit) {
      const names = confusableNames(kit.name('n')).filter(
        (name) => kit.documents.nameProblem?.(name) === undefined,
      );
      for (const name of names) await kit.put(name, { state: show(name) });
      const { documents } = await kit.documents.read(names);
      const wrong = documents.filter(({ name, state }) => state !== show(name));
      check(
        wrong.length === 0 && documents.length === names.length,
        () =>
          `${names.length} documents should be found, each its own, but ${show(wrong)} and ${documents.length} were`,
      );
    },
  },
  {
    rule: 1,
    sentence: 'a read answers the requested names that exist, each once, and no others',
    async run(kit) {
      const names = ['a', 'b', 'c'].map((label) => kit.name(label));
      for (const name of names) await kit.put(name);
      const asked = [kit.name('b'), kit.name('none'), kit.name('a')];
      const { documents } = await kit.documents.read(asked);
      const found = documents.map(({ name }) => name).sort();
      check(
        show(found) === show([kit.name('a'), kit.name('b')]),
        () => `read should find a and b, but found ${show(found)}`,
      );
      const none = await kit.documents.read([]);
      check(none.documents.length === 0, () => `read of no names should find none, but found ${show(none)}`);
    },
  },
  {
    rule: 1,
    sentence: 'all documents can be read',
    async run(kit) {
      const names = Array.from({ length: 300 }, (_, i) => kit.name(`all-${i}`));
      await kit.documents.write(names.map((name) => kit.change(name, null)));
      const { documents } = await kit.documents.read('all');
      const found = documents.map(({ name }) => name).filter((name) => names.includes(name));
      check(
        new Set(found).size === 300 && found.length === 300,
        () => `read of all should find 300 documents, each once, but found ${found.length}`,
      );
    },
  },
  {
    rule: 2,
    sentence: 'a lock is taken for as long as a change says, from when it is written',
    async run(kit) {
      const { name } = await kit.put(kit.name());
      await kit.left(name, HOUR, 'a new document');
      const found = await kit.read(name);
      await kit.write(kit.change(name, kit.seen(found), { end: 2 * HOUR }));
      await kit.left(name, 2 * HOUR, 'a change');
    },
  },
  {
    rule: 2,
    sentence: 'a lock is free when that time has passed',
    async run(kit) {
      const { name } = await kit.put(kit.name(), { end: SHORT });
      await kit.ended(name);
    },
  },
  {
    rule: 2,
    sentence: 'an end in the past frees a lock at once, and a change without an end leaves it',
    async run(kit) {
      const found = await kit.put(kit.name());
      const { name } = found;
      const { end: _, ...without } = kit.change(name, kit.seen(found), { version: 'v2' });
      check((await kit.write(without)) === true, 'a change without an end should be written');
      const after = await kit.read(name);
      check(
        Math.abs(after.until - found.until) < 1,
        () => `its end should be ${found.until} still, but is ${after.until}`,
      );
      await kit.write(kit.change(name, kit.seen(after), { end: -HOUR }));
      const { now, documents } = await kit.documents.read([name]);
      const until = documents[0]?.until ?? NaN;
      check(
        until <= now - HOUR + 1 && until > now - 2 * HOUR,
        () => `it should be free since an hour, but is taken for ${until - now} ms`,
      );
    },
  },
  {
    rule: 2,
    sentence:
      'the beginning of a document is when a change with `begins` was written, and no other change moves it',
    async run(kit) {
      const first = await kit.put(kit.name());
      await kit.options.wait(SHORT);
      await kit.write(kit.change(first.name, kit.seen(first), { version: 'v2' }));
      const second = await kit.read(first.name);
      check(
        Math.abs(second.since - first.since) < 1,
        () => `it should have begun at ${first.since}, but began at ${second.since}`,
      );
      await kit.write(kit.change(first.name, kit.seen(second), { version: 'v3', begins: true }));
      const third = await kit.read(first.name);
      check(
        third.since > first.since && third.since <= third.until,
        () => `it should have begun after ${first.since}, but began at ${third.since}`,
      );
    },
  },
  {
    rule: 2,
    sentence: 'clocks of instances do not count: a read answers with the times of the database',
    needs: ['skewInstanceClock'],
    async run(kit) {
      const before = await kit.documents.read([]);
      try {
        for (const skew of [-10 * HOUR, 10 * HOUR]) {
          await kit.options.skewInstanceClock?.(skew);
          const found = await kit.put(kit.name(String(skew)));
          await kit.left(found.name, HOUR, 'a document of an instance whose clock is wrong');
          const { now } = await kit.documents.read([]);
          check(
            Math.abs(now - before.now) < HOUR && Math.abs(found.since - before.now) < HOUR,
            () =>
              `the database's time should be about ${before.now}, but is ${now}, and it began at ${found.since}`,
          );
        }
      } finally {
        await kit.options.skewInstanceClock?.(0);
      }
    },
  },
  {
    rule: 3,
    sentence: 'what another program writes is seen by its `by`, and leaves version and state',
    needs: ['takeByStranger'],
    async run(kit) {
      const found = await kit.put(kit.name(), { end: SHORT, state: '{"a":1}' });
      await kit.ended(found.name);
      await kit.options.takeByStranger?.(kit.documents, found.name, 'stranger', HOUR);
      const after = await kit.read(found.name);
      check(
        after.by === 'stranger' && after.version === found.version && after.state === found.state,
        () => `read should find the stranger, our version and our state, but found ${show(after)}`,
      );
      await kit.left(found.name, HOUR, 'a document of a stranger');
      await kit.refused(
        kit.change(found.name, kit.seen(found)),
        'a change over what was there before the stranger',
      );
    },
  },
];
