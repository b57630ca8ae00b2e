import { expect, test } from '@jest/globals';
import { faultSuite } from './support/suite.js';
import { onEachStore } from './support/webhooks.js';

faultSuite();

/* Queued calls whose process has died, and calls that wait for their lock all the time: none of these runs them. */

/** Looks come every 5 s, and who has died counts as there for a while, ms. */
const FOUND = 60_000;

onEachStore(({ start, keep, runs, ends }) => {
  test('what a killed process had queued is run by another one although calls wait for its lock all the time', async () => {
    const [killed, other] = [await start(), await start()];
    killed.send({ type: 'hold' });
    await killed.next('holds');
    await keep(killed, 'left');
    // They came later, and have no way to run it.
    other.send({ type: 'stand' });
    await killed.kill();
    await other.next('stood');
    await runs(other, 'left', 1, FOUND);
    await ends(other);
    // They have waited all the time, and go on.
    other.forget();
    expect(await other.next('stood')).toMatchObject({ ran: true });
    other.send({ type: 'leave' });
    await other.next('left');
  });
});
