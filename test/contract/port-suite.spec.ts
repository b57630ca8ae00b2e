import { describe, expect, test } from '@jest/globals';
import { MemoryDocuments } from '../../lib/stores/memory/memory-documents.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { describeLockDocuments, lockDocumentsContract } from '../../lib/testing/port/port-contract.js';
import { brokenDocuments, memoryDocuments } from './support/broken-documents.js';

const sentences = lockDocumentsContract(memoryDocuments()).map(({ name }) => name);
let clock = new ManualClock();

describeLockDocuments('a correct place', memoryDocuments(), { describe, test });
describeLockDocuments(
  'the memory of this process',
  {
    create: () => ({ documents: new MemoryDocuments((clock = new ManualClock())) }),
    wait: (ms) => clock.advance(ms),
  },
  { describe, test },
);

describe('every case of the contract of a place', () => {
  test('has a name of its own and a broken place that it is to catch', () => {
    expect(new Set(sentences).size).toBe(sentences.length);
    expect(brokenDocuments.map(({ caught }) => caught).sort()).toEqual([...sentences].sort());
  });

  test.each(brokenDocuments.map((broken) => [broken.caught, broken] as const))(
    'fails on a place that is broken in this way: %s',
    async (sentence, { rules, message }) => {
      const found = lockDocumentsContract(memoryDocuments(rules)).find(({ name }) => name === sentence);
      const failure: unknown = await found?.run().then(
        () => 'passed',
        (error: unknown) => error,
      );
      expect(failure).toBeInstanceOf(Error);
      const readable = (failure as Error).message
        .replaceAll(/port-[0-9a-f]{8}-/gi, '')
        .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>');
      expect(readable).toBe(message);
    },
  );

  test('leaves out what a place cannot do', () => {
    const names = lockDocumentsContract({
      create: () => ({ documents: new MemoryDocuments(clock) }),
      wait: (ms) => clock.advance(ms),
    }).map(({ name }) => name);
    expect(names).toHaveLength(sentences.length - 3);
  });
});
