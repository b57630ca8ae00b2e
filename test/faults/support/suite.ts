import { afterAll, afterEach, beforeAll, expect, jest } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { collectUnhandledRejections, type RejectionCollector } from '../../support/leaks.js';
import { closeApps } from './app.js';
import { closeInstances } from './instance.js';

/** Longer than any limit of the helpers, whose messages say more than Jest's. */
const TIMEOUT = 90_000;

/**
 * To be called once at the top of a file of fault tests: what a test has started is closed after it, and a promise
 * rejection that nobody handled, here or in a child process, fails the test.
 */
export function faultSuite(): void {
  jest.setTimeout(TIMEOUT);
  let rejections: RejectionCollector;
  beforeAll(() => {
    rejections = collectUnhandledRejections();
  });
  // Hooks are called in the order of their registration: closing belongs to what is watched.
  closeInstances();
  closeApps();
  afterEach(async () => {
    // Node reports a rejection one turn after it was left alone.
    await setImmediate();
    await setImmediate();
    expect(rejections.list.splice(0)).toEqual([]);
  });
  afterAll(() => rejections.stop());
}
