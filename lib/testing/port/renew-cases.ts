import { check, show } from './assert.js';
import { HOUR, SHORT } from './port-kit.js';
import type { PortCaseDefinition } from './port-case.js';

/** Rule 4: renewals. */
export const renewCases: readonly PortCaseDefinition[] = [
  {
    rule: 4,
    sentence: 'a renewal moves the end of a document, and nothing else',
    async run(kit) {
      const found = await kit.put(kit.name(), { state: '{"a":1}' });
      const { name, by } = found;
      const [renewed] = await kit.documents.renew([{ name, by, ttl: 10 * HOUR }]);
      check(renewed === true, () => `it should be renewed, but the answer is ${show(renewed)}`);
      await kit.left(name, 10 * HOUR, 'after a renewal');
      const { version, state, since } = await kit.read(name);
      check(
        version === found.version && state === found.state && Math.abs(since - found.since) < 1,
        () =>
          `version, state and beginning should stay, but ${show(found)} became ${show({ version, state, since })}`,
      );
    },
  },
  {
    rule: 4,
    sentence: 'a document of another `by` is not renewed',
    async run(kit) {
      const { name } = await kit.put(kit.name(), { by: 'host/one' });
      for (const by of ['host/two', 'Host/one', 'host/one ', 'host']) {
        const [renewed] = await kit.documents.renew([{ name, by, ttl: 10 * HOUR }]);
        check(
          renewed === false,
          () => `it should not be renewed by ${show(by)}, but the answer is ${show(renewed)}`,
        );
      }
      await kit.left(name, HOUR, 'after renewals by others');
    },
  },
  {
    rule: 4,
    sentence: 'a document that has ended, or does not exist, is not renewed',
    async run(kit) {
      const { name, by } = await kit.put(kit.name(), { end: SHORT });
      await kit.ended(name);
      const renewals = [name, kit.name('none')].map((each) => ({ name: each, by, ttl: HOUR }));
      const renewed = await kit.documents.renew(renewals);
      check(
        show(renewed) === '[false,false]',
        () => `neither should be renewed, but the answer is ${show(renewed)}`,
      );
      const { now, documents } = await kit.documents.read([name]);
      check((documents[0]?.until ?? NaN) <= now, 'the one that has ended should be free still');
    },
  },
  {
    rule: 4,
    sentence: 'each renewal of a batch is judged alone, and answered by its index; there may be a thousand',
    async run(kit) {
      const none = await kit.documents.renew([]);
      check(none.length === 0, () => `renew of none should answer [], but answered ${show(none)}`);
      const names = Array.from({ length: 1_000 }, (_, i) => kit.name(`r-${i}`));
      for (let i = 0; i < names.length; i += 250)
        await kit.documents.write(
          names.slice(i, i + 250).map((name) => kit.change(name, null, { by: 'us' })),
        );
      const isOurs = (i: number): boolean => i % 7 !== 3;
      const renewed = await kit.documents.renew(
        names.map((name, i) => ({ name, by: isOurs(i) ? 'us' : 'them', ttl: 3 * HOUR })),
      );
      const wrong = names.findIndex((_, i) => renewed[i] !== isOurs(i));
      check(
        wrong < 0 && renewed.length === names.length,
        () =>
          `renewal ${wrong} of ${names.length} should answer ${isOurs(wrong)}, but answered ${show(renewed[wrong])}`,
      );
      await kit.left(kit.name('r-0'), 3 * HOUR, 'one that was renewed');
      await kit.left(kit.name('r-3'), HOUR, 'one that was not');
    },
  },
];
