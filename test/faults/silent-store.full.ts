import { expect, test } from '@jest/globals';
import { spawnChild } from '../support/child.js';
import { builtScript } from '../support/machine.js';
import { faultSuite } from './support/suite.js';

faultSuite();

test('a shutdown with a store that answers nothing and keeps nothing alive goes on to its end, also for the others', async () => {
  const child = await spawnChild(builtScript('test/faults/children/silent-store.js'));
  await child.next('ready');
  child.send({ type: 'close' });
  const { code } = await child.exited;
  expect(child.stderr).toBe('');
  expect(child.stdout.split('\n').filter(Boolean).sort()).toEqual([
    'closed',
    'the neighbour is destroyed',
    'the neighbour is shut down',
  ]);
  expect(code).toBe(0);
});
