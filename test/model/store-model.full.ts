import { describe, expect, test } from '@jest/globals';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { brokenStores } from '../contract/support/broken-stores.js';
import { ReferenceStore } from '../contract/support/reference-store.js';
import { agreesWithModel, type StoreSubject } from './support/store-commands.js';

/**
 * What the model knows nothing of: lines, pauses, queued calls, histories, durations, names, clocks, schedules, ticks without a job, large batches, broken
 * locks, attempts in brief, and several leases of one token, which only the queued calls of a lock have.
 */
const BEYOND =
  /inspect|ttl|release with keepFor|kept for|keepFor has passed|\bname\b|any number|no leases|broken lock|clock|for how long|refused attempt|extend by a stranger|safe integer|schedule|without a job|interval .*(passed|length|ahead)|only the reason|^rule 1\d|in line|a call that waits|(newer|older) one of its token|whose token|of a live lease/;

function subject(store: ReferenceStore): StoreSubject {
  return {
    stores: [store],
    expires: 'one',
    expire: async (names) => names.forEach((name) => store.locks.delete(name)),
    // Nothing is lost and granted anew within one microsecond, which is what fencing tokens count.
    async evict(name) {
      await store.clock.advance(1);
      store.states.delete(name);
      store.forgetStarts(name);
    },
    async forgetAll() {
      await store.clock.advance(1);
      store.locks.clear();
      store.states.clear();
      store.starts.clear();
    },
  };
}

const OPTIONS = { numRuns: 2_000, maxCommands: 60, evicts: true };
/** The rarest fault shows within some 550 sequences. One that the model cannot see should not be looked for for minutes. */
const PATIENT = { ...OPTIONS, numRuns: 6_000 };

test('the model agrees with a correct store', async () => {
  await agreesWithModel(() => subject(new ReferenceStore(new ManualClock())), OPTIONS);
});

describe('the model finds out about a store that breaks', () => {
  const within = brokenStores.filter(({ caught, durable }) => durable !== true && !BEYOND.test(caught));

  test.each(within.map((broken) => [broken.caught, broken] as const))('%s', async (_, { make }) => {
    await expect(agreesWithModel(() => subject(make(new ManualClock())), PATIENT)).rejects.toThrow(
      /Property failed/,
    );
  });
});
