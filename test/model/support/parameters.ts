import { randomInt } from 'node:crypto';
import type { Parameters } from 'fast-check';

/**
 * How often a property is tried, and from which seed. A failure prints seed and path; `SEED=<seed>` in the
 * environment runs the same cases again, `RUNS=<n>` tries more of them.
 */
export function parameters<T>(numRuns: number): Parameters<T> {
  const given = process.env['SEED'];
  const seed = given ? Number(given) : randomInt(2 ** 31 - 1);
  if (!Number.isSafeInteger(seed)) throw new Error(`SEED should be a whole number, but is "${given}"`);
  return { numRuns: Number(process.env['RUNS'] || numRuns), seed };
}
