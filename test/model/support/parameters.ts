import { randomInt } from 'node:crypto';
import { jest } from '@jest/globals';
import { interruptAfterTimeLimit, type Parameters, type Plugin } from 'fast-check';

/** How long a test may take in a file with properties, ms: most of it is computing, and machines may be busy with other things. */
const TEST_TIMEOUT = 300_000;
jest.setTimeout(TEST_TIMEOUT);

/**
 * How often a property is tried, and from which seed. A failure prints seed and path; `SEED=<seed>` in the
 * environment runs the same cases again, `RUNS=<n>` tries more of them. It prints them also if there is no time left to look for a
 * shorter one.
 */
export function parameters<T>(numRuns: number): Parameters<T> {
  const given = process.env['SEED'];
  const seed = given ? Number(given) : randomInt(2 ** 31 - 1);
  if (!Number.isSafeInteger(seed)) throw new Error(`SEED should be a whole number, but is "${given}"`);
  const inTime = interruptAfterTimeLimit(0.8 * TEST_TIMEOUT, { failOnInterrupt: true }) as Plugin<T>;
  return { numRuns: Number(process.env['RUNS'] || numRuns), seed, plugins: [inTime] };
}
