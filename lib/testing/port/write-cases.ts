import { newId } from '../../base/shared.js';
import { check, show } from './assert.js';
import { HOUR, SHORT } from './port-kit.js';
import type { PortCaseDefinition } from './port-case.js';

const CROWD = 40;

/** Rules 3 and 4: what is written, and over what. */
export const writeCases: readonly PortCaseDefinition[] = [
  {
    rule: 3,
    sentence: 'a new document is not written where there is one',
    async run(kit) {
      const { name } = await kit.put(kit.name());
      await kit.refused(kit.change(name, null, { by: 'host/two' }), 'a second new document');
    },
  },
  {
    rule: 3,
    sentence: 'a change of a document that does not exist is not written',
    async run(kit) {
      const name = kit.name();
      const written = await kit.write(kit.change(name, { version: 'v', by: 'host/one', taken: false }));
      const { documents } = await kit.documents.read([name]);
      check(
        written === false && documents.length === 0,
        () =>
          `nothing should be written, but the answer is ${show(written)}, and there is ${show(documents)}`,
      );
    },
  },
  {
    rule: 3,
    sentence: 'a change is written over the version that was seen, and over no other',
    async run(kit) {
      const first = await kit.put(kit.name());
      const change = kit.change(first.name, kit.seen(first));
      check((await kit.write(change)) === true, 'a change over the version that was seen should be written');
      await kit.refused(kit.change(first.name, kit.seen(first)), 'a change over an older version');
    },
  },
  {
    rule: 3,
    sentence: 'a change is written over the `by` that was seen, exactly, and over no other',
    async run(kit) {
      const found = await kit.put(kit.name(), { by: 'host/one' });
      for (const by of ['host/two', 'Host/one', 'host/one ', ''])
        await kit.refused(kit.change(found.name, kit.seen(found, { by })), `a change over ${show(by)}`);
    },
  },
  {
    rule: 3,
    sentence: "whether a lock is taken is judged by the database's clock when a change is written",
    async run(kit) {
      const taken = await kit.put(kit.name('taken'));
      await kit.refused(kit.change(taken.name, kit.seen(taken, { taken: false })), 'a change of a free lock');
      const short = await kit.put(kit.name('short'), { end: SHORT });
      await kit.ended(short.name);
      await kit.refused(kit.change(short.name, kit.seen(short)), 'a change of a lock that was taken');
      const late = kit.change(short.name, kit.seen(short, { taken: false }));
      check((await kit.write(late)) === true, 'a change of a lock that is free should be written');
    },
  },
  {
    rule: 3,
    sentence: 'of many new documents for one lock at once, exactly one is written',
    async run(kit) {
      const name = kit.name();
      const changes = Array.from({ length: CROWD }, () => kit.change(name, null));
      const answers = await kit.atOnce(changes, (documents, change) => documents.write([change]));
      const written = changes.filter((_, i) => answers[i]?.[0] === true);
      const { version } = await kit.read(name);
      check(
        written.length === 1 && written[0]?.version === version,
        () => `one of ${CROWD} should be written, and be there, but ${written.length} were`,
      );
    },
  },
  {
    rule: 3,
    sentence: 'of many changes over one document at once, exactly one is written',
    async run(kit) {
      const found = await kit.put(kit.name());
      const changes = Array.from({ length: CROWD }, () => kit.change(found.name, kit.seen(found)));
      const answers = await kit.atOnce(changes, (documents, change) => documents.write([change]));
      const written = changes.filter((_, i) => answers[i]?.[0] === true);
      const { version } = await kit.read(found.name);
      check(
        written.length === 1 && written[0]?.version === version,
        () => `one of ${CROWD} should be written, and be there, but ${written.length} were`,
      );
    },
  },
  {
    rule: 4,
    sentence: 'each change of a batch is judged alone, and answered by its index',
    async run(kit) {
      const found = [];
      for (const label of ['d', 'b', 'c', 'a']) found.push(await kit.put(kit.name(label)));
      const changes = found.map((one, i) =>
        kit.change(one.name, kit.seen(one, i % 2 === 0 ? {} : { version: 'another' })),
      );
      changes.push(
        kit.change(kit.name('new'), null),
        kit.change(kit.name('none'), kit.seen(changes[0] as never)),
      );
      const answers = await kit.documents.write(changes);
      check(
        show(answers) === show([true, false, true, false, true, false]),
        () => `the answers should be true and false in turn, but are ${show(answers)}`,
      );
      for (const [i, { name, version }] of changes.slice(0, 5).entries()) {
        const now = await kit.read(name);
        check(
          (now.version === version) === answers[i],
          () => `the change ${i} of the batch should be written only if the answer says so`,
        );
      }
    },
  },
  {
    rule: 4,
    sentence: 'batches of any size are written: none, or hundreds',
    async run(kit) {
      const none = await kit.documents.write([]);
      check(none.length === 0, () => `write of no changes should answer [], but answered ${show(none)}`);
      const names = Array.from({ length: 300 }, (_, i) => kit.name(`many-${i}`));
      const answers = await kit.documents.write(names.map((name) => kit.change(name, null)));
      const count = answers.filter((written) => written === true).length;
      check(count === 300 && answers.length === 300, () => `300 should be written, but ${count} were`);
      const { documents } = await kit.documents.read(names);
      check(documents.length === 300, () => `300 should be there, but ${documents.length} are`);
    },
  },
  {
    rule: 4,
    sentence: 'changes of the same locks at once, in another order, stop nobody',
    async run(kit) {
      const names = Array.from({ length: 20 }, (_, i) => kit.name(`crossed-${i}`));
      const batches = [names, names.toReversed(), names, names.toReversed()];
      const answers = await kit.atOnce(batches, (documents, batch) =>
        documents.write(batch.map((name) => kit.change(name, null, { version: newId() }))),
      );
      const count = answers.flat().filter((written) => written === true).length;
      check(
        count === names.length,
        () => `each of ${names.length} should be written once, but ${count} were`,
      );
    },
  },
  {
    rule: 5,
    sentence: 'a document that somebody else has locked stops neither a write nor a renewal',
    needs: ['holdDocument'],
    async run(kit) {
      const [held, other] = [await kit.put(kit.name('held')), await kit.put(kit.name('other'))];
      const letGo = await kit.options.holdDocument?.(kit.documents, held.name);
      try {
        const renewed = await kit.documents.renew(
          [held, other].map(({ name, by }) => ({ name, by, ttl: HOUR })),
        );
        check(
          show(renewed) === '[false,true]',
          () => `the other one should be renewed, but got ${show(renewed)}`,
        );
        const changes = [held, other].map((one) => kit.change(one.name, kit.seen(one)));
        const written = await kit.documents.write(changes);
        check(
          show(written) === '[false,true]',
          () => `the other one should be written, but got ${show(written)}`,
        );
      } finally {
        await letGo?.();
      }
    },
  },
];
