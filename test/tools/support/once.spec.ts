import { expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { madeOnce } from '../../support/once.js';

test('what several ask for at the same time is made once, and all are given the same folder', async () => {
  const name = randomUUID();
  let made = 0;
  const make = async (folder: string): Promise<void> => {
    await writeFile(join(folder, 'made'), String(++made));
  };
  const [folder = '', ...others] = await Promise.all([1, 2, 3].map(() => madeOnce(name, make)));
  expect(others).toEqual([folder, folder]);
  expect(await readFile(join(folder, 'made'), 'utf8')).toBe('1');
  expect(await madeOnce(randomUUID(), make)).not.toBe(folder);
});

test('a failure is told to all who ask, with its name', async () => {
  const name = randomUUID();
  const ask = () => madeOnce(name, () => Promise.reject(new Error('no disk')));
  const told = new Error(`${name} could not be made: Error: no disk`);
  await Promise.all([1, 2].map(() => expect(ask()).rejects.toEqual(told)));
});
