import { afterEach, expect, jest, test } from '@jest/globals';
import * as fc from 'fast-check';
import { brokenConnection, notConnected, silence } from '../unit/lock/scripted-store.js';
import { type Candidate, candidates, PATIENCE, PERIOD, TTL } from '../unit/lock/leader/support.js';
import { parameters } from './support/parameters.js';

const COUNT = 3;

type Step =
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'break'; readonly who: number; readonly how: number }
  | { readonly do: 'recover' | 'resign'; readonly who: number };

const who = fc.integer({ min: 0, max: COUNT - 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait'), ms: fc.integer({ min: 1, max: TTL }) }) },
  fc.record({ do: fc.constant('break'), who, how: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ do: fc.constantFrom('recover', 'resign'), who }),
);

/** Lets two of the hooks of each instance fail or last, as the numbers say. */
function misbehave({ hooks, harness }: Candidate, seed: number): void {
  const lasting = (): Promise<void> =>
    new Promise((resolve) => void harness.clock.setTimer(resolve, PATIENCE / 2));
  if (seed % 3 === 1) hooks.revoked = lasting;
  if (seed % 3 === 2) hooks.elected = lasting;
  if (seed % 5 === 4) hooks.revoked = () => Promise.reject(new Error('cannot stop'));
}

afterEach(() => {
  jest.restoreAllMocks();
});

test('whatever fails, never do two lead, hooks alternate, and one leads once all is well', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.array(fc.nat(14), { minLength: COUNT, maxLength: COUNT }),
      fc.array(fc.nat(99), { minLength: 1, maxLength: 20 }),
      async (steps, seeds, phases) => {
        let drawn = 0;
        jest.spyOn(Math, 'random').mockImplementation(() => (phases[drawn++ % phases.length] ?? 0) / 100);
        const all = candidates(COUNT);
        const [{ harness }] = all as [Candidate];
        const leaders = (): Candidate[] => all.filter(({ leads }) => leads);
        const check = (): void => expect(leaders().length).toBeLessThanOrEqual(1);
        for (const [index, candidate] of all.entries()) {
          misbehave(candidate, seeds[index] ?? 0);
          const { elected } = candidate.hooks;
          candidate.hooks.elected = (lease) => {
            check();
            return elected?.(lease);
          };
          candidate.election.start();
        }
        for (const one of steps) {
          // In small steps, so that no moment with two leaders is passed over.
          if (one.do === 'wait') {
            for (let left = one.ms; left > 0; left -= 300) {
              await harness.clock.advance(Math.min(left, 300));
              check();
            }
          } else if (one.do === 'break')
            all[one.who]?.harness.store.breakDown([notConnected, brokenConnection, silence][one.how]);
          else if (one.do === 'recover') all[one.who]?.harness.store.recover();
          else void all[one.who]?.election.resign();
          check();
        }
        for (const candidate of all) candidate.harness.store.recover();
        // A lease that nobody renews any more, a hook that lasts, and the wait of one that has resigned.
        await harness.clock.advance(2 * TTL + PATIENCE + 2 * PERIOD);
        expect(leaders()).toHaveLength(1);
        for (const { story } of all) {
          const turns = story.map((word) => word.split(' ')[0]);
          expect(turns).toEqual(turns.map((_, index) => ['elected', 'aborted', 'revoked'][index % 3]));
        }
      },
    ),
    parameters(150),
  );
});
