import { expect, test } from '@jest/globals';
import type { EntriesRead, EntryQuery } from '../../../lib/rules/entries/entries.js';
import { Registry } from '../../../lib/rules/entries/registry.js';
import { INSTANCES_KEPT } from '../../../lib/contract/history-store.js';
import { MemoryEntries } from '../../../lib/stores/memory/memory-entries.js';
import { ManualClock } from '../../../lib/testing/manual-clock.js';
import { beat } from '../../support/beat.js';

const DAY = 86_400_000;

/** Leaves out the bodies that nobody needs, as a database does. */
class CountedEntries extends MemoryEntries {
  lists = 0;
  bodies = 0;

  override async list(query: EntryQuery): Promise<EntriesRead> {
    const { now, entries } = await super.list(query);
    this.lists += 1;
    if (query.bare === true) return { now, entries: entries.map((entry) => ({ ...entry, body: '' })) };
    this.bodies += entries.length;
    return { now, entries };
  }
}

test('a brief beat is one statement: it reads nothing, and is kept over one with the same list only', async () => {
  const entries = new CountedEntries(new ManualClock());
  const registry = new Registry(entries);
  const brief = { brief: true } as const;
  expect(await registry.beat(beat('a', brief))).toEqual({ known: false });
  await registry.beat(beat('a', { jobs: [] }));
  entries.lists = 0;
  expect(await registry.beat(beat('a', { ...brief, left: true }))).toEqual({ known: true });
  expect(await registry.beat(beat('b', brief))).toEqual({ known: false });
  expect(await registry.beat(beat('a', { ...brief, catalogue: 'new' }))).toEqual({ known: false });
  expect(entries.lists).toBe(0);
  expect(await registry.instances()).toMatchObject([{ instance: 'a', left: true }]);
});

test('a beat reads no list of jobs; one that is a day old has to come again, so that it outlives each instance', async () => {
  const clock = new ManualClock();
  const entries = new CountedEntries(clock);
  const registry = new Registry(entries);
  await registry.beat(beat('a', { jobs: [] }));
  entries.lists = 0;
  for (let i = 0; i < 99; i++) expect(await registry.beat(beat('a'))).toMatchObject({ known: true });
  expect({ lists: entries.lists, bodies: entries.bodies }).toEqual({ lists: 99, bodies: 0 });
  await clock.advance(DAY);
  expect(await registry.beat(beat('a'))).toMatchObject({ known: false });
  await registry.beat(beat('a', { jobs: [] }));
  await clock.advance(DAY - 1);
  expect(await registry.beat(beat('a'))).toMatchObject({ known: true });
  expect(entries.bodies).toBe(0);
  await clock.advance(INSTANCES_KEPT);
  expect(await registry.instances()).toMatchObject([{ instance: 'a', jobs: [] }]);
});
