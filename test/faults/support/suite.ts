import { afterEach, jest } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { closeApps } from './app.js';
import { closeInstances } from './instance.js';

/** Longer than any limit of the helpers, whose messages say more than Jest's. */
const TIMEOUT = 90_000;

/**
 * To be called once at the top of a file of fault tests. What a test has started is closed after it, and a promise
 * rejection or an exception that nobody handles fails it: in this process by Jest itself, in a child process by its
 * exit code and what it wrote, which `closeInstances` looks at.
 */
export function faultSuite(): void {
  jest.setTimeout(TIMEOUT);
  // Hooks are called in the order of their registration.
  closeInstances();
  closeApps();
  afterEach(async () => {
    // Node reports a rejection one turn after it was left alone: still in time for the test that left it.
    await setImmediate();
    await setImmediate();
  });
}
