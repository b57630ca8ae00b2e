import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sharedSymbol } from '../../../lib/base/shared.js';
import { projectRoot } from '../../support/machine.js';

test('copies of this very version have things in common, and no others', () => {
  const { name, version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as Record<
    string,
    string
  >;
  expect(sharedSymbol('store')).toBe(Symbol.for(`${name}@${version}: store`));
});
