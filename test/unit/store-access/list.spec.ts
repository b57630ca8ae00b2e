import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { List, type Listed } from '../../../lib/store-access/list.js';
import { parameters } from '../../model/support/parameters.js';

interface Item extends Listed<Item> {
  readonly id: number;
}

test('a list holds, in their order, the items that a set would hold', () => {
  const steps = fc.array(fc.tuple(fc.nat(7), fc.boolean()), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (commands) => {
      const items = Array.from({ length: 8 }, (_, id): Item => ({
        id,
        previous: undefined,
        next: undefined,
      }));
      const [list, set] = [new List<Item>(), new Set<Item>()];
      for (const [id, add] of commands) {
        const item = items[id] as Item;
        if (!add) expect(list.delete(item)).toBe(set.delete(item));
        else if (!set.has(item)) {
          list.add(item);
          set.add(item);
        }
        expect(list.toArray()).toEqual([...set]);
      }
      for (const { previous, next } of items.filter((item) => !set.has(item)))
        expect([previous, next]).toEqual([undefined, undefined]);
    }),
    parameters(300),
  );
});
