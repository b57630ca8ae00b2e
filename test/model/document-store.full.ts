import { describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../../lib/base/clock.js';
import { DocumentLockStore } from '../../lib/rules/documents/document-lock-store.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { FarDocuments } from '../contract/support/document-subject.js';
import './support/parameters.js';
import { agreesWithModel, type StoreSubject } from './support/store-commands.js';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const INSTANCES = 16;

function instances(
  count: number,
  turns: () => number,
): { clock: ManualClock; documents: FarDocuments } & {
  stores: DocumentLockStore[];
} {
  const clock = new ManualClock();
  const documents = new FarDocuments(clock, turns);
  // Pauses pass by themselves.
  const own: Clock = { ...systemClock, monotonic: () => clock.monotonic() };
  return {
    clock,
    documents,
    stores: Array.from({ length: count }, () => new DocumentLockStore(documents, { clock: own })),
  };
}

function subject(): StoreSubject {
  const { clock, documents, stores } = instances(3, () => 1);
  const [store, ...others] = stores;
  if (store === undefined) throw new Error('No store was made');
  return {
    stores: [store, ...others],
    expires: 'all',
    expire: () => clock.advance(DAY),
    forgetAll: async () => {
      await clock.advance(1);
      documents.forgetAll();
    },
  };
}

test('instances with one place of documents answer as the model, whatever is called in whatever order', async () => {
  await agreesWithModel(subject, { numRuns: 500, maxCommands: 60, evicts: false });
});

describe('sixteen instances at one lock', () => {
  const turns = (): number => Math.floor(Math.random() * 4);

  test('have one winner each time, whose fencing token is greater than the last', async () => {
    const { documents, stores } = instances(INSTANCES, turns);
    let last = 0;
    let most = 0;
    for (let round = 0; round < 200; round++) {
      documents.calls = 0;
      const requests = stores.map((_, i) => ({
        name: 'refresh',
        token: randomUUID(),
        ttl: HOUR,
        holder: `host:${i}`,
      }));
      const results = await Promise.all(stores.map((store, i) => store.acquire(requests[i] ?? raise())));
      const winners = results.flatMap((result, i) => (result.acquired ? [{ i, ...result }] : []));
      expect(winners).toHaveLength(1);
      const [{ i, fencingToken } = raise()] = winners;
      expect(fencingToken).toBeGreaterThan(last);
      last = fencingToken;
      expect(await stores[i]?.release({ ...(requests[i] ?? raise()), fencingToken })).toEqual({
        released: true,
      });
      most = Math.max(most, documents.calls);
    }
    expect(most).toBeLessThanOrEqual(50);
  });

  test('start each tick once, whatever they do at the same time', async () => {
    const { stores } = instances(INSTANCES, turns);
    for (let tick = 1; tick <= 200; tick++) {
      const runs = await Promise.all(
        stores.map(async (store, i) => {
          const request = { name: 'refresh', token: randomUUID(), ttl: HOUR, holder: `host:${i}` };
          const result = await store.acquire({ ...request, job: 'job', tick });
          if (!result.acquired) return 0;
          const lease = { ...request, job: 'job', tick, fencingToken: result.fencingToken };
          expect(await store.extend([lease])).toEqual([{ held: true }]);
          // Every third one of them is given back as if nothing had run.
          const outcome = tick % 3 === 0 && i % 3 === 0 ? 'abandoned' : 'completed';
          expect(await store.release(lease, { outcome })).toEqual({ released: true });
          return outcome === 'completed' ? 1 : 0;
        }),
      );
      expect(runs.reduce<number>((sum, run) => sum + run, 0)).toBeLessThanOrEqual(1);
    }
  });
});

function raise(): never {
  throw new Error('There should be one');
}
