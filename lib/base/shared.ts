import { randomUUID } from 'node:crypto';
import v8 from 'node:v8';

const VERSION = '0.1.0';

/** A symbol that is the same in every copy of this version, so that each finds what another has made. */
export const sharedSymbol = (name: string): symbol => Symbol.for(`nestjs-scheduler-lock@${VERSION}: ${name}`);

/**
 * A value that all copies of this library in a process share: it may load both builds, and a bundle may hold a third. One copy has to find
 * and bind the methods that another one guards. Only the first copy calls `make`.
 */
export function shared<T extends object>(name: string, make: () => T): T {
  const holder = globalThis as unknown as Record<symbol, T | undefined>;
  return (holder[sharedSymbol(name)] ??= make());
}

/** Whether this process makes a startup snapshot, or was made of one. Node 20 answers 1. */
const isSnapshot = Boolean(v8.startupSnapshot?.isBuildingSnapshot());

/**
 * A new UUID of version 4. Node draws the numbers of 128 UUIDs at once, so processes of one snapshot would draw the same ones next, and
 * two instances would prove the same lease. These draw one by one; the others need not: it costs a tenth of a lease.
 */
export const newId = (): string => randomUUID({ disableEntropyCache: isSnapshot });

/** The fields that have a value: an answer, or an event, has no others. */
export const given = <T extends object>(fields: T): { readonly [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
