import { describe, expect, test } from '@jest/globals';
import { MemoryEntries } from '../../lib/stores/memory/memory-entries.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { describeLockEntries, lockEntriesContract } from '../../lib/testing/port/port-contract.js';
import { brokenEntries, memoryEntries } from './support/broken-entries.js';

const sentences = lockEntriesContract(memoryEntries()).map(({ name }) => name);
let clock = new ManualClock();
const memory = {
  create: () => ({ entries: new MemoryEntries((clock = new ManualClock())) }),
  wait: (ms: number) => clock.advance(ms),
};

describeLockEntries('a correct place of entries', memoryEntries(), { describe, test });
describeLockEntries('the memory of this process', memory, { describe, test });

describe('every case of the contract of entries', () => {
  test('has a name of its own and a broken place that it is to catch', () => {
    expect(new Set(sentences).size).toBe(sentences.length);
    expect(brokenEntries.map(({ caught }) => caught).sort()).toEqual([...sentences].sort());
  });

  test.each(brokenEntries.map((broken) => [broken.caught, broken] as const))(
    'fails on a place that is broken in this way: %s',
    async (sentence, { rules, message }) => {
      const found = lockEntriesContract(memoryEntries(rules)).find(({ name }) => name === sentence);
      const failure: unknown = await found?.run().then(
        () => 'passed',
        (error: unknown) => error,
      );
      expect(failure).toBeInstanceOf(Error);
      expect((failure as Error).message.replaceAll(/entry-[0-9a-f]{8}-/gi, '')).toBe(message);
    },
  );

  test('leaves out what a place cannot do', () => {
    expect(lockEntriesContract(memory)).toHaveLength(sentences.length - 1);
  });
});
