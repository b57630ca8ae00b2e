import { SchedulerLockConfigError } from '../../base/errors.js';
import { foreignClient, kindOfValue, type StoreKind } from '../shared/foreign-clients.js';

/** What a store of a database takes. */
interface Wanted {
  /** The class of the store. */
  readonly store: string;
  readonly kind: StoreKind;
  /** The pool that it takes, as foreign-clients.ts calls it. */
  readonly pool: string;
  /** Other clients whose `query()` the store can use. */
  readonly also?: string;
  /** How to make the pool of a URL, and of options. */
  readonly ofUrl: string;
  readonly ofOptions: string;
}

/** @throws SchedulerLockConfigError unless a store can use this client. The message says what was given, and what to give */
export function checkClient(given: unknown, wanted: Wanted): void {
  const { store, kind, pool, also = '' } = wanted;
  const foreign = foreignClient(given, kind, [pool, also]);
  if (foreign === undefined && typeof (given as { query?: unknown } | undefined)?.query === 'function')
    return;
  const got = foreign ?? `${kindOfValue(given)}. ${adviceFor(given, wanted)}`;
  throw new SchedulerLockConfigError([
    `store: ${store} needs a pool: ${pool}, or an object with query(text, values). It got ${got.trim()}`,
  ]);
}

function adviceFor(given: unknown, { ofUrl, ofOptions }: Wanted): string {
  if (given === undefined || given === null)
    return 'Perhaps the pool is made later, or the module that provides it does not export it.';
  if (typeof given === 'string') return `Make a pool of the URL: ${ofUrl}.`;
  return Object.getPrototypeOf(given) === Object.prototype ? `Make a pool of options: ${ofOptions}.` : '';
}
