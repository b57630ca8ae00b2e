import { expect, test } from '@jest/globals';
import { faultSuite } from './support/suite.js';
import { onEachStore } from './support/webhooks.js';

faultSuite();

/* Processes that die while they work off queued calls. */

onEachStore(({ start, keep, runs, ends }) => {
  test('what a dead process was working off runs again elsewhere, then what came after it, in order', async () => {
    const [first, second] = [await start(), await start()];
    first.send({ type: 'hold' });
    await first.next('holds');
    await keep(first, '1', '2', '3');
    await keep(second, '4');
    first.send({ type: 'letGo' });
    const token = await runs(first, '1', 1);
    await first.kill();
    const tokens = [token, await runs(second, '1', 2)];
    await ends(second);
    for (const id of ['2', '3', '4']) {
      tokens.push(await runs(second, id, 1));
      await ends(second);
    }
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });
});
