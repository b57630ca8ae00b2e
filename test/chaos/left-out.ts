import { type ServerClock, serverClock } from './server-clock.js';

/**
 * The faults that are impossible with a store, or on this machine, and why. A plan leaves them out, and says
 * so.
 */
export interface Possible {
  readonly leftOut: ReadonlyMap<string, string>;
  /** The clock of the store, if it can be set. */
  readonly clock: ServerClock | undefined;
}

/**
 * Restored from a backup, these stores have forgotten confirmed writes: the library gives no guarantee for
 * that.
 */
const BACKUPS: readonly string[] = ['postgres', 'mysql'];

export async function whatIsPossible(store: string): Promise<Possible> {
  const leftOut = new Map<string, string>();
  if (BACKUPS.includes(store))
    leftOut.set(
      'store-old-snapshot',
      `of a database it would be a restore from a backup, of which nothing is promised`,
    );
  const clock = await serverClock().catch((error: unknown) => {
    leftOut.set('store-clock', error instanceof Error ? error.message : String(error));
    return undefined;
  });
  return { leftOut, clock };
}
