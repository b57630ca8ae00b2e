import { describe, expect, jest, test } from '@jest/globals';
import { STORE_SABOTAGES } from '../chaos/sabotage.js';
import { CORE_SABOTAGES } from '../chaos/sabotages/core.js';
import { REDIS_SABOTAGES } from '../chaos/sabotages/redis.js';
import { builtScript } from '../support/machine.js';
import { chaos, node } from './support/chaos.js';

/*
 * The chaos run has to notice what it is there for: each of these runs a library with one thing taken away, and ends
 * as soon as that is seen. They take minutes, so they are a step of .ci/run, and not of `npm test`.
 */

/** Longer than the longest run below, on a busy machine. */
jest.setTimeout(700_000);

const BROKEN = Object.entries({
  ...STORE_SABOTAGES,
  redis: { ...REDIS_SABOTAGES, ...CORE_SABOTAGES },
}).flatMap(([store, sabotages]) =>
  Object.entries(sabotages).map(([name, how]) => [name, store, how] as const),
);

describe('a chaos run catches a library', () => {
  test.concurrent.each(BROKEN)('with %s on %s', async (name, store, { caughtBy, seed }) => {
    const args = ['--instances', '5', '--seconds', '480', '--seed', String(seed), '--store', store];
    await chaos([...args, '--sabotage', name], async (code, output, folder) => {
      expect(output).toMatch(new RegExp(`^FAILED: .*\\b${caughtBy}\\b`, 'm'));
      expect(code).toBe(1);
      // The history tells it to whoever asks again.
      const again = await node([builtScript('test/chaos/check.js'), folder]);
      expect(again.code).toBe(1);
    });
  });
});
