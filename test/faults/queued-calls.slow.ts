import { jest, test, expect } from '@jest/globals';
import { faultSuite } from './support/suite.js';
import { onEachStore } from './support/webhooks.js';

faultSuite();
jest.setTimeout(200_000);

/* Queued calls that somebody finds by a look, which comes every 30 s. */

/** Longer than that, ms. */
const SWEPT = 60_000;

onEachStore(({ start, keep, runs, ends }) => {
  test('a call that kills whoever runs it becomes a dead letter, and the next one runs', async () => {
    const first = await start();
    first.send({ type: 'hold' });
    await first.next('holds');
    await keep(first, 'poison', 'next');
    first.send({ type: 'letGo' });
    await runs(first, 'poison', 1);
    const second = await start();
    await first.kill();
    await runs(second, 'poison', 2, SWEPT);
    const third = await start();
    await second.kill();
    await runs(third, 'next', 1, SWEPT);
    expect(await third.next('event:dead-lettered')).toMatchObject({ reason: 'interrupted' });
    await ends(third);
  });

  test('what nobody is left to run is run by the next instance that starts', async () => {
    const first = await start();
    first.send({ type: 'hold' });
    await first.next('holds');
    await keep(first, 'left');
    await first.kill();
    const second = await start();
    await runs(second, 'left', 1, SWEPT);
    await ends(second);
  });
});
