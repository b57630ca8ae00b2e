import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { broken, STORE_SABOTAGES } from '../../chaos/sabotage.js';
import { CORE_SABOTAGES } from '../../chaos/sabotages/core.js';
import { projectRoot } from '../../support/machine.js';

// Each of them takes half a minute to be caught: here it is known at once if the library has changed beneath one.
const ALL = Object.entries({ ...STORE_SABOTAGES, core: CORE_SABOTAGES }).flatMap(([store, sabotages]) =>
  Object.entries(sabotages).map(([name, how]) => [name, store, how] as const),
);

test.each(ALL)('the sabotage %s, on %s, finds its place in the built library', (name, _, how) => {
  const text = readFileSync(join(projectRoot, 'dist', how.file), 'utf8');
  expect(broken(name, how, text)).not.toBe(text);
});
