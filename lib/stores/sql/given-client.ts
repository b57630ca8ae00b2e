import { SchedulerLockConfigError } from '../../base/errors.js';
import { foreignClient, kindOfValue, type StoreKind } from '../shared/foreign-clients.js';

/**
 * @param wanted the class of the store, the pool that it takes, as foreign-clients.ts calls it, and how to make one of a URL
 * @throws SchedulerLockConfigError unless a store can use this client. The message says what was given, and what to give
 */
export function checkClient(
  given: unknown,
  kind: StoreKind,
  [store, pool, ofUrl]: readonly [store: string, pool: string, ofUrl: string],
): void {
  const foreign = foreignClient(given, kind, [pool]);
  if (foreign === undefined && typeof (given as { query?: unknown } | undefined)?.query === 'function')
    return;
  const advice = typeof given === 'string' ? ` Make a pool of the URL: ${ofUrl}.` : '';
  throw new SchedulerLockConfigError([
    `store: ${store} needs a pool: ${pool}, or an object with query(text, values). It got ${foreign ?? `${kindOfValue(given)}.${advice}`}`,
  ]);
}
