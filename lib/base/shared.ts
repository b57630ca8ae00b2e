import { randomUUID } from 'node:crypto';

/** Copies of different versions share nothing. */
const VERSION = '0.1.0';

/** A symbol that is one and the same in every copy of this library, so that each finds what another has made. */
export const sharedSymbol = (name: string): symbol => Symbol.for(`nestjs-scheduler-lock@${VERSION}: ${name}`);

/**
 * A value that all copies of this library in a process share. One process may load both builds, one by `import` and one by
 * `require`, and a bundle may hold a third. One copy has to find and bind the methods that another one guards.
 *
 * @param make creates the value; only the first copy calls it
 */
export function shared<T extends object>(name: string, make: () => T): T {
  const holder = globalThis as unknown as Record<symbol, T | undefined>;
  return (holder[sharedSymbol(name)] ??= make());
}

/**
 * A new UUID of version 4, for some 2 µs, also in processes that were cloned from one snapshot: Node draws the numbers of 128 UUIDs at
 * once, and clones would draw the same ones next. No two tokens of leases, or versions of documents, may ever be the same.
 */
export const newId = (): string => randomUUID({ disableEntropyCache: true });
