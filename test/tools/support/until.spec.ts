import { expect, test } from '@jest/globals';
import { until } from '../../support/until.js';

test('answers with the first truthy value', async () => {
  let looks = 0;
  await expect(until(() => (++looks === 3 ? 'found' : undefined))).resolves.toBe('found');
  expect(looks).toBe(3);
});

test('a condition that throws is not met yet', async () => {
  let looks = 0;
  const condition = async (): Promise<boolean> => {
    if (++looks < 3) throw new Error('not there');
    return true;
  };
  await expect(until(condition)).resolves.toBe(true);
});

test('says what it waited for, and the last error', async () => {
  const cause = new Error('connection refused');
  const wait = until(() => Promise.reject(cause), { timeout: 20, message: () => 'the server' });
  await expect(wait).rejects.toThrow('Waited 20 ms in vain for the server: connection refused');
  await expect(wait).rejects.toMatchObject({ cause });
});
